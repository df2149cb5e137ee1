// What a gpu::map does: one lease of the pool to a device, and the order of its streams' work.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "base/process_mark.hpp"
#include "gpu/cache.hpp"
#include "gpu/exports.hpp"
#include "gpu/leaser.hpp"
#include "gpu/map.hpp"
#include "gpu/pins.hpp"

namespace durahash::gpu {

class map::part {
 public:
  part(std::unique_ptr<detail::word_table> table, std::unique_ptr<device> d,
       const device_options& on)
      : table_(std::move(table)),
        pool_(leaser_of(*table_)),
        device_(std::move(d)),
        place_(on.place),
        pins_(*device_),
        cache_percent_(on.cache_percent),
        policy_(on.policy),
        max_staged_(on.max_staged) {}
  ~part() { static_cast<void>(close()); }

  /// Not in a fork of it.
  bool opened_here() const noexcept { return *opened_by_ != 0; }

  bool leasable() const noexcept { return pool_ != nullptr; }
  /// Whether writes are done in two halves, the second with a commit.
  bool by_batch() const { return mirror_ || table_->kinds().durability == durability_level::power; }
  table_place place() const noexcept { return place_; }
  detail::word_table& table() noexcept { return *table_; }

  error start() {
    if (error e = pins_.settle(place_, pool_->memory()); e.code != status::ok) return e;
    if (place_ != table_place::pool)
      mirror_.emplace(
          *device_, place_ == table_place::device_mirror ? memory_kind::own : memory_kind::shared);
    if (cache_percent_ != 0) cache_.emplace(*device_, cache_percent_, policy_);
    full_ = static_cast<std::uint32_t*>(device_->allocate(sizeof *full_));
    if (full_ == nullptr)
      return {status::no_space, "no memory that host and device share, for a flag"};
    if (by_batch())
      if (error e = make_room_for_changes(); e.code != status::ok) return e;
    if (place_ == table_place::pool) pool_->own();
    return lend();
  }

  /// Whether there is a pool, and a device that works.
  status state() const noexcept {
    return !table_ ? status::closed : failed_ ? failure_.code : status::ok;
  }
  /// Whether it does what is asked of this stream. A graph that was captured would work on the
  /// table as it was then, and on memory that is gone when it has grown: none is.
  error ready(stream on) const {
    if (state() != status::ok) return {state(), failure_.message};
    if (!device_->captures(on)) return {status::ok, {}};
    return {status::invalid_argument, "the stream is being captured into a CUDA graph"};
  }

  status export_batch(export_cursor& at, std::size_t n, const exported& to, std::size_t& count,
                      stream on) {
    count = 0;
    if (n < least_export) return status::invalid_argument;
    if (error e = commit(on); e.code != status::ok) return e.code;
    const std::size_t bytes = n * sizeof(std::uint64_t);
    if (!device_->reaches(to.keys, bytes) ||
        (to.values != nullptr && !device_->reaches(to.values, bytes)))
      return status::invalid_argument;
    if (error e = device_->wait_for_all(); e.code != status::ok) return fail(e).code;
    if (at.next != 0 && at.layout != layout_) return status::mismatch;
    at.layout = layout_;
    error e = export_some(*device_, leased_, at, n, to, count, on);
    return e.code == status::io_error ? fail(e).code : e.code;
  }

