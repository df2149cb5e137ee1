// TurboHash: shard resizing (paper §3.5, §4.7), garbage collection of deleted slots (§4.6),
// compaction.
//
// One rebuild of a shard, under its lock, readers going on in the old array:
//   1  a new array allocated; live records stored there, in the order of the old array, each with
//      its bucket's commit word; flushed in the order of addresses, fenced
//      no space, or a record finds its scope full: the array goes back, nothing has changed
//      crash: unreachable, hence free
//   2  COMMIT: the directory entry published
//      crash before: old array; after: new array, same records
//   3  the mirror switched, the old array retired
//      crash: the old array is unreachable, hence free
#pragma once

#include "engine/turbo/table.hpp"

namespace durahash::turbo {

/// The scope of some key in this shard was full. At first deleted slots may be to blame: a shard
/// that is less than half alive is rebuilt at its size.
template <medium M, class Kind>
status table<M, Kind>::make_room(const unit_type& full, const target_type&, int round) {
  if (full.view.elsewhere()) return status::ok;
  const shard_index s = index_of(full.state);
  const bool splits = is_to_split(s, full.view);
  if (splits) make_level(level_of(s) + 1);
  std::scoped_lock lock(shards_[s].lock);
  shard_view v = view(s);
  if (!v.same_array(full.view)) return status::ok;  // others were faster
  if (!p_.may_change()) return status::io_error;
  if (v.none()) return rebuild(s, first_log2_);
  const bool sparse = round == 0 && live_in(v) * 2 < v.buckets() * slots_per_bucket;
  ++(sparse ? collections_ : resizes_);
  if (splits && !sparse) return split_shard(s, v.log2_buckets());
  if (v.log2_buckets() >= max_log2_buckets) return status::no_space;
  return rebuild(s, v.log2_buckets() + (sparse ? 0 : 1));
}

template <medium M, class Kind>
status table<M, Kind>::rebuild(shard_index s, unsigned log2_buckets) {
  const shard_view old = view(s);
  return rebuild_from(
      s, log2_buckets, [ this, old ](auto&& visit) __attribute__((always_inline)) {
        return this->each_slot_of(old, visit);
      });
}

/// Calls visit(record) for each, until it answers false; then it does so, too.
template <medium M, class Kind>
template <class Visit>
[[gnu::always_inline]] inline bool table<M, Kind>::each_slot_of(shard_view v, Visit&& visit) const {
  const bucket* const first = buckets_of(v);
  for (std::uint64_t index = 0, end = v.buckets(); index < end; ++index) {
    const bucket& b = first[index];
    for (std::uint32_t live = load(m_, b.meta).live(); live != 0; live &= live - 1) {
      const slot& at = slot_in(b, first_of(live));
      const std::uint64_t key_word = load(m_, at.key);
      if (M::planted("a-key-that-means-empty") && key_word == 0) continue;
      if (!visit(live_record{hash_of_slot(key_word), key_word, load(m_, at.value)})) return false;
    }
  }
  return true;
}

/// each_record(visit) is as each_slot_of.
template <medium M, class Kind>
template <class EachRecord>
status table<M, Kind>::rebuild_from(shard_index s, unsigned log2_buckets,
                                    EachRecord&& each_record) {
  flushed started;
  auto made = lay_out(s, log2_buckets, started, each_record);
  if (!made) return status::no_space;
  durable written = fence(m_, std::move(started), "turbo.array.words");
  publish_array(s, made->keep(), std::move(written));
  return status::ok;
}

/// In so many buckets, or in more where some record finds its scope full.
template <medium M, class Kind>
template <class EachRecord>
auto table<M, Kind>::lay_out(shard_index s, unsigned log2_buckets, flushed& started,
                             EachRecord&& each_record) -> std::optional<laid_out> {
  for (; log2_buckets <= max_log2_buckets; ++log2_buckets) {  // twice the buckets, half the load
    auto array = allocate_loose(heap_, array_bytes(log2_buckets));
    if (!array) return std::nullopt;
    bucket* const made = p_.at(poff<bucket>{array->offset()});
    if (!fill_array(s, made, log2_buckets, each_record)) continue;
    started += flush_array(made, log2_buckets);
    return laid_out{std::move(*array), log2_buckets};
  }
  return std::nullopt;
}

template <medium M, class Kind>
void table<M, Kind>::publish_array(shard_index s, directory_entry made, durable written) {
  durahash::check(made.sound(), "a directory entry is one that recovery believes");
  bool switched_early = M::planted("the-mirror-before-the-medium");
  if (switched_early) switch_array(s, made);
  // COMMIT: the shard moves
  [[maybe_unused]] durable done =
      publish(m_, entry_of(s), made.word, after(std::move(written)), "turbo.array.commit");
  if (!switched_early) switch_array(s, made);
}

/// Stores the records where searches will look for them, in an array that nothing refers to yet.
/// The first lines are left to new records, as far as they can be. Returns false when some record
/// finds its scope full.
template <medium M, class Kind>
template <class EachRecord>
bool table<M, Kind>::fill_array(shard_index s, bucket* made, unsigned log2_buckets,
                                EachRecord&& each_record) {
  const std::uint64_t buckets = std::uint64_t{1} << log2_buckets;
  const std::uint64_t scope = std::min<std::uint64_t>(scope_, buckets);
  for (bucket& b : std::span(made, buckets)) {
    store(m_, b.meta, meta_word{meta_word::one_write});
    store(m_, b.tags[0], 0), store(m_, b.tags[1], 0), store(m_, b.reserved, 0);
  }
  // of bytes: an offset in the array is what its hash says
  const std::uint64_t of_shard = (buckets << level_of(s)) * sizeof(bucket);
  const std::uint64_t inside = (buckets - 1) * sizeof(bucket);
  return each_record([&](const live_record& r) {
    std::uint64_t at = multiply_wide(r.hash, of_shard).high & inside, distance = 0;
    const auto made_at = [made](std::uint64_t offset) -> bucket& {
      return *reinterpret_cast<bucket*>(reinterpret_cast<char*>(made) + offset);
    };
    meta_word meta = load(m_, made_at(at).meta);
    while (!meta.two_empty()) {
      if (++distance == scope) return false;
      at = (at + sizeof(bucket)) & inside;
      meta = load(m_, made_at(at).meta);
    }
    bucket& b = made_at(at);
    const std::uint32_t behind = meta.empty() & ~slots_of_first_line;
    const std::size_t n = behind == 0 ? first_of(meta.empty()) : best_behind(behind, r.hash);
    store(m_, b.meta, meta_word{meta.bits | meta_word::valid_bit(n)});
    slot& to = slot_in(b, n);
    store(m_, to.key, r.key_word);
    store(m_, to.value, r.value_word);
    store(m_, tag_field(b, n), tag_of(r.hash));
    return true;
  });
}

/// The write-back of all, in the order of addresses. Lines without a live slot keep what they hold:
/// nothing reads them.
template <medium M, class Kind>
flushed table<M, Kind>::flush_array(const bucket* made, unsigned log2_buckets) {
  flushed started;
  for (const bucket& b : std::span(made, std::uint64_t{1} << log2_buckets)) {
    const auto* const words = reinterpret_cast<const pm<std::uint64_t>*>(&b);
    // the header is as long as the slots that the first line lacks
    std::uint32_t used = load(m_, b.meta).valid() << slots_in_first_line | 1;
    for (std::size_t line = 0; used != 0; ++line, used >>= slots_in_line)
      if ((used & low_bits(slots_in_line)) != 0)
        started += flush_in_line(m_, words[line * (line_bytes / 8)], "turbo.array.image");
  }
  return started;
}

/// For a shard without a record.
template <medium M, class Kind>
void table<M, Kind>::drop_array(shard_index s) {
  // COMMIT: the array goes
  [[maybe_unused]] durable done =
      publish(m_, entry_of(s), 0, after_nothing("an empty shard has no array"), "turbo.array.drop");
  switch_array(s, directory_entry{});
}

template <medium M, class Kind>
void table<M, Kind>::switch_array(shard_index s, directory_entry made) {
  const shard_view old = view(s);
  shards_[s].mirror.switch_to(made);
  give_back(old);
}

/// An array that nothing names any more, neither on the medium nor in DRAM.
template <medium M, class Kind>
void table<M, Kind>::give_back(shard_view old) {
  if (old.none()) return;
  p_.readers().before_reuse();
  if constexpr (Kind::in_slot)
    heap_.free(old.offset(), old.bytes());  // readers notice by the mirror; the bytes stay mapped
  else heap_.retire(old.offset(), old.bytes());
}

// ----------------------------------------------------------------------------------- deleted slots

/// After an insert walked far: are deleted slots to blame? Then the shard is rebuilt at its size
/// (§4.6).
template <medium M, class Kind>
void table<M, Kind>::survey(shard_index s) {
  shard_state& state = shards_[s];
  if (state.inserts_until_survey > 0) {
    --state.inserts_until_survey;
    return;
  }
  shard_view v = view(s);
  std::uint64_t deleted = 0;
  for (std::uint64_t index = 0; index < v.buckets(); ++index)
    deleted += static_cast<unsigned>(std::popcount(load(m_, buckets_of(v)[index].meta).deleted()));
  constexpr std::uint64_t share = 8;  // an eighth of the slots
  if (deleted * share >= v.buckets() * slots_per_bucket &&
      rebuild(s, v.log2_buckets()) == status::ok)
    ++collections_;
  // so that a survey costs each insert about a line
  state.inserts_until_survey = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(view(s).buckets(), shard_state::max_until_survey));
}

