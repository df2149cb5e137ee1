// GPHash as a device works on it: every operation is gpu/operations.hpp in lockstep, each thread a warp. The engine has it back for everything else.
#pragma once

#include <cstdlib>
#include <cstring>

#include "gpu/lockstep_side.hpp"
#include "gpu/split_commit.hpp"
#include "media/process_medium.hpp"
#include "table/gphash/table.hpp"

namespace durahash::crash {

/// A device whose stores reach memory in any order but where it orders them: what is left when a process dies within a kernel.
template <medium M>
class loose_side : public gpu::lockstep_side<M> {
 public:
  loose_side(M& m, const gpu::lockstep_turns& turns) noexcept : gpu::lockstep_side<M>(m, turns), medium_(m) {}
  void store(pm<std::uint64_t>& at, std::uint64_t value) noexcept {
    gpu::lockstep_side<M>::store(at, value);
    stored_.push_back(&at);
  }
  bool store_if(pm<std::uint64_t>& at, std::uint64_t old, std::uint64_t value) noexcept {
    stored_.push_back(&at);
    return gpu::lockstep_side<M>::store_if(at, old, value);
  }
  void order() {
    flushed started;
    for (pm<std::uint64_t>* at : stored_) started += flush(medium_, extent_of(*at));
    stored_.clear();
    [[maybe_unused]] durable in_order = fence(medium_, std::move(started));
  }

 private:
  M& medium_;
  std::vector<pm<std::uint64_t>*> stored_;
};

/// The device's own memory, for a mirror: no part of the pool, so that no crash leaves anything of it.
class own_memory final : public gpu::device_memory {
 public:
  void* allocate(std::size_t length, gpu::memory_kind) override { return std::aligned_alloc(line_bytes, align_up(length, line_bytes)); }
  void free(void* memory, gpu::memory_kind) override { std::free(memory); }
  void clear(void* memory, std::size_t length) override { std::memset(memory, 0, length); }
  error copy(void* to, const void* from, std::size_t length) override { return std::memcpy(to, from, length), error{status::ok, {}}; }
};
using side_of_a_mirror = gpu::lockstep_side<process_medium>;

template <medium M, class Side = gpu::lockstep_side<M>>
class lent_table {
  using home = gphash::table<M, word_records>;
  using side = Side;
  static constexpr bool in_mirror = std::is_same_v<Side, side_of_a_mirror>;
  static constexpr bool at_once = !in_mirror && (M::visible_is_durable || std::is_same_v<Side, loose_side<M>>);

 public:
  using kind = word_records;
  using word = std::uint64_t;

  static result<engine_plan> plan(const options& how) { return home::plan(how); }
  explicit lent_table(pool<M>& p) : medium_(p.medium()), home_(p) {}
  ~lent_table() { come_home(); }
  error open(const std::string& path, std::vector<std::string>* dropped = nullptr) { return home_.open(path, dropped); }

  template <class Read>
  status get(word key, Read&& read) {
    word value = 0;
    status found = out([&](side& s) { return gpu::operations<side>(s, lent_).find(key, value); });
    if (found == status::ok) read(value);
    return found;
  }
  template <class Read>
  void get_many(std::span<const word> keys, Read&& read, status* answers) {
    std::vector<word> values(keys.size());
    gpu::batch b{gpu::action::find, keys.size(), keys.data(), values.data(), answers};
    out([&](side& s) { return gpu::batch_run<side>(s, lent_, b, counted_).find(0, 1), status::ok; });
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
  void erase_many(std::span<const word> keys, status* answers) { write_many({gpu::action::erase, keys.size(), keys.data(), nullptr, answers}); }

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
    come_home();
    return home_.close();
  }
  void check(check_report& report) {
    in([&] { return home_.check(report), status::ok; });
  }
  void describe(table_stats& stats) { home_.describe(stats); }

 private:
  template <class Decide>
  status write_one(side& s, word key, Decide& decide) {
    gpu::operations<side> run(s, lent_);
    std::int32_t records = 0;
    status answer;
    if constexpr (at_once) {
      answer = run.write(key, decide, records);
    } else {
      gpu::change c;
      s.take(run.hash_of(key));
      answer = run.stage(key, decide, c);
      if (c.word != nullptr) {
        finish({&c, 1}, [&] { run.commit(c); });
      }
      s.give(run.hash_of(key));
      records = c.records;
    }
    s.add(counted_, {records, 0, 0});
    return answer;
  }

