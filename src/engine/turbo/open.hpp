// TurboHash: creation, opening, closing. Recovery reads the directory alone (paper §3.7): a crash
// leaves no bucket half changed, and what it leaves in arrays and records that nothing refers to is
// free space.
//
// u64 tables   every array is named by the directory: allocation state is whole after reading it.
// byte tables  records are found in the slots: after a crash (not after a clean close) they are
//              collected in the background. Reads and writes go on; until it is done, new records
//              take only space that is new.
#pragma once

#include "engine/frame/stripes.hpp"
#include "engine/settings.hpp"
#include "engine/turbo/recover.hpp"
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
      shards_(p, std::uint64_t{1} << (p.block().settings[setting::shard_bits] & 31),
              p.block().settings[setting::split_log2] == 0 ? 0 : unit_bits<M>(max_shard_bits)),
      scope_(static_cast<unsigned>(p.block().settings[setting::scope])),
      first_log2_(static_cast<unsigned>(p.block().settings[setting::first_log2])),
      collect_distance_(static_cast<unsigned>(p.block().settings[setting::collect_distance])),
      most_log2_(static_cast<unsigned>(p.block().settings[setting::split_log2]) - 1),
      in_place_(p.block().settings[setting::in_place] != 0) {
  if (collect_distance_ == 0) collect_distance_ = ~0u;
}

// ----------------------------------------------------------------------------------------- opening

template <medium M, class Kind>
error table<M, Kind>::open(const std::string& path, std::vector<std::string>* dropped) {
  if (!settings_are_within(p_.block(), {{setting::shard_bits, 1, max_shard_bits},
                                        {setting::scope, 1, 256},
                                        {setting::first_log2, 0, max_log2_buckets},
                                        {setting::collect_distance, 0, 255},
                                        {setting::split_log2, 0, max_log2_buckets + 1}}) ||
      p_.block().engine_bytes != std::uint64_t{8} * shards_.first_node())
    return refuse_settings(engine_kind::turbo, path);

  bool clean = p_.root().state == pool_state::clean;
  shards_.begin();
  bool restored = frame::begin_open(dropped);
  recovery from(*this, path, dropped);
  if (error e = from.read_directory(restored); e.code != status::ok) return e;
  // The mirrors are read from here on: 1,000 small pools need not keep 8 pages each.
  p_.memory().let_pages_go(p_.block().engine_offset, p_.block().engine_bytes);
  if (dropped != nullptr) {
    const status salvaged =
        shards_.each_while_ok([&](shard_index s) { return from.salvage_shard(s); });
    if (salvaged != status::ok) return cannot_salvage(path, salvaged);
    frame::finish_salvage(*dropped, size());
    return {status::ok, {}};
  }
  if (clean) records_at_open_ = p_.root().records;
  frame::finish_open(Kind::in_slot || restored, shards_.max_nodes(),
                     shards_.sum_of([&](shard_index s) { return view(s).bytes(); }));
  return {status::ok, {}};
}

// -------------------------------------------------------------------------------------- counting

/// Counts the records and, in byte tables, tells the heap of each. Writers wait shard by shard.
template <medium M, class Kind>
bool table<M, Kind>::count_units(const background* asking) {
  bool stopped = false;
  shards_.each([&](shard_index s) {
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
  std::uint64_t sum = records_at_open_;
  // what was counted of a shard before it was split stays with it
  shards_.each([&](shard_index s) {
    sum += static_cast<std::uint64_t>(shards_[s].records.load(std::memory_order_relaxed));
  });
  return none_if_negative(sum);
}

}  // namespace durahash::turbo
