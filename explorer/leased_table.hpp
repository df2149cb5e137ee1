// GPHash as a device works on it: every operation is gpu/operations.hpp in lockstep, each thread a
// warp. The engine has it back for everything else.
#pragma once

#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>
#include <set>

#include "engine/gphash/lease.hpp"
#include "gpu/cache.hpp"
#include "gpu/lockstep_side.hpp"
#include "gpu/split_commit.hpp"
#include "media/process_medium.hpp"

namespace durahash::crash {

/// A device whose stores reach memory in any order, but that what it publishes is there behind all
/// that it has stored before: what is left when a process dies within a kernel.
template <medium M>
class loose_side : public gpu::lockstep_side<M> {
 public:
  loose_side(M& m, const gpu::lockstep_turns& turns) noexcept
      : gpu::lockstep_side<M>(m, turns), medium_(m) {}
  void store(pm<std::uint64_t>& at, std::uint64_t value) noexcept {
    gpu::lockstep_side<M>::store(at, value);
    stored_.push_back(extent_of(at));
  }
  template <class WordOf>
  void store_words(pm<std::uint64_t>* to, std::uint64_t count, WordOf&& word_of) {
    gpu::lockstep_side<M>::store_words(to, count, word_of);
    stored_.push_back({to, count * sizeof *to});
  }
  bool store_if(pm<std::uint64_t>& at, std::uint64_t old, std::uint64_t value) noexcept {
    stored_.push_back(extent_of(at));
    return gpu::lockstep_side<M>::store_if(at, old, value);
  }
  void store_in_any_order(pm<std::uint64_t>& at, std::uint64_t value) { store(at, value); }
  void publish(pm<std::uint64_t>& at, std::uint64_t value) {
    be_in_memory();
    store(at, value);
  }
  /// At the end of a kernel, too.
  void be_in_memory() {
    flushed started;
    for (const extent& e : stored_) started += flush(medium_, e, "device.order.words");
    stored_.clear();
    [[maybe_unused]] durable in_order = fence(medium_, std::move(started), "device.order.all");
  }

 private:
  M& medium_;
  std::vector<extent> stored_;
};

/// The device's own memory, for mirrors and copies of buckets: no part of the pool, so that no
/// crash leaves anything of it.
template <class Base>
class with_own_memory : public Base {
 public:
  void* allocate(std::size_t length, gpu::memory_kind) override {
    return std::aligned_alloc(line_bytes, align_up(length, line_bytes));
  }
  void free(void* memory, gpu::memory_kind) override { std::free(memory); }
  void clear(void* memory, std::size_t length) override { std::memset(memory, 0, length); }
  error copy(void* to, const void* from, std::size_t length) override {
    return std::memcpy(to, from, length), error{status::ok, {}};
  }
};
using own_memory = with_own_memory<gpu::device_memory>;

/// Loads copies: a step is the caller's work, that of one warp.
class loading_device final : public with_own_memory<gpu::copies_device> {
 public:
  std::function<void(gpu::copies_step, const gpu::leased_table&, const gpu::copy_task*,
                     std::size_t)>
      does;
  std::function<void()> waits_for_all;
  gpu::bucket_copies copies;

  void use_copies(const gpu::bucket_copies& now) override { copies = now; }
  void run_copies(gpu::copies_step step, const gpu::leased_table& table,
                  const gpu::copy_task* tasks, std::size_t count, gpu::stream) override {
    does(step, table, tasks, count);
  }
  gpu::stream stream_for_copies() override { return nullptr; }
  error wait(gpu::stream) override { return {status::ok, {}}; }
  error wait_for_all() override { return waits_for_all(), error{status::ok, {}}; }
};
using side_of_a_mirror = gpu::lockstep_side<process_medium>;

template <medium M, class Side = gpu::lockstep_side<M>>
class leased_table {
  using home = gphash::table<M, word_records>;
  using side = Side;
  static constexpr bool in_mirror = std::is_same_v<Side, side_of_a_mirror>;
  static constexpr bool at_once =
      !in_mirror && (M::visible_is_durable || std::is_same_v<Side, loose_side<M>>);

 public:
  using kind = word_records;
  using word = std::uint64_t;

  static result<engine_plan> plan(const options& how) { return home::plan(how); }
  explicit leased_table(pool<M>& p) : pool_(p), medium_(p.medium()), home_(p) {
    auto percent = static_cast<unsigned>(p.block().settings[gphash::setting::cache]);
    if (in_mirror || percent == 0) return;
    loading_.does = [this](gpu::copies_step step, const gpu::leased_table& table,
                           const gpu::copy_task* tasks, std::size_t count) {
      side s = side_of();
      gpu::batch none{};
      gpu::batch_run<side>(s, table, none, counted_).copies(step, tasks, count, 0, 1);
    };
    loading_.waits_for_all = [this] {
      if (!M::planted("gpu-a-copy-opens-before-its-writers-know")) those_outside_now();
    };
    cache_.emplace(loading_, percent, gpu::cache_policy::lfu);
  }
  ~leased_table() { end_lease(); }
  error open(const std::string& path, std::vector<std::string>* dropped = nullptr) {
    return home_.open(path, dropped);
  }

