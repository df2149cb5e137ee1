// GPHash (FAST'25) on the host: the table, its parts and their invariants.
// docs/explanation/engines/gphash.md tells the whole.
//
// Levels of buckets, each of twice the buckets of the one below. A key has a few places, each of
// which names a bucket in every level.
//
//   G1  A record lies in one of its places' buckets, once.
//   G2  What a slot with a fingerprint holds was durable, or is a part of the state's line before
//       it, when the fingerprint was stored.
//   G3  A value word or a key is stored in a slot only if no crash can bring back the fingerprint
//       that stood there.
//   G4  The root's geometry word names levels whose places, and all of whose records, are durable.
//   G5  A write that adds or removes a key changes its stripe's version before its commit word is
//       stored.
//   G6  What a reader is given is durable: a stripe with a publication under way is unsettled, and
//       its readers flush what they have read.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <list>
#include <optional>
#include <span>
#include <vector>

#include "base/spin_lock.hpp"
#include "base/zeroed_array.hpp"
#include "engine/concept.hpp"
#include "engine/frame/frame.hpp"
#include "engine/frame/live_record.hpp"
#include "engine/frame/stripes.hpp"
#include "engine/gphash/bucket_cache.hpp"
#include "engine/gphash/coming_level.hpp"
#include "engine/gphash/leased.hpp"
#include "engine/gphash/stripe.hpp"
#include "warp/host_warp.hpp"

namespace durahash::gphash {

/// Lines in which a removal is visible and not yet durable (G3). Several lines share a counter: one
/// that says too much costs a flush.
template <medium M>
class departures {
 public:
  static constexpr bool needed = !M::visible_is_durable;
  departures() {
    if constexpr (needed)
      counters_ = zeroed_array<std::atomic<std::uint32_t>>(std::size_t{1} << log2_counters);
  }
  [[gnu::always_inline]] void begin(std::uint64_t offset) noexcept {
    // the store that follows releases it
    if constexpr (needed) counter(offset).fetch_add(1, std::memory_order_relaxed);
  }
  void end(std::uint64_t offset, const durable&) noexcept {
    if constexpr (needed) counter(offset).fetch_sub(1, std::memory_order_release);
  }
  /// Asked by who has seen the slot empty.
  [[gnu::always_inline]] bool any_in(std::uint64_t offset) const noexcept {
    if constexpr (needed) return counter(offset).load(std::memory_order_acquire) != 0;
    else return false;
  }

 private:
  static constexpr unsigned log2_counters = 12;
  std::atomic<std::uint32_t>& counter(std::uint64_t offset) const noexcept {
    return counters_[(offset / line_bytes) * 0x9e3779b97f4a7c15u >> (64 - log2_counters)];
  }
  zeroed_array<std::atomic<std::uint32_t>> counters_;
};

/// Stripes are the keys whose hashes begin with the same bits. No bucket and no slot is ever
/// locked.
template <medium M, class Kind>
class table : public engine_frame<M, Kind, table<M, Kind>> {
  using frame = engine_frame<M, Kind, table<M, Kind>>;
  friend frame;
  friend lifecycle<M, Kind, table<M, Kind>>;
  template <medium, class>
  friend class beside;

 public:
  using kind = Kind;
  using key_type = typename Kind::key_type;
  using value_type = typename Kind::value_type;

  /// Resolves the options of a new pool. Settings: levels, hashes, slots, cache, cache_policy,
  /// key_bytes, stop_to_grow (docs/explanation/engines/gphash.md).
  static result<engine_plan> plan(const options& how);

  /// On a pool that `plan` was made for. Reads the geometry; `open` says what is wrong with it.
  explicit table(pool<M>& p);
  ~table();
  /// With `dropped`, what does not verify is dropped and told there; without, it refuses the open
  /// or is left to check().
  error open(const std::string& path, std::vector<std::string>* dropped = nullptr);

  /// Of every key.
  std::size_t key_bytes() const noexcept requires(Kind::fixed_key) { return shape_.key_bytes; }

  // find.hpp
  template <class Read>
  status get(key_type key, Read read);

  // recover.hpp
  std::uint64_t size();  // waits for the count after a crash
  std::uint64_t slots();
  void lock_all();  // keeps writers out
  void unlock_all();

