// A pool on a device, and one thread's hands on it.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <span>
#include <thread>

#include "bench/clock.hpp"
#include "bench/hands.hpp"
#include "bench/outcome.hpp"
#include "bench/scratch_pool.hpp"

namespace durahash::bench {

/// The arrays of a batch, in host memory that the device reads and writes, too.
class shared_arrays {
 public:
  shared_arrays(std::shared_ptr<device> on, std::uint64_t count)
      : count_(count), keys_(make<std::uint64_t>(on, count)), values_(make<std::uint64_t>(on, count)), answers_(make<status>(on, count)) {}

  std::uint64_t count() const noexcept { return count_; }
  std::uint64_t* keys() const noexcept { return keys_.get(); }
  std::uint64_t* values() const noexcept { return values_.get(); }
  status* answers() const noexcept { return answers_.get(); }

 private:
  struct giving_back {
    std::shared_ptr<device> on;
    void operator()(void* memory) const { on->free(memory); }
  };
  template <class T>
  using array = std::unique_ptr<T, giving_back>;

  template <class T>
  static array<T> make(const std::shared_ptr<device>& on, std::uint64_t count) {
    void* memory = on->allocate(count * sizeof(T));
    if (memory == nullptr) throw failure(status::no_space, fmt::format("no memory that host and device share, for a batch of {}", count));
    return {static_cast<T*>(memory), {on}};
  }

  std::uint64_t count_;
  array<std::uint64_t> keys_, values_;
  array<status> answers_;
};

class device_pool {
 public:
  device_pool(std::shared_ptr<device> on, gpu::map pool, bool has_cache)
      : on_(std::move(on)), map_(std::make_unique<gpu::map>(std::move(pool))), has_cache_(has_cache) {
    if (has_cache) loads_ = std::jthread([m = map_.get()](const std::stop_token& stop) { load_again_and_again(*m, stop); });
  }

  gpu::map& map() noexcept { return *map_; }
  pool_info info() { return map_->info(); }
  status reserve(std::uint64_t records) { return map_->reserve(records); }
  device_facts facts() {
    device_facts all{map_->place(), {}};
    auto cache = map_->cache();
    if (has_cache_) all.cache_hit_rate = cache.looks == 0 ? 0 : static_cast<double>(cache.hits) / static_cast<double>(cache.looks);
    return all;
  }

  /// For batches of so many at most. They stay until the pool goes, or a larger batch comes.
  const shared_arrays& arrays_for(std::uint64_t batch) {
    if (!arrays_ || arrays_->count() < batch) arrays_ = std::make_unique<shared_arrays>(on_, batch);
    return *arrays_;
  }

 private:
  /// Beside the batches, as a server would.
  static void load_again_and_again(gpu::map& m, const std::stop_token& stop) {
    constexpr std::chrono::milliseconds pause(20);
    while (!stop.stop_requested() && m.load_cache() == status::ok) std::this_thread::sleep_for(pause);
  }

  std::shared_ptr<device> on_;
  std::unique_ptr<gpu::map> map_;
  std::unique_ptr<shared_arrays> arrays_;  // before map_ goes, nobody uses them any more: every batch was waited for
  bool has_cache_;
  std::jthread loads_;  // last: it ends before what it uses
};

template <>
inline result<device_pool> open_table<device_pool>(const request& asked, const options& how) {
  auto opened = asked.on->open(asked.path, how, asked.lending);
  if (!opened) return opened.failure();
  return device_pool(asked.on, std::move(*opened), asked.lending.cache_percent != 0);
}

/// Batches of words. The clock of these hands runs from the call of a batch until its answers are final: launch, kernels, commit, and growth where it was needed.
/// Filling the arrays before and checking them after is the host's work, and not in it.
class device_hands : public expectations {
 public:
  using keys = std::span<const std::uint64_t>;

  device_hands(device_pool& pool, const record_shape&, std::uint64_t batch) : map_(pool.map()), arrays_(pool.arrays_for(batch)) {}

  ticks clock() const noexcept { return at_work_; }

  std::uint64_t get_many(keys some) {
    look_up(some);
    std::uint64_t right = 0;
    for (std::size_t i = 0; i < some.size(); ++i) {
      status answer = arrays_.answers()[i];
      right += answer == status::ok ? meet_value(value_belongs(some[i], arrays_.values()[i])) : meet(answer, status::ok);
    }
    return right;
  }
  std::uint64_t get_absent_many(keys some) { return meet(look_up(some), status::not_found); }

  std::uint64_t put_many(keys some, generation g) {
    return meet(write(some, g, [this](auto... batch) { return map_.put(batch...); }), status::ok);
  }
  std::uint64_t insert_many(keys some, generation g) {
    return meet(write(some, g, [this](auto... batch) { return map_.insert(batch...); }), status::ok);
  }
  std::uint64_t update_many(keys some, generation g) {
    return meet(write(some, g, [this](auto... batch) { return committed(map_.update_async(batch...)); }), status::ok);
  }
  std::uint64_t erase_many(keys some) {
    return meet(run(some, [this](std::size_t n) { return committed(map_.erase_async(n, arrays_.keys(), arrays_.answers())); }), status::ok);
  }

 private:
  std::span<const status> look_up(keys some) {
    for (std::size_t i = 0; i < some.size(); ++i) arrays_.values()[i] = ~some[i];  // belongs to no generation of that key
    return run(some, [this](std::size_t n) { return committed(map_.find_async(n, arrays_.keys(), arrays_.values(), arrays_.answers())); });
  }
  template <class Batch>
  std::span<const status> write(keys some, generation g, Batch batch) {
    for (std::size_t i = 0; i < some.size(); ++i) arrays_.values()[i] = value_of(some[i], g);
    return run(some, [&](std::size_t n) { return batch(n, arrays_.keys(), arrays_.values(), arrays_.answers()); });
  }

  template <class Batch>
  std::span<const status> run(keys some, Batch batch) {
    if (some.empty()) return {};
    std::copy(some.begin(), some.end(), arrays_.keys());
    std::fill_n(arrays_.answers(), some.size(), status::closed);  // which no batch answers
    ticks began = ordered_ticks();
    status done = batch(some.size());
    at_work_ += ordered_ticks() - began;
    if (done != status::ok && done != status::no_space) refuse(done);  // no_space stands in the answers, too
    return {arrays_.answers(), some.size()};
  }
  status committed(status taken) { return taken == status::ok ? map_.commit() : taken; }

  [[noreturn]] void refuse(status done) {
    std::string why;
    map_.commit(nullptr, &why);  // a device that failed says it again
    throw failure(done, why.empty() ? std::string(message(done)) : why);
  }

  gpu::map& map_;
  const shared_arrays& arrays_;
  ticks at_work_ = 0;
};

}  // namespace durahash::bench