  /// Lists of keys, and an erase of each. Nobody writes in between: who calls is the only one.
  status erase_if(const selection& which, std::uint64_t& erased, stream on) {
    erased = 0;
    if (error e = commit(on); e.code != status::ok) return e.code;
    const std::size_t at_once = by_batch()
                                    ? std::min<std::uint64_t>(max_staged_, most_before_growth)
                                    : most_before_growth,
                      room = std::max(at_once, least_export);
    const lent_array<std::uint64_t> keys(*device_, room, memory_kind::own);
    const lent_array<status> answers(*device_, room, memory_kind::own);
    if (keys.data() == nullptr || answers.data() == nullptr) return status::no_space;
    std::size_t count = 0;
    for (export_cursor at; !at.done;) {
      status listed = export_batch(at, room, {keys.data(), nullptr, nullptr, which}, count, on);
      if (listed != status::ok) return listed;
      for (std::size_t done = 0; done < count; done += at_once) {
        const std::size_t n = std::min(at_once, count - done);
        const std::int64_t before = device_->counted().records;
        status asked = write({action::erase, n, keys.data() + done, nullptr, answers.data()}, on);
        if (asked == status::ok) asked = commit(on).code;
        if (asked != status::ok) return asked;
        erased += static_cast<std::uint64_t>(before - device_->counted().records);
      }
    }
    return status::ok;
  }

  /// As for finds, others may be beside it.
  error load_cache() {
    if (!table_) return {status::closed, {}};
    const only_one here(*this, loading_);
    if (failed_) return {status::io_error, {}};
    if (!cache_) return {status::ok, {}};
    error loaded = cache_->load();
    failed_beside_ = failed_beside_ || loaded.code != status::ok;
    return loaded;
  }
  cache_figures cache_now() {
    const only_one here(*this, loading_);
    if (!cache_ || failed_) return {};
    if (device_->wait_for_all().code != status::ok) return failed_beside_ = true, cache_figures{};
    tallies now = device_->counted();
    return {cache_->copies(), cache_->loads(), now.looks, now.copies};
  }

  /// Others may be beside it.
  status find(batch b, stream on) {
    if (!table_) return status::closed;
    if (!reaches(b) || device_->captures(on)) return status::invalid_argument;
    std::unique_lock lock(gate_);
    gate_opens_.wait(lock, [&] { return !levels_change_; });
    if (failed_) return status::io_error;
    b.now = ++finds_;
    if (b.missed.count != nullptr) device_->fill(b.missed.count, 0, sizeof *b.missed.count, on);
    return device_->find(leased_, b, on) ? status::ok : status::io_error;
  }

  void view(device_view& into) {
    if (state() != status::ok) return;
    device_->describe(into);
    into.table = leased_;
    into.writes_at_once = !by_batch();
    handed_out_ = true;
    keep_readers_out(nullptr);
  }

  status write(const batch& b, stream on) {
    if (error e = ready(on); e.code != status::ok) return e.code;
    if (!reaches(b)) return status::invalid_argument;
    if (by_batch()) {
      if (staged_count_ != 0 && on != staged_on_) return status::invalid_argument;
      if (b.count > max_staged_ - staged_count_) return status::no_space;
    }
    answer_all(b, pending, on);
    keep_readers_out(on);
    by_batch() ? stage_next(b, on) : device_->write(leased_, b, on);
    return device_->sound() ? status::ok : status::io_error;
  }

  /// Durable is what returns.
  error commit(stream on) {
    if (error e = ready(on); e.code != status::ok) return e;
    error done = commit_behind(device_->wait(on));
    if (done.code == status::ok) let_readers_in(on);
    return done;
  }

  /// With growth. A table that is all but full is left by what grows it: the more operations come
  /// to it meanwhile, the more look at all their slots for nothing.
  static constexpr std::size_t most_before_growth = std::size_t{1} << 18;

  error write_all(const batch& b, stream on) {
    if (state() == status::ok && !reaches(b))
      return {status::invalid_argument, "an array is in memory that the device does not reach"};
    if (error e = commit(on); e.code != status::ok) return e;  // what others staged
    answer_all(b, pending, on);
    const std::size_t most = by_batch() ? max_staged_ : most_before_growth;
    for (std::size_t done = 0; done < b.count; done += most) {
      batch piece = part_of(b, done, most);
      piece.full = full_;
      error e = write_piece(piece, on);
      if (e.code == status::ok) continue;
      // nothing is done of what comes behind
      if (e.code == status::no_space && b.count - done > most) {
        answer_all(part_of(b, done + most, b.count), e.code, on);
        if (error waited = device_->wait(on); waited.code != status::ok) return fail(waited);
      }
      return e;
    }
    return {status::ok, {}};
  }