  // lease.hpp
  std::optional<leased_table> lend() requires(Kind::in_slot);
  void take_back(std::int64_t added) requires(Kind::in_slot);
  std::optional<leased_level> lease_top(std::int64_t added) requires(Kind::in_slot);
  void write_top(std::uint64_t first, std::span<const std::uint64_t> words) requires(Kind::in_slot);
  leased_table put_on_top(std::uint64_t moved, std::uint64_t misplaced) requires(Kind::in_slot);
  void give_top_back() requires(Kind::in_slot);
  void give_up_lease() requires(Kind::in_slot);
  bool lend_rows() requires(!Kind::in_slot);
  void take_rows_back(std::int64_t added) requires(!Kind::in_slot);
  void give_rows_up() requires(!Kind::in_slot);
  status grow_now();
  std::optional<std::uint64_t> lease_cell(std::uint64_t bytes) requires(!Kind::in_slot);
  void give_cell_back(std::uint64_t offset, std::uint64_t bytes) noexcept requires(!Kind::in_slot);
  void retire_cell(std::uint64_t offset, std::uint64_t bytes) noexcept requires(!Kind::in_slot);
  leased_table as_leased() const;
  template <class Visit>
  void for_each_extent_of(key_type key, Visit&& visit) const;

  // check.hpp
  void describe(table_stats& stats);

  // describe.hpp
  void each_candidate(key_type key, part_visitor& v);  // the buckets that a search looks at

 private:
  using frame::p_, frame::m_, frame::heap_, frame::seeds_, frame::records_at_open_,
      frame::damage_found_, frame::background_;
  using frame::reading, frame::await_count, frame::counted, frame::count_once;
  using read_guard = typename frame::read_guard;
  using everybody_kept_out = typename frame::everybody_kept_out;
  static constexpr unsigned unit_log2 = min_bottom;  // of buckets that are counted together
  // the paper's, and the default
  static constexpr shape short_shape{.levels = 2, .hashes = 2, .slots = 8, .slots_log2 = 3};

  /// What is known of a stripe in DRAM. Zeros at first.
  struct stripe_state {
    stripe_mark<M> mark;
    // since open; guarded by the lock, but for the counter's readers
    std::atomic<std::int32_t> records;
  };

  struct level_view {
    pm<std::uint64_t>* first = nullptr;
    std::uint64_t offset = 0;
    unsigned log2 = 0;
    std::uint64_t buckets() const noexcept { return std::uint64_t{1} << log2; }
  };
  /// The levels, from the top down. Never changed, replaced as a whole; kept until the table goes,
  /// so that a reader sees by the pointer whether they are still the same.
  struct levels_view {
    level_view at[max_levels];  // behind the last one that again
    unsigned count = 0, stripe_bits = 0, stripe_shift = 0;
    unsigned byte_shift = 0;  // of a place, to its byte in the top
    // words take the short ways: their buckets are of short_shape, and none has a copy
    bool is_short = false;
    std::uint64_t last_long = ~std::uint64_t{0};  // but for those up to this one
    bucket_cache* cache = nullptr;                // of their buckets, or none
    // of each level's first bucket the number in all of them
    std::uint64_t first_bucket[max_levels] = {};
    std::span<const level_view> all() const noexcept { return {at, count}; }
  };
  /// Its state words; the value words follow, then the keys.
  using bucket = pm<std::uint64_t>*;
  struct two_words {
    pm<std::uint64_t>* state = nullptr;
    pm<std::uint64_t>* value = nullptr;
  };
  struct words_and_key : two_words {
    pm<std::uint64_t>* key = nullptr;
  };
  using slot_ref = std::conditional_t<Kind::fixed_key, words_and_key, two_words>;
  using found_record = record_of<Kind>;
  /// The key's buckets, whose slots are the lanes of a warp.
  struct warp_view {
    std::uint64_t* buckets[max_levels * max_hashes];
    std::uint32_t copies = 0;  // bit n: the n-th is a copy, to be believed while its ticket is good
    bucket_cache::ticket tickets[max_levels * max_hashes];
  };
  /// What a reader saw first of copies, and of buckets that have none.
  struct copies_look {
    std::uint32_t version, hits;
  };
  struct resident : found_record {
    slot_ref where;
  };
  /// Where a key is, or where it would go.
  struct lookup {
    slot_ref found, room;
  };
  /// A change that is written but for its commit word.
  struct change : replaced_record<Kind> {
    stripe_state* stripe = nullptr;
    slot_ref where = {};
    pm<std::uint64_t>* word = nullptr;
    std::uint64_t next = 0;
    bool apart = false;        // what it must come after lies in other lines
    bool value_apart = false;  // the value word does, and is to be flushed
    std::int8_t records = 0;   // a key comes or goes
  };
  /// Where a key is looked for, in the order of precedence, as long as the levels are these: of the
  /// short ways.
  struct target_type {
    std::uint64_t hash;
    const levels_view* levels;
    bucket at[4];
  };
  /// And what was there.
  struct look_type : target_type {
    const stripe_mark<M>* mark;
    std::uint32_t version;
    pm<std::uint64_t>* state;  // of the slot that the key may be in, or null
  };
  struct unit_type {
    const levels_view* levels;
    stripe_index stripe;
  };
  using home_type = std::conditional_t<Kind::in_slot, unit_type, void>;
  /// Of stripes that differ.
  struct group : fenced_group<change> {
    const levels_view* levels;  // as long as a lock is held
  };
  struct stretch {
    static constexpr bool may_repeat = false;  // who comes or goes changes the version
    std::vector<found_record> records;
    // copies: a slot may be lent as soon as it was looked at
    std::list<std::array<std::uint64_t, max_key_bytes / 8>> keys;
  };
  enum class probed : std::uint8_t { hit, miss, torn, damaged };
  /// Everybody is kept out, and no level is coming.
  struct levels_held : everybody_kept_out {
    explicit levels_held(table& t) : everybody_kept_out(t) { t.drop_growth(); }
  };
  /// Levels as they are to be written, from the top down: the words of each.
  struct image {
    unsigned top = 0;
    std::array<std::vector<std::uint64_t>, max_levels> words;
  };

