// TurboHash: creation, opening, closing. Recovery reads the directory alone (paper §3.7): a crash
// leaves no bucket half changed, and what it leaves in arrays and records that nothing refers to is
// free space.
//
// u64 tables   every array is named by the directory: allocation state is whole after reading it.
// byte tables  records are found in the slots: after a crash (not after a clean close) they are
//              collected in the background. Reads and writes go on; until it is done, new records
//              take only space that is new.
#pragma once

#include "engine/settings.hpp"
#include "engine/turbo/table.hpp"

namespace durahash::turbo {

namespace detail {

inline constexpr setting_rule rules[] = {
    {"shards", 2, 1u << 20},  // rounded up to a power of two
    {"scope", 1, 256},        // buckets
    // an insert that walks this far has deleted slots surveyed; 0: never
    {"collect_distance", 0, 255},
    {"in_place", 0, 1},  // 0: u64 values are updated near-place, as in the paper
    // rounded up to a power of two; a full shard that has so many is split
    {"shard_buckets", 1, 1u << max_log2_buckets},
};

}  // namespace detail

template <medium M, class Kind>
result<engine_plan> table<M, Kind>::plan(const options& how) {
  std::uint64_t values[] = {4096, 16, 4, 1, 4096};  // scope and size of a shard are the paper's
  if (how.capacity != 0) {
    // a resize of such a shard takes well under a millisecond
    constexpr std::uint64_t records_per_shard = 4096;
    values[0] =
        std::clamp<std::uint64_t>(how.capacity / records_per_shard, 64, detail::rules[0].most);
  }
  if (error e = resolve_settings(engine_kind::turbo, detail::rules, how.settings, values);
      e.code != status::ok)
    return e;
  engine_plan made;
  unsigned bits = log2_ceiling(values[0]);
  made.settings[shard_bits] = bits;
  made.settings[scope] = values[1];
  made.settings[collect_distance] = values[2];
  made.settings[setting::in_place] = values[3];
  made.settings[split_log2] = log2_ceiling(values[4]) + 1;
  made.incompat = has_split_shards;
  constexpr std::uint64_t tenths = 7;  // of the slots filled when the expected records are in
  made.settings[first_log2] = std::min<std::uint64_t>(
      max_log2_buckets, log2_ceiling((how.capacity >> bits) * 10 / (slots_per_bucket * tenths) +
                                     ((how.capacity >> bits) != 0)));
  made.engine_bytes = std::uint64_t{8} << bits;
  return made;
}

template <medium M, class Kind>
table<M, Kind>::table(pool<M>& p)
    : frame(p),
      base_(reinterpret_cast<char*>(p.at(std::uint64_t{0}))),
      level_nodes_(std::uint64_t{1} << (p.block().settings[setting::shard_bits] & 31)),
      first_node_(static_cast<shard_index>(level_nodes_.load())),
      scope_(static_cast<unsigned>(p.block().settings[setting::scope])),
      first_log2_(static_cast<unsigned>(p.block().settings[setting::first_log2])),
      collect_distance_(static_cast<unsigned>(p.block().settings[setting::collect_distance])),
      most_log2_(static_cast<unsigned>(p.block().settings[setting::split_log2]) - 1),
      max_level_(std::max(level_of(first_node_),
                          most_log2_ <= max_log2_buckets ? unit_bits<M>(max_shard_bits) : 0)),
      in_place_(p.block().settings[setting::in_place] != 0),
      end_of_nodes_(2 * first_node_) {
  if (collect_distance_ == 0) collect_distance_ = ~0u;
}

template <medium M, class Kind>
table<M, Kind>::~table() {
  background_.stop();
}

// ----------------------------------------------------------------------------------------- opening

template <medium M, class Kind>
error table<M, Kind>::open(const std::string& path, std::vector<std::string>* dropped) {
  const setting_words& settings = p_.block().settings;
  auto within = [&](std::size_t index, std::uint64_t least, std::uint64_t most) {
    return settings[index] >= least && settings[index] <= most;
  };
  if (!within(setting::shard_bits, 1, max_shard_bits) || !within(setting::scope, 1, 256) ||
      !within(setting::first_log2, 0, max_log2_buckets) ||
      !within(setting::collect_distance, 0, 255) ||
      !within(setting::split_log2, 0, max_log2_buckets + 1) ||
      p_.block().engine_bytes != std::uint64_t{8} * first_node_)
    return {status::unusable,
            "cannot use " + path +
                " as a pool: its superblock holds settings that the engine turbo does not allow"};

  bool clean = p_.root().state == pool_state::clean;
  shards_ = zeroed_array<shard_state>(max_nodes());
  pairs_ = zeroed_array<std::uint64_t>(max_nodes());
  each_node([&](shard_index s) { shards_[s].mirror.adopt(directory_entry{}, false); });
  bool restored = frame::begin_open(dropped);
  if (error e = read_directory(path, restored, dropped); e.code != status::ok) return e;
  // The mirrors are read from here on: 1,000 small pools need not keep 8 pages each.
  p_.memory().let_pages_go(p_.block().engine_offset, p_.block().engine_bytes);
  if (dropped != nullptr) {
    status salvaged = status::ok;
    each_node([&](shard_index s) {
      if (salvaged == status::ok) salvaged = salvage_shard(s, *dropped);
    });
    if (salvaged != status::ok)
      return {salvaged, "cannot salvage " + path + ": " + std::string(message(salvaged))};
    frame::finish_salvage(*dropped, size());
    return {status::ok, {}};
  }
  if (clean) records_at_open_ = p_.root().records;
  std::uint64_t array_bytes = 0;
  each_node([&](shard_index s) { array_bytes += view(s).bytes(); });
  frame::finish_open(Kind::in_slot || restored, max_nodes(), array_bytes);
  return {status::ok, {}};
}

/// Why this cannot be the entry of a shard; or nothing, and the heap knows of what it names.
template <medium M, class Kind>
const char* table<M, Kind>::fault_of_entry(shard_index s, directory_entry e, bool restored) {
  if (!e.sound()) return "is damaged (check bits)";
  if (e.is_pair() && level_of(s) >= max_level_) return "names halves, and cannot have any";
  if (e.offset() < p_.block().heap_offset || e.bytes() > p_.end() ||
      e.offset() > p_.end() - e.bytes())
    return "points outside the pool";
  const bool known =
      restored ? heap_.holds(e.offset(), e.bytes()) : heap_.adopt(e.offset(), e.bytes());
  return known ? nullptr : "overlaps another extent";
}

/// Mirrors every entry, those of halves after their whole's. Tells the heap of every array, unless
/// its state was restored: then it knows them.
template <medium M, class Kind>
error table<M, Kind>::read_directory(const std::string& path, bool restored,
                                     std::vector<std::string>* dropped) {
  error e{status::ok, {}};
  shard_index found = 0;
  // a process that died may have left words of the directory and of pairs in the caches
  flushed started;
  if (!p_.read_only()) started = p_.flush_header();
  each_node([&](shard_index s) {
    if (e.code != status::ok || view(s).is_part()) return;
    const directory_entry entry{{load(m_, entry_of(s))}};
    if (entry.none()) return;
    if (const char* wrong = fault_of_entry(s, entry, restored); wrong != nullptr) {
      std::string what = "cannot use " + path + " as a pool: the directory entry of " + name_of(s) +
                         " at offset " + std::to_string(p_.offset_of(&entry_of(s))) + " " + wrong;
      if (dropped == nullptr) return void(e = {status::unusable, std::move(what)});
      dropped->push_back(what + "; the shard's records are lost");
      if (!p_.may_change())
        return void(e = {status::io_error,
                         "cannot salvage " + path + ": " + std::string(message(status::io_error))});
      return drop_array(s);
    }
    ++found;
    if (!entry.is_pair())
      return shards_[s].mirror.adopt(entry,
                                     p_.root().state != pool_state::clean && !opens_durable(m_));
    make_level(level_of(s) + 1);
    pairs_[s] = entry.offset();
    if (!p_.read_only())
      started +=
          flush(m_, extent_of(p_.at(poff<shard_pair>{pairs_[s]})->entries), "turbo.open.pair");
    for (shard_index half : {2 * s, 2 * s + 1})
      shards_[half].mirror.adopt(directory_entry{}, false);
    shards_[s].mirror.become_split();
    count_split(s);
  });
  [[maybe_unused]] durable as_it_is = fence(m_, std::move(started), "turbo.open.header");
  if (e.code != status::ok) return e;
  if (std::string gone = frame::lost_root(); found == 0 && !gone.empty() && dropped == nullptr)
    return {status::unusable, "cannot use " + path + " as a pool: " + gone};
  return {status::ok, {}};
}

/// Counts the records and, in byte tables, tells the heap of each. Writers wait shard by shard.
template <medium M, class Kind>
bool table<M, Kind>::count_units(const background* asking) {
  bool stopped = false;
  each_node([&](shard_index s) {
    stopped = stopped || (asking != nullptr && asking->stopping());
    // who gives it its first array counts from none on; most shards of a small table have none.
    // Who splits it has counted it
    if (stopped || view(s).none()) return;
    std::scoped_lock lock(shards_[s].lock);
    count_once(s, [&] { count_shard(s); });
  });
  if (!stopped) records_at_open_ = 0;
  return !stopped;
}

/// What a slot no longer names is free only if no crash can bring the slot's old word back: the
/// shard is made durable first.
template <medium M, class Kind>
void table<M, Kind>::count_shard(shard_index s) {
  if (!M::planted("a-cell-freed-by-a-word-that-may-go")) settle(s);
  std::int32_t count = 0;
  for_each_resident(view(s), [&](const resident& r) {
    ++count;
    frame::adopt_record(r.value_word);
  });
  shards_[s].records.store(count, std::memory_order_relaxed);
}

// ------------------------------------------------------------------------------------------- sizes

template <medium M, class Kind>
std::uint64_t table<M, Kind>::size() {
  await_count();
  std::int64_t sum = static_cast<std::int64_t>(records_at_open_);
  // what was counted of a shard before it was split stays with it
  each_node([&](shard_index s) { sum += shards_[s].records.load(std::memory_order_relaxed); });
  return static_cast<std::uint64_t>(std::max<std::int64_t>(sum, 0));
}

template <medium M, class Kind>
std::uint64_t table<M, Kind>::slots() {
  std::uint64_t sum = 0;
  each_node([&](shard_index s) { sum += view(s).buckets() * slots_per_bucket; });
  return sum;
}

// ------------------------------------------------------------------------------------- clean close

template <medium M, class Kind>
void table<M, Kind>::lock_all() {
  levels_lock_.lock();  // no more come
  // in order; groups never wait while they hold one
  each_node([&](shard_index s) { shards_[s].lock.lock(); });
}

template <medium M, class Kind>
void table<M, Kind>::unlock_all() {
  each_node([&](shard_index s) { shards_[s].lock.unlock(); });
  levels_lock_.unlock();
}

// ----------------------------------------------------------------------------------------- salvage

/// Rebuilds the shard from the records that verify, if there is one that does not.
template <medium M, class Kind>
status table<M, Kind>::salvage_shard(shard_index s, std::vector<std::string>& dropped) {
  shard_view v = view(s);
  std::vector<live_record> kept;
  std::size_t lost = 0;
  for (std::uint64_t index = 0; index < v.buckets(); ++index) {
    bucket& b = buckets_of(v)[index];
    meta_word meta = load(m_, b.meta);
    lost += !meta.well_formed();
    for (std::uint32_t live = meta.live(); live != 0;) {
      int i = take_lowest(live);
      std::string why;
      std::uint64_t key_word = load(m_, b.slots[i].key);
      live_record r{hash_of_slot(key_word), key_word, load(m_, b.slots[i].value)};
      if (verifies(s, b, i, why) && !on_path(s, r.hash, index)) why = "it is out of place";
      if (why.empty() && std::any_of(kept.begin(), kept.end(), [&](const live_record& k) {
            return k.hash == r.hash && same_key<Kind>(m_, p_, k, r);
          }))
        why = "its key is there twice";
      if constexpr (!Kind::in_slot)
        if (why.empty() && !heap_.adopt(r.value_word, record_at(m_, p_, r.value_word)->bytes()))
          why = "its bytes are another's";
      if (why.empty()) {
        kept.push_back(r);
      } else {
        ++lost;
        dropped.push_back(name_of(s) + ", bucket " + std::to_string(index) + ", slot " +
                          std::to_string(i) + ": dropped a record, " + why);
      }
    }
  }
  shards_[s].records.store(static_cast<std::int32_t>(kept.size()), std::memory_order_relaxed);
  if (lost == 0) return status::ok;
  if (!p_.may_change()) return status::io_error;
  return rebuild_from(s, v.log2_buckets(),
                      [&](auto&& visit) { return std::all_of(kept.begin(), kept.end(), visit); });
}

template <medium M, class Kind>
bool table<M, Kind>::verifies(shard_index s, const bucket& b, int i, std::string& why) const {
  std::uint64_t key_word = load(m_, b.slots[i].key), hash = hash_of_slot(key_word);
  if (tag_at(b, i) != tag_of(hash) || !belongs(s, hash))
    return why = "its key does not belong there", false;
  why = fault_of<Kind>(m_, p_, seeds_, {hash, key_word, load(m_, b.slots[i].value)},
                       byte_records::hash);
  return why.empty();
}

}  // namespace durahash::turbo