  /// Calls with the engine at home; after a failure it stays there. `changes`: records or levels
  /// may move, and the pool may get shorter, of which nothing may be pinned then.
  template <class Call>
  auto at_home(Call&& call, bool changes = false) -> decltype(call()) {
    const only_one here(*this, levels_change_);
    end_lease();
    if (changes) pins_.release();
    auto answer = call();
    outdated_ |= changes;
    layout_ += changes;
    if (state() == status::ok)
      if (error e = lend(); e.code != status::ok) fail(e);
    return answer;
  }
  template <class Call>
  status ask_at_home(Call&& call, bool changes = true) {
    if (state() != status::ok) return state();
    status answer = at_home([&] { return state() == status::ok ? call() : state(); }, changes);
    return state() == status::ok ? answer : state();
  }

  status close() {
    if (!table_) return status::closed;
    end_lease();
    // what still runs is done before its memory goes
    if (failed_) static_cast<void>(device_->wait_for_all());
    pins_.release();
    cache_.reset();
    mirror_.reset();
    free_changes();
    device_->free(std::exchange(full_, nullptr));
    if (pool_ && !failed_) pool_->disown();  // else nobody knows whether the device is done
    status closed = table_->close();
    table_.reset();
    return failed_ ? failure_.code : closed;
  }

 private:
  // Readers in other processes are kept out while writes are under way: from the first one of a
  // stream until it is committed, and while kernels of the program's own have a handle.

  void keep_readers_out(stream on) {
    const bool are_in = writing_.empty();
    if (std::find(writing_.begin(), writing_.end(), on) == writing_.end()) writing_.push_back(on);
    if (are_in) pool_->ban_readers();
  }
  /// What this stream wrote is committed.
  void let_readers_in(stream of) {
    if (writing_.empty() || handed_out_) return;
    std::erase(writing_, of);
    if (by_batch()) std::erase(writing_, staged_on_);  // waited for, too
    if (writing_.empty()) pool_->admit_readers();
  }
  /// All of it.
  void let_readers_in() {
    handed_out_ = false;
    if (!std::exchange(writing_, {}).empty()) pool_->admit_readers();
  }

  /// While it lives the levels change, or a load of copies is under way: never both, and no find
  /// starts while the levels change. A flag and no lock that is held: the loan itself is a lock of
  /// the engine's, which is taken within as well as before.
  class only_one {
   public:
    only_one(part& p, bool& what) : part_(p), what_(what) {
      std::unique_lock lock(p.gate_);
      p.gate_opens_.wait(lock, [&] { return !p.levels_change_ && !p.loading_; });
      what = true;
    }
    ~only_one() {
      {
        std::scoped_lock lock(part_.gate_);
        what_ = false;
      }
      part_.gate_opens_.notify_all();
    }
    only_one(const only_one&) = delete;

   private:
    part& part_;
    bool& what_;
  };