  // places
  std::uint64_t hash_of(key_type key) const noexcept;
  candidates candidates_of(std::uint64_t hash) const noexcept {
    return places_.candidates_of(hash, Kind::in_slot);
  }
  static std::uint64_t number(const level_view& l, std::uint64_t place) noexcept {
    return bucket_number(place, l.log2);
  }
  bucket bucket_at(const level_view& l, std::uint64_t index) const noexcept {
    if constexpr (Kind::fixed_key) return l.first + index * shape_.bucket_words();
    else return l.first + (index << shape_.words_log2());
  }
  bucket bucket_of(const level_view& l, std::uint64_t place) const noexcept {
    return bucket_at(l, number(l, place));
  }
  slot_ref slot_at(bucket b, unsigned index) const noexcept {
    if constexpr (Kind::fixed_key)
      return {{b + index, b + shape_.slots + index},
              b + 2 * shape_.slots + index * shape_.key_words()};
    else return {b + index, b + shape_.slots + index};
  }
  slot_ref escape_slot(int index) const noexcept {
    if constexpr (Kind::fixed_key)
      return {{&root_of_table().escapes[index].state, &root_of_table().escapes[index].value},
              nullptr};
    else return {&root_of_table().escapes[index].state, &root_of_table().escapes[index].value};
  }
  /// Keys are durable before the fingerprint that a reader sees is stored, but for what lies in a
  /// state's line.
  extent words_extent(bucket b) const noexcept { return {b, shape_.words_bytes()}; }
  root& root_of_table() const noexcept { return *p_.at(poff<root>{p_.block().engine_offset}); }
  const levels_view& levels() const noexcept { return *levels_.load(std::memory_order_acquire); }
  static stripe_index stripe_of(const levels_view& v, std::uint64_t hash) noexcept {
    return static_cast<stripe_index>(hash >> v.stripe_shift);
  }
  stripe_state& state_of(const levels_view& v, std::uint64_t hash) const noexcept {
    return stripes_[stripe_of(v, hash)];
  }
  static stripe_index stripes_of(const levels_view& v) noexcept {
    return stripe_index{1} << v.stripe_bits;
  }
  level_view view_of(std::uint64_t offset, unsigned log2) const noexcept {
    return {p_.at(poff<pm<std::uint64_t>>{offset}), offset, log2};
  }
  unsigned top_log2() const noexcept { return levels().at[0].log2; }