// ---------------------------------------------------------------------------------- size on demand

/// The smallest array that holds so many records at a load factor of at most 0.7, where few scopes
/// are full.
template <medium M, class Kind>
unsigned table<M, Kind>::log2_for(std::uint64_t records_in_shard) const noexcept {
  constexpr std::uint64_t tenths = 7;
  return std::min(max_log2_buckets,
                  log2_ceiling((records_in_shard * 10 + slots_per_bucket * tenths - 1) /
                               (slots_per_bucket * tenths)));
}

/// In shards that need not be split for so many, and in those that are deeper already. Larger ones
/// stay as they are.
template <medium M, class Kind>
status table<M, Kind>::make_room_for(std::uint64_t records) {
  unsigned level = level_of(first_node_);
  while (level < max_level_ && log2_for(records >> level) > most_log2_) ++level;
  std::uint64_t present = 0;
  each_node([&](shard_index s) { present += view(s).bytes(); });
  if (const std::uint64_t needed = array_bytes(log2_for(records >> level)) << level;
      needed > present)
    if (status s = p_.reserve(needed - present); s != status::ok) return s;
  status answer = status::ok;
  each_node([&](shard_index s) {
    if (answer != status::ok) return;
    const bool splits = level_of(s) < level;
    const unsigned log2 = log2_for(records >> std::max(level, level_of(s)));
    if (splits && !view(s).elsewhere()) make_level(level_of(s) + 1);
    std::scoped_lock lock(shards_[s].lock);
    const shard_view v = view(s);
    if (v.elsewhere() || (!splits && !v.none() && v.log2_buckets() >= log2)) return;
    if (!p_.may_change()) answer = status::io_error;
    else if (!splits) answer = rebuild(s, log2);
    else answer = split_shard(s, level_of(s) + 1 == level || v.none() ? log2 : v.log2_buckets());
  });
  return answer;
}