  bool reaches(const batch& b) const {
    bool no_values = b.values == nullptr && (b.what == action::find || b.what == action::erase);
    return device_->reaches(b.keys, b.count * sizeof(std::uint64_t)) &&
           (no_values || device_->reaches(b.values, b.count * sizeof(std::uint64_t))) &&
           device_->reaches(b.answers, b.count * sizeof(status)) &&
           gpu::reaches(*device_, b.missed, b.count);
  }
  void answer_all(const batch& b, status answer, stream on) {
    static_assert(sizeof(status) == 1);
    device_->fill(b.answers, static_cast<std::uint8_t>(answer), b.count, on);
  }
  /// One change for each key is room enough: there are no more of them than operations.
  error make_room_for_changes() {
    staged_.numbers_log2 = staged_changes::numbers_log2_for(max_staged_);
    const std::size_t bytes = sizeof(std::uint32_t) << staged_.numbers_log2;
    auto own = [&](std::size_t size) { return device_->allocate(size, memory_kind::own); };
    staged_.changes = static_cast<change*>(device_->allocate(max_staged_ * sizeof(change)));
    staged_.hashes = static_cast<std::uint64_t*>(own(max_staged_ * sizeof(std::uint64_t)));
    staged_.numbers = static_cast<std::uint32_t*>(own(bytes));
    if (staged_.changes == nullptr || staged_.hashes == nullptr || staged_.numbers == nullptr)
      return {status::no_space, "no memory that host and device share, or on the device, for " +
                                    std::to_string(max_staged_) + " staged operations"};
    device_->clear(staged_.numbers, bytes);
    return {status::ok, {}};
  }
  void free_changes() {
    device_->free(staged_.changes);
    device_->free(staged_.hashes, memory_kind::own);
    device_->free(staged_.numbers, memory_kind::own);
    staged_ = {};
  }
  void stage_next(const batch& b, stream on) {
    staged_on_ = on;
    staged_count_ += b.count;
    device_->stage(leased_, b, staged_, on);
  }
  /// What was staged, if anything was. Its stream may be another one, which is being captured now.
  error commit_behind(const error& waited) {
    if (failed_beside_)
      return fail(
          {status::io_error, "the device failed while copies of buckets were loaded, or counted"});
    if (waited.code != status::ok) return fail(waited);
    if (staged_count_ == 0) return {status::ok, {}};
    if (error e =
            device_->captures(staged_on_) ? device_->wait_for_all() : device_->wait(staged_on_);
        e.code != status::ok)
      return fail(e);
    stream own = device_->stream_for_copies();
    const std::uint64_t count = device_->counted().staged - staged_.before;
    std::span<const change> changes(staged_.changes, count);
    mirror_ ? pool_->store_changes(changes, *mirror_) : pool_->flush_payloads(changes);
    device_->commit(leased_, staged_, count, own);
    if (error e = device_->wait(own); e.code != status::ok) return fail(e);
    if (!mirror_) pool_->flush_words(changes);
    staged_.before += count;
    staged_count_ = 0;
    return {status::ok, {}};
  }

  /// From the first-th operation on, at most so many.
  static batch part_of(const batch& b, std::size_t first, std::size_t most) {
    return {b.what, std::min(most, b.count - first), b.keys + first, b.values + first,
            b.answers + first};
  }
  error write_piece(const batch& b, stream on) {
    while (true) {  // ends: every round but the first has found a larger table, up to no_space
      *full_ = 0;
      keep_readers_out(on);
      if (by_batch()) stage_next(b, on);
      else device_->write(leased_, b, on);
      if (error e = commit(on); e.code != status::ok) return e;
      if (*full_ == 0) return {status::ok, {}};
      if (error e = grow(on); e.code != status::ok) return e;
      device_->retry_full(b, on);
    }
  }