  template <class Read>
  status get(word key, Read&& read) {
    word value = 0;
    load_copies();
    gpu::looks seen{};
    status found = out([&](side& s) {
      return gpu::operations<side>(s, leased_).find(key, value, cache_ ? &seen : nullptr);
    });
    if (found == status::ok) read(value);
    return found;
  }
  template <class Read>
  void get_many(std::span<const word> keys, Read&& read, status* answers) {
    std::vector<word> values(keys.size());
    gpu::batch b{gpu::action::find, keys.size(), keys.data(), values.data(), answers};
    out([&](side& s) {
      return gpu::batch_run<side>(s, leased_, b, counted_).find(0, 1), status::ok;
    });
    for (std::size_t i = 0; i < keys.size(); ++i)
      if (answers[i] == status::ok) read(i, values[i]);
  }
  template <class Visit>
  status scan(cursor& at, std::size_t limit, Visit&& visit) {
    return in([&] { return home_.scan(at, limit, visit); });
  }

  template <class Decide>
  status write(word key, Decide&& decide) {
    while (true) {  // ends: every round but the first has found larger levels, up to no_space
      status answer = out([&](side& s) { return write_one(s, key, decide); });
      if (answer != status::no_space) return answer;
      if (status grown = grow(); grown != status::ok) return grown;
    }
  }
  void put_many(std::span<const word> keys, const word* values, status* answers) {
    write_many({gpu::action::put, keys.size(), keys.data(), const_cast<word*>(values), answers});
  }
  void erase_many(std::span<const word> keys, status* answers) {
    write_many({gpu::action::erase, keys.size(), keys.data(), nullptr, answers});
  }

  std::uint64_t size() {
    return in([&] { return home_.size(); });
  }
  std::uint64_t slots() { return home_.slots(); }
  std::uint64_t live_bytes() { return home_.live_bytes(); }
  std::uint64_t free_bytes() { return home_.free_bytes(); }
  status reserve(std::uint64_t records) {
    return in([&] { return home_.reserve(records); });
  }
  status compact() {
    return in([&] { return home_.compact(); });
  }
  status sync() {
    return in([&] { return home_.sync(); });
  }
  status close() {
    end_lease();
    return home_.close();
  }
  void check(check_report& report) {
    in([&] { return home_.check(report), status::ok; });
  }
  void describe(table_stats& stats) { home_.describe(stats); }

 private:
  /// Readers in other processes wait while anybody writes.
  class writing {
   public:
    explicit writing(leased_table& t) : table_(t) {
      std::scoped_lock lock(t.gate_);
      if (t.writers_++ == 0) t.pool_.readers().ban();
    }
    ~writing() {
      std::scoped_lock lock(table_.gate_);
      if (--table_.writers_ == 0) table_.pool_.readers().go_on();
    }
    writing(const writing&) = delete;

   private:
    leased_table& table_;
  };

  template <class Decide>
  status write_one(side& s, word key, Decide& decide) {
    const writing alone(*this);
    gpu::operations<side> run(s, leased_);
    std::int32_t records = 0;
    status answer;
    std::uint64_t hash = run.hash_of(key);
    if constexpr (at_once) {
      while (!run.try_write(true, hash, decide, answer, records)) s.wait();
      end_kernel(s);
    } else {
      std::scoped_lock staged_by_one(
          staging_);  // as of gpu::map all that is staged is one stream's
      gpu::change c;
      while (!s.try_take(true, hash)) s.wait();
      answer = run.template stage<false>(true, hash, decide, c);
      if (c.word != nullptr) finish({&c, 1}, [&] { run.template commit<false>(hash, c); });
      s.give(hash);
      records = c.records();
    }
    s.add(counted_, {.records = records});
    return answer;
  }

  void write_many(const gpu::batch& b) {
    std::fill_n(b.answers, b.count, gpu::pending);
    bool full = true;
    while (full) {  // ends: the levels have grown, or cannot
      full = false;
      out([&](side& s) {
        const writing alone(*this);
        gpu::batch_run<side> run(s, leased_, b, counted_);
        if constexpr (at_once) {
          run.write(0, 1);
          end_kernel(s);
        } else {
          std::scoped_lock staged_by_one(staging_);
          std::vector<gpu::change> changes(b.count);
          std::vector<std::uint64_t> hashes(b.count);
          const unsigned log2 = gpu::staged_changes::numbers_log2_for(b.count);
          std::vector<std::uint32_t> numbers(std::size_t{1} << log2);
          gpu::staged_changes staged{changes.data(), hashes.data(), numbers.data(), log2,
                                     counted_.staged};
          run.stage(0, 1, staged);
          const std::size_t count = counted_.staged - staged.before;
          finish({changes.data(), count}, [&] { run.commit(0, 1, staged, count); });
        }
        full = std::count(b.answers, b.answers + b.count, status::no_space) != 0;
        if (full) run.retry_full(0, 1);
        return status::ok;
      });
      if (full && grow() != status::ok) return;
    }
  }

  static void end_kernel(side& s) {
    if constexpr (std::is_same_v<Side, loose_side<M>>) s.be_in_memory();
  }