  void write_many(const gpu::batch& b) {
    std::fill_n(b.answers, b.count, gpu::pending);
    std::ptrdiff_t waiting = 0;
    while (true) {  // ends: in each round an operation of every stripe is done, or the levels have grown
      bool again = false, full = false;
      out([&](side& s) {
        gpu::batch_run<side> run(s, lent_, b, counted_);
        if constexpr (at_once) {
          run.write(0, 1);
        } else {
          std::vector<gpu::change> changes(b.count);
          run.stage(0, 1, changes.data());
          finish(changes, [&] { run.commit(0, 1, changes.data()); });
        }
        for (std::size_t i = 0; i < b.count; ++i) again |= b.answers[i] == gpu::pending, full |= b.answers[i] == status::no_space;
        if (full) run.retry_full(0, 1);
        return status::ok;
      });
      if (full && grow() != status::ok) return;
      if (!again && !full) return;
      auto left = std::count(b.answers, b.answers + b.count, gpu::pending);
      if (std::exchange(waiting, left) == left && !full) wait();  // other threads hold the stripes of all
    }
  }

  /// What gpu/map.cpp does between the halves of a batch, and after them.
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
    lend_out();
    std::optional<gpu::lent_level> top = home_.lend_top(counted_.records);
    if (top) {
      gpu::lent_level made = in_mirror ? mirror_.add_level(lent_, *top) : *top;
      side s = side_of();
      gpu::tallies before = counted_;
      gpu::batch none{};
      gpu::batch_run<side>(s, lent_, none, counted_).copy_up(0, 1, lent_.bottom_buckets(), made);
      if constexpr (std::is_same_v<Side, loose_side<M>>) s.order();
      if (in_mirror)
        static_cast<void>(mirror_.bring_home(made, [&](std::uint64_t first, auto words) { home_.write_top(first, words); }));
      gpu::lent_table grown = home_.put_on_top(counted_.moved - before.moved, counted_.misplaced - before.misplaced);
      lent_ = in_mirror ? mirror_.shown(grown) : grown;
    }
    std::scoped_lock done(gate_);
    at_work_ = false;
    return top ? status::ok : status::no_space;
  }

  side side_of() {
    if constexpr (in_mirror)
      return side(beside_, turns_);
    else
      return side(medium_, turns_);
  }
  static void wait() {
    if (durahash::turns* t = durahash::turns::current())
      t->pass();
    else
      std::this_thread::yield();
  }

  /// Calls with a warp, the table lent. Several threads may be out at once.
  template <class Call>
  status out(Call&& call) {
    while (!go_out()) wait();  // ends when who has the engine is done
    side s = side_of();
    status answer = call(s);
    --outside_;
    return answer;
  }

  bool go_out() {
    std::scoped_lock lock(gate_);
    if (at_work_) return false;
    lend_out();
    ++outside_;
    return true;
  }
  void lend_out() {
    if (std::exchange(lent_out_, true)) return;
    lent_ = home_.lend();
    if (!in_mirror) return;
    static_cast<void>(mirror_.copy(lent_));
    lent_ = mirror_.shown(lent_);
  }
  void nobody_outside() {
    {
      std::scoped_lock nobody_new(gate_);
      at_work_ = true;
    }
    while (outside_ != 0) wait();  // ends: nobody new goes out
  }

  /// Calls with the engine at home, and nobody out.
  template <class Call>
  auto in(Call&& call) {
    std::scoped_lock lock(engine_);
    nobody_outside();
    come_home();
    auto answer = call();
    std::scoped_lock done(gate_);
    at_work_ = false;
    return answer;
  }
  void come_home() {
    if (lent_out_) home_.take_back(std::exchange(counted_.records, 0));
    lent_out_ = false;
  }

  M& medium_;
  home home_;
  process_medium beside_;  // what a mirror is
  own_memory own_;
  gpu::mirror mirror_{own_, gpu::memory_kind::own};
  gpu::lockstep_turns turns_;
  gpu::lent_table lent_ = gpu::lent_table::none();
  gpu::tallies counted_;
  turn_mutex gate_, engine_;
  bool at_work_ = false, lent_out_ = false;  // guarded by gate_
  std::atomic<int> outside_{0};
};

}  // namespace durahash::crash