  // find.hpp
  warp_view warp_over(const levels_view& v, const candidates& s) const noexcept;
  warp_view aim_at_copies(const levels_view& v, const candidates& s);
  bool copies_unchanged(const levels_view& v, const warp_view& w) const noexcept;
  std::uint64_t word_at(const warp_view& w, unsigned lane,
                        const pm<std::uint64_t>& word) const noexcept;
  void ask_for(const levels_view& v, const candidates& s) const noexcept;
  slot_ref slot_of(const warp_view& w, unsigned lane) const noexcept {
    return slot_at(reinterpret_cast<bucket>(w.buckets[lane >> shape_.slots_log2]),
                   lane & (shape_.slots - 1));
  }
  std::uint32_t ballot(const warp_view& w, std::uint64_t word) const noexcept;
  std::uint32_t ballot(const warp_view& w, std::uint64_t word, unsigned first,
                       unsigned count) const noexcept;
  template <class OnMatch>
  bool look_everywhere(const warp_view& w, const candidates& s, OnMatch&& on_match) const;
  copies_look look_at(const levels_view& v, const warp_view& w, const candidates& s) const;
  slot_ref hit_of(const warp_view& w, const candidates& s, const copies_look& seen) const noexcept;
  template <class Read>
  probed judge(const levels_view& v, const warp_view& w, const candidates& s,
               const copies_look& seen, Read& read) const;
  std::uint32_t match_eight(bucket b, std::uint64_t word) const noexcept;
  target_type look_up(key_type key, const levels_view& v) const noexcept;
  static bool is_short(const target_type& t) noexcept { return t.hash > t.levels->last_long; }
  static void ask_for(const target_type& t) noexcept;
  static bucket first_of(bucket b, std::uint32_t bits) noexcept;
  bucket find(const target_type& t) const noexcept;
  void look_at(std::span<const key_type> keys, look_type* looks) const noexcept;
  void read_home(look_type& l) const noexcept;
  template <class Read>
  status answer(const look_type& l, key_type key, Read read);
  template <class Read>
  status answer_short(const look_type& l, key_type key, Read read);
  template <class Read>
  status get_anywhere(key_type key, Read read);
  status search_long(key_type key, any_reader<value_type> read) {
    return search_at(key, candidates_of(hash_of(key)), read);
  }
  status search_at(key_type key, const candidates& s, any_reader<value_type> read);
  void settle_for_reader(const levels_view& v, const candidates& s);

  // iteration.hpp
  std::optional<std::uint64_t> read_stretch(std::uint64_t position, stretch& found);
  std::uint64_t key_word_of(std::uint64_t fingerprint) const noexcept;
  bool holds_key(const slot_ref& at, key_type key) const;
  template <class Visit>
  void for_each_resident(bucket b, Visit&& visit) const;
  template <class Visit>
  void visit_resident(bucket b, unsigned slot, std::uint64_t first, std::uint64_t last,
                      Visit&& visit) const;
  template <class Visit>
  void for_each_escape(Visit&& visit) const;
  template <class Visit>
  void for_each_bucket_of(const levels_view& v, std::uint64_t prefix, unsigned bits,
                          Visit&& visit) const;
  template <class Visit>
  void for_each_record_of(const levels_view& v, std::uint64_t prefix, unsigned bits,
                          Visit&& visit) const;