  /// What gpu/map_part.hpp does between the halves of a batch, and after them.
  template <class Commit>
  void finish(std::span<const gpu::change> changes, Commit&& commit) {
    if constexpr (in_mirror) {
      [[maybe_unused]] durable done = gpu::store_changes(medium_, changes, mirror_);
      commit();
    } else {
      [[maybe_unused]] durable payloads = gpu::flush_payloads(medium_, changes);
      commit();
      [[maybe_unused]] durable done = gpu::flush_words(medium_, changes);
    }
  }

  /// By the device, which does nothing else meanwhile.
  status grow() {
    std::scoped_lock lock(engine_);
    nobody_outside();
    lease_out();
    std::optional<gpu::leased_level> top = lender_.lease_top(counted_.records);
    if (top) {
      gpu::leased_level made = in_mirror ? mirror_.add_level(leased_, *top) : *top;
      side s = side_of();
      gpu::tallies before = counted_;
      gpu::batch none{};
      gpu::batch_run<side>(s, leased_, none, counted_)
          .copy_up(0, 1, leased_.bottom_buckets(), made);
      end_kernel(s);
      if (in_mirror)
        static_cast<void>(mirror_.bring_home(
            made, [&](std::uint64_t first, auto words) { lender_.write_top(first, words); }));
      gpu::leased_table grown =
          lender_.put_on_top(counted_.moved - before.moved, counted_.misplaced - before.misplaced);
      leased_ = in_mirror ? mirror_.shown(grown) : grown;
      if (cache_) static_cast<void>(cache_->begin(leased_));
    }
    std::scoped_lock done(gate_);
    at_work_ = false;
    return top ? status::ok : status::no_space;
  }

  side side_of() {
    if constexpr (in_mirror) return side(beside_, turns_);
    else if constexpr (std::is_same_v<Side, loose_side<M>>) return side(medium_, turns_);
    else return side(medium_, turns_, loading_.copies);
  }
  static void wait() {
    if (durahash::turns* t = durahash::turns::current()) t->pass();
    else std::this_thread::yield();
  }

  /// Calls with a warp, the table lent. Several threads may be out at once.
  template <class Call>
  status out(Call&& call) {
    std::uint64_t ticket = 0;
    while (!go_out(ticket)) wait();  // ends when who has the engine is done
    side s = side_of();
    status answer = call(s);
    std::scoped_lock lock(gate_);
    outside_.erase(ticket);
    return answer;
  }

  bool go_out(std::uint64_t& ticket) {
    std::scoped_lock lock(gate_);
    if (at_work_) return false;
    lease_out();
    outside_.insert(ticket = ++tickets_);
    return true;
  }
  bool is_outside(std::uint64_t up_to) {
    std::scoped_lock lock(gate_);
    return !outside_.empty() && *outside_.begin() <= up_to;
  }
  /// Waits for them.
  void those_outside_now() {
    std::uint64_t last = tickets_;  // one that goes out from here on knows what was done before
    while (is_outside(last)) wait();
  }
  /// Beside those who are outside, but not beside a change of the levels.
  void load_copies() {
    if (!cache_ || !engine_.try_lock()) return;
    {
      std::scoped_lock lock(gate_);
      lease_out();
    }
    static_cast<void>(cache_->load());
    engine_.unlock();
  }
  void lease_out() {
    if (std::exchange(leased_out_, true)) return;
    leased_ = *lender_.lend();
    if (cache_) static_cast<void>(cache_->begin(leased_));
    if (!in_mirror) return;
    static_cast<void>(mirror_.copy(leased_));
    leased_ = mirror_.shown(leased_);
  }
  void nobody_outside() {
    {
      std::scoped_lock nobody_new(gate_);
      at_work_ = true;
    }
    while (is_outside(~std::uint64_t{0})) wait();  // ends: nobody new goes out
  }

  /// Calls with the engine at home, and nobody out.
  template <class Call>
  auto in(Call&& call) {
    std::scoped_lock lock(engine_);
    nobody_outside();
    end_lease();
    auto answer = call();
    std::scoped_lock done(gate_);
    at_work_ = false;
    return answer;
  }
  void end_lease() {
    if (leased_out_) lender_.take_back(std::exchange(counted_.records, 0));
    leased_out_ = false;
  }

  pool<M>& pool_;
  M& medium_;
  home home_;
  gphash::lender<home> lender_{home_};
  process_medium beside_;  // what a mirror is
  own_memory own_;
  gpu::mirror mirror_{own_, gpu::memory_kind::own};
  gpu::lockstep_turns turns_;
  gpu::leased_table leased_ = gpu::leased_table::none();
  gpu::tallies counted_;
  turn_mutex gate_, engine_, staging_;
  bool at_work_ = false, leased_out_ = false;  // guarded by gate_
  std::set<std::uint64_t> outside_;            // likewise: by when they went out
  unsigned writers_ = 0;                       // likewise
  std::atomic<std::uint64_t> tickets_{0};
  loading_device loading_;
  std::optional<gpu::cached_buckets> cache_;
};

}  // namespace durahash::crash