  /// A level more on top, which the device writes (engine/gphash/lease.hpp). All that was staged is
  /// committed; of other streams there may be writes under way.
  error grow(stream on) {
    if (error e = device_->wait_for_all(); e.code != status::ok) return fail(e);
    std::optional<leased_level> home = pool_->lease_top(device_->counted().records - told_.records);
    if (!home) return {status::no_space, std::string(message(status::no_space))};
    leased_level top = mirror_ ? mirror_->add_level(leased_, *home) : *home;
    error ready = top.first == nullptr
                      ? error{status::no_space, "no memory for the copy of a larger table"}
                  : mirror_ ? error{status::ok, {}}
                            : pins_.take(pool_->memory());
    if (ready.code != status::ok) return pool_->give_top_back(), ready;
    device_->copy_up(leased_, top, on);
    if (error e = device_->wait(on); e.code != status::ok) return fail(e);
    if (mirror_)
      if (error e = mirror_->bring_home(
              top, [&](std::uint64_t first, auto words) { pool_->write_top(first, words); });
          e.code != status::ok)
        return fail(e);
    tallies now = device_->counted();
    leased_table grown =
        pool_->put_on_top(now.moved - std::exchange(told_.moved, now.moved),
                          now.misplaced - std::exchange(told_.misplaced, now.misplaced));
    const only_one here(*this, levels_change_);
    // finds of other streams, which see the bottom level
    if (error e = device_->wait_for_all(); e.code != status::ok) return fail(e);
    leased_ = mirror_ ? mirror_->shown(grown) : grown;
    ++layout_;
    // without memory for copies it goes on without
    if (cache_) static_cast<void>(cache_->begin(leased_));
    return {status::ok, {}};
  }

  /// Nobody knows what the device did: the pool is left as by a crash, and nothing more is done in
  /// it.
  error fail(const error& e) {
    failure_ = e;
    failed_ = true;
    staged_count_ = 0;
    if (std::exchange(leased_out_, false)) pool_->give_up_lease();
    return e;
  }
  error lend() {
    if (!mirror_)
      if (error e = pins_.take(pool_->memory()); e.code != status::ok) return e;
    std::optional<leased_table> lent = pool_->lend();
    if (!lent) return {status::io_error, std::string(message(status::io_error))};
    leased_table& home = *lent;
    leased_out_ = true;
    bool anew = std::exchange(outdated_, false);
    // the device has changed nothing yet
    if (error e = anew ? copy(home) : error{status::ok, {}}; e.code != status::ok) {
      pool_->take_back(0);
      leased_out_ = false;
      return e;
    }
    leased_ = mirror_ ? mirror_->shown(home) : home;
    return {status::ok, {}};
  }
  /// Into the mirror; and the cache begins anew.
  error copy(const leased_table& home) {
    if (mirror_)
      if (error e = mirror_->copy(home); e.code != status::ok) return e;
    return cache_ ? cache_->begin(mirror_ ? mirror_->shown(home) : home) : error{status::ok, {}};
  }
  void end_lease() {
    if (!leased_out_ || commit_behind(device_->wait_for_all()).code != status::ok) return;
    std::int64_t records = device_->counted().records;
    pool_->take_back(records - std::exchange(told_.records, records));
    leased_out_ = false;
    let_readers_in();
  }

  const volatile unsigned char* opened_by_ = this_process_mark();
  std::unique_ptr<detail::word_table> table_;
  std::unique_ptr<leaser> pool_;
  std::unique_ptr<device> device_;
  table_place place_;
  pins pins_;
  unsigned cache_percent_;
  cache_policy policy_;
  std::optional<mirror> mirror_;
  std::optional<cached_buckets> cache_;
  bool outdated_ = true;  // mirror and copies
  std::mutex gate_;       // finds start under it; of what follows
  std::condition_variable gate_opens_;
  bool levels_change_ = false, loading_ = false;
  std::uint32_t finds_ = 0;  // batches of them
  leased_table leased_ = leased_table::none();
  bool leased_out_ = false;
  std::uint64_t layout_ = 0;  // how often records may have moved
  // the latter in a load or a look at the copies, and is told to who commits next
  std::atomic<bool> failed_{false}, failed_beside_{false};
  error failure_{status::ok, {}};
  tallies told_;  // of what the device counted
  std::uint64_t max_staged_, staged_count_ = 0;
  stream staged_on_ = nullptr;
  std::vector<stream> writing_;  // of what is not committed yet
  bool handed_out_ = false;      // to kernels that are not the library's
  staged_changes staged_;
  std::uint32_t* full_ = nullptr;  // whether an operation of `put` or `insert` found no room
};

}  // namespace durahash::gpu