  // write.hpp
  target_type target_of(key_type key) const noexcept;
  unit_type lock_unit(const target_type& t, key_type key);
  unit_type lock_home(const target_type& t) const noexcept;
  bool is_settled(const unit_type& u, const target_type& t) const noexcept;
  held_lock held_by(const unit_type& u) const noexcept;
  void settle(const unit_type&) {}  // `stage` does, by the key's buckets
  status make_room(const unit_type& full, const target_type&, int) { return grow(*full.levels); }
  template <class Decide>
  staged stage_home(const unit_type& u, const target_type& t, key_type key, Decide& decide,
                    change& c, status& answer, flushed& started);
  staged stage_new(const target_type& t, value_type value, change& c) requires(Kind::in_slot);
  void note_if_nearly_full(bucket a, bucket b, bucket c, bucket d) noexcept;
  [[gnu::always_inline]] status finish_write(const target_type&, const change&,
                                             status answer) noexcept {
    if (wants_help_.load(std::memory_order_relaxed)) [[unlikely]]
      return help_growth(1, answer);
    return answer;
  }
  lookup locate(const levels_view& v, const candidates& s, key_type key);
  slot_ref room_for(const warp_view& w, const candidates& s);
  bool claim(const levels_view& v, const candidates& s, lookup& at);
  bool claim(pm<std::uint64_t>& state);
  template <class Decide>
  staged stage(const unit_type& u, const target_type& t, key_type key, Decide& decide, change& c,
               status& answer, flushed& started);
  staged stage_set(const levels_view& v, const candidates& s, lookup& at, key_type key,
                   value_type value, change& c, status& answer, flushed& started);
  void store_key(const slot_ref& at, key_type key);
  flushed flush_key(const slot_ref& at) requires(Kind::fixed_key);
  void stage_removal(const lookup& at, change& c) const;
  ordered payload_order(const change& c) const;
  flushed flush_payload(const change& c);
  durable fence_payloads(flushed started) {
    return fence(m_, std::move(started), "gphash.write.payload");
  }
  flushed publish_change(const change& c, ordered payload);
  template <class Publish>
  flushed publish_and_tell(const change& c, Publish&& publish);
  void begin(const change& c);
  durable fence_words(flushed started) {
    return fence(m_, std::move(started), "gphash.write.done");
  }
  void end(const change& c, const durable& done);
  void look_ahead(std::span<const key_type> keys, target_type* targets, bool puts);
  std::size_t lock_group(std::span<const key_type> keys, const target_type* targets, group& g);
  static unit_type unit_in(const group& g, std::size_t, const target_type& t) noexcept {
    return {g.levels, stripe_of(*g.levels, t.hash)};
  }
  void finish_group(const group&, std::size_t writes) noexcept {
    if (wants_help_.load(std::memory_order_relaxed)) [[unlikely]]
      help_growth(writes, status::ok);
  }

  // grow.hpp
  void give_back(const level_view& l) noexcept;
  flushed write_words(pm<std::uint64_t>* at, std::span<const std::uint64_t> words);
  void lock_stripes(const levels_view& v) noexcept;
  void unlock_stripes(const levels_view& v) noexcept;
  status grow(const levels_view& seen);
  status put_level_on_top(const levels_view& v);
  status begin_growth();
  void copy_buckets(std::uint64_t most);
  status finish_growth();
  void drop_growth() noexcept;
  void end_growth() noexcept;
  void before_clean_close() noexcept { drop_growth(); }
  void note_nearly_full() noexcept;
  status help_growth(std::uint64_t writes, status answer) noexcept;
  void ask_for_growth();
  template <class Publish>
  flushed publish_twice(const level_view& bottom, std::uint64_t index, const change& c,
                        Publish& publish);
  flushed tell_coming_level(const level_view& bottom, std::uint64_t index, const change& c,
                            std::uint64_t state, std::uint64_t value);
  std::optional<std::uint64_t> bucket_over(const level_view& from, std::uint64_t index,
                                           const level_view& to, std::uint64_t hash) const;
  std::optional<loose_cell<M>> allocate_top(const levels_view& v, std::uint64_t records);
  const levels_view& plan_top(const levels_view& v, const level_view& made);
  void adopt_top(const levels_view& v, const levels_view& planned, flushed started) noexcept;
  flushed copy_bucket(const level_view& from, std::uint64_t index, const level_view& to,
                      std::span<std::uint64_t> words);
  unsigned bank() const noexcept { return geometry{load(m_, root_of_table().geometry)}.bank(); }
  pm<std::uint64_t>& level_word(unsigned bank, unsigned log2) const noexcept {
    return root_of_table().levels[bank][log2];
  }
  const levels_view& plan_levels(std::span<const level_view> now);
  void switch_levels(const levels_view& planned) noexcept;
  void load_cache(const levels_view& v);

  // resize.hpp
  std::vector<found_record> all_records(std::span<const level_view> in) const;
  void write_slot(std::uint64_t* bucket_words, unsigned index, const found_record& r) const;
  bool lay_out(const std::vector<found_record>& records, unsigned top, image& made) const;
  status build(const std::vector<found_record>& records, unsigned top);
  void move_level_down(const level_view& l);
  status make_room_for(std::uint64_t records);
  status shrink_to_fit();
  status move_arrays_down();
  template <class Visit>
  void for_each_locked(Visit&& visit);
  status replace_value(const resident& r, std::uint64_t value_word, flushed started);