template <medium M, class Kind>
status table<M, Kind>::shrink_to_fit() {
  status answer = status::ok;
  each_node([&](shard_index s) {
    std::scoped_lock lock(shards_[s].lock);
    const shard_view v = view(s);
    if (v.none() || answer != status::ok) return;
    const std::uint64_t live = live_in(v);
    if (!p_.may_change()) answer = status::io_error;
    else if (live == 0) drop_array(s);
    else answer = rebuild(s, std::min(v.log2_buckets(), log2_for(live)));
  });
  return answer;
}

/// Those that were rebuilt while the front was still full.
template <medium M, class Kind>
status table<M, Kind>::move_arrays_down() {
  status answer = status::ok;
  each_node([&](shard_index s) {
    if (answer != status::ok) return;
    if (answer = move_array_down(s); answer == status::ok) answer = move_pair_down(s);
  });
  return answer;
}

template <medium M, class Kind>
status table<M, Kind>::move_array_down(shard_index s) {
  std::scoped_lock lock(shards_[s].lock);
  const shard_view v = view(s);
  if (v.none() || v.offset() < this->live_bytes() || !heap_.has_room_before(v.offset(), v.bytes()))
    return status::ok;
  return p_.may_change() ? rebuild(s, v.log2_buckets()) : status::io_error;
}

template <medium M, class Kind>
template <class Visit>
void table<M, Kind>::for_each_locked(Visit&& visit) {
  each_node([&](shard_index s) {
    std::scoped_lock lock(shards_[s].lock);
    settle(s);
    for_each_resident(view(s), visit);
  });
}

/// Near-place, as every update of a record.
template <medium M, class Kind>
status table<M, Kind>::replace_value(const resident& r, std::uint64_t value_word, flushed started) {
  const lookup at{r.where, static_cast<std::uint32_t>(r.slot), 0};
  if (!load(m_, at.at->meta).well_formed()) return status::damaged;
  change c;
  const unit_type unit = unit_at(leaf_of(r.hash));
  c.state = unit.state, c.view = unit.view;
  frame::replaces(load(m_, slot_in(*at.at, at.slot).value), c);
  stage_update(at, r.hash, r.key_word, value_word, c);
  frame::commit(c, std::move(started));
  return status::ok;
}

}  // namespace durahash::turbo