  // recover.hpp
  error read_levels(const std::string& path, bool restored, std::vector<std::string>* dropped,
                    std::vector<level_view>& found);
  /// Nothing that a process which died had made visible may be gone after another crash (S2).
  bool is_swept() const noexcept {
    return !stripe_mark<M>::marked || when_counted_ == nullptr || counted() || opens_durable(m_);
  }
  bool sweep_writes_back() const noexcept { return stripe_mark<M>::marked && !opens_durable(m_); }
  void begin_sweep();
  void sweep_escapes();
  void sweep_buckets(const level_view& l, std::uint64_t first, std::uint64_t count);
  bool sweep_slot(const slot_ref& at);
  void end_sweep(flushed started) {
    [[maybe_unused]] durable done = fence(m_, std::move(started), "gphash.sweep.all");
  }
  void count_unit(const levels_view& v, unsigned level, std::uint64_t index);
  void count_places(const levels_view& v, const candidates& s);
  bool count_units(const background* asking);
  error salvage(const std::string& path, std::span<const level_view> found,
                std::vector<std::string>& dropped);

  // check.hpp
  std::string where(const level_view& l, std::uint64_t index) const;
  std::string fault_of(const found_record& r) const;
  bool belongs(const level_view& l, std::uint64_t index, std::uint64_t hash) const;
  std::uint64_t check_units(violations& violated, std::uint64_t& reached_bytes);
  std::uint64_t check_level(const level_view& l, violations& violated, std::uint64_t& reached_bytes,
                            std::vector<found_record>& seen);
  bool impossible_escape(int index) const;
  std::uint64_t check_escapes(violations& violated);

  // describe.hpp
  std::string name_of_bucket(const level_view& l, std::uint64_t index) const;
  void each_part_of_table(part_visitor& v);
  void each_escape(int index, const key_type* wanted, part_visitor& v) requires(Kind::in_slot);
  void each_part_of_level(const level_view& l, part_visitor& v);
  void each_part_of_bucket(const level_view& l, std::uint64_t index, const key_type* wanted,
                           part_visitor& v);
  void each_part_of_slot(const level_view& l, std::uint64_t index, unsigned i,
                         const key_type* wanted, part_visitor& v);

  shape shape_;
  places places_;
  host_warp warp_;
  unsigned first_top_;
  unsigned cache_percent_;
  replacement_policy cache_policy_;
  bool stop_to_grow_;
  std::atomic<const levels_view*> levels_{nullptr};
  zeroed_array<spin_lock> locks_;
  zeroed_array<stripe_state> stripes_;
  departures<M> leaving_;
  turn_mutex resize_lock_;
  const levels_view* locked_ = nullptr;  // by lock_all
  level_view top_to_be_;                 // of a lease, or of growth
  coming_level coming_;                  // that level, as growth goes on beside writers
  // publications have more to do: there are copies of buckets, or a level is coming
  std::atomic<bool> tells_{false};
  std::atomic<bool> wants_help_{false}, asked_for_growth_{false};
  // of insertions, since the last growth, that few slots are left; and how many led to nothing
  std::atomic<std::uint64_t> notes_{0}, notes_in_vain_{0};
  std::deque<levels_view> views_;
  std::deque<bucket_cache> caches_;                // of the views that have one
  std::atomic<stripe_index> counting_stripes_{0};  // the most there were
  // after a crash: what the levels are when all is counted, and the records that were found by now
  const levels_view* when_counted_ = nullptr;
  std::atomic<std::uint64_t> counted_records_{0};
  spin_lock unit_locks_[256];  // taken behind a stripe's lock; nobody holds two of these
  std::atomic<std::uint64_t> resizes_{0}, rehashed_{0}, lost_claims_{0};
};

}  // namespace durahash::gphash

#include "engine/gphash/check.hpp"
#include "engine/gphash/describe.hpp"
#include "engine/gphash/find.hpp"
#include "engine/gphash/grow.hpp"
#include "engine/gphash/iteration.hpp"
#include "engine/gphash/lease.hpp"
#include "engine/gphash/recover.hpp"
#include "engine/gphash/resize.hpp"
#include "engine/gphash/write.hpp"
