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

struct giving_back {
  std::shared_ptr<device> on;
  array_place place = array_place::host;
  void operator()(std::byte* memory) const { on->free(memory, place); }
};

/// The arrays of a batch: those that the host fills and checks, and those that the device reads and writes, which may be the same.
class batch_arrays {
 public:
  batch_arrays(std::shared_ptr<device> on, std::uint64_t count, array_place place) : on_(std::move(on)), count_(count), host_(make(array_place::host)) {
    if (place == array_place::device) apart_ = make(place);
  }

  struct addresses {
    std::uint64_t *keys, *values;
    status* answers;
  };
  std::uint64_t count() const noexcept { return count_; }
  addresses on_host() const noexcept { return of(host_); }
  addresses on_device() const noexcept { return of(apart_ ? apart_ : host_); }

  /// Of the first n operations: to where the device has them, and back.
  void send(std::size_t n) const {
    addresses from = on_host(), to = on_device();
    if (apart_) copy(to.keys, from.keys, n * 8), copy(to.values, from.values, n * 8), copy(to.answers, from.answers, n);
  }
  void fetch(std::size_t n) const {
    addresses from = on_device(), to = on_host();
    if (apart_) copy(to.values, from.values, n * 8), copy(to.answers, from.answers, n);
  }

 private:
  using memory = std::unique_ptr<std::byte, giving_back>;

  memory make(array_place place) const {
    static_assert(sizeof(status) == 1);
    void* made = on_->allocate(count_ * (8 + 8 + 1), place);
    if (made == nullptr)
      throw failure(status::no_space, fmt::format("no memory {}, for a batch of {}", place == array_place::host ? "that host and device share" : "on the device", count_));
    return {static_cast<std::byte*>(made), {on_, place}};
  }
  addresses of(const memory& all) const noexcept {
    auto* words = reinterpret_cast<std::uint64_t*>(all.get());
    return {words, words + count_, reinterpret_cast<status*>(words + 2 * count_)};
  }
  void copy(void* to, const void* from, std::size_t bytes) const {
    if (status done = on_->copy(to, from, bytes); done != status::ok) throw failure(done, "cannot copy a batch to the device, or its answers from there");
  }

  std::shared_ptr<device> on_;
  std::uint64_t count_;
  memory host_, apart_;
};

class device_pool {
 public:
  device_pool(std::shared_ptr<device> on, gpu::map pool, bool has_cache, array_place arrays_at)
      : on_(std::move(on)), map_(std::make_unique<gpu::map>(std::move(pool))), arrays_at_(arrays_at), has_cache_(has_cache) {
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
  const batch_arrays& arrays_for(std::uint64_t batch) {
    if (!arrays_ || arrays_->count() < batch) arrays_ = std::make_unique<batch_arrays>(on_, batch, arrays_at_);
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
  array_place arrays_at_;
  std::unique_ptr<batch_arrays> arrays_;  // before map_ goes, nobody uses them any more: every batch was waited for
  bool has_cache_;
  std::jthread loads_;  // last: it ends before what it uses
};

template <>
inline result<device_pool> open_table<device_pool>(const request& asked, const options& how) {
  auto opened = asked.on->open(asked.path, how, asked.lending);
  if (!opened) return opened.failure();
  return device_pool(asked.on, std::move(*opened), asked.lending.cache_percent != 0, asked.arrays_at);
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
      status answer = host().answers[i];
      right += answer == status::ok ? meet_value(value_belongs(some[i], host().values[i])) : meet(answer, status::ok);
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
    return meet(run(some, [this](std::size_t n) { return committed(map_.erase_async(n, there().keys, there().answers)); }), status::ok);
  }

 private:
  std::span<const status> look_up(keys some) {
    for (std::size_t i = 0; i < some.size(); ++i) host().values[i] = ~some[i];  // belongs to no generation of that key
    return run(some, [this](std::size_t n) { return committed(map_.find_async(n, there().keys, there().values, there().answers)); });
  }
  template <class Batch>
  std::span<const status> write(keys some, generation g, Batch batch) {
    for (std::size_t i = 0; i < some.size(); ++i) host().values[i] = value_of(some[i], g);
    return run(some, [&](std::size_t n) { return batch(n, there().keys, there().values, there().answers); });
  }

  template <class Batch>
  std::span<const status> run(keys some, Batch batch) {
    if (some.empty()) return {};
    std::copy(some.begin(), some.end(), host().keys);
    std::fill_n(host().answers, some.size(), status::closed);  // which no batch answers
    arrays_.send(some.size());
    ticks began = ordered_ticks();
    status done = batch(some.size());
    at_work_ += ordered_ticks() - began;
    if (done != status::ok && done != status::no_space) refuse(done);  // no_space stands in the answers, too
    arrays_.fetch(some.size());
    return {host().answers, some.size()};
  }
  batch_arrays::addresses host() const noexcept { return arrays_.on_host(); }
  batch_arrays::addresses there() const noexcept { return arrays_.on_device(); }
  status committed(status taken) { return taken == status::ok ? map_.commit() : taken; }

  [[noreturn]] void refuse(status done) {
    std::string why;
    map_.commit(nullptr, &why);  // a device that failed says it again
    throw failure(done, why.empty() ? std::string(message(done)) : why);
  }

  gpu::map& map_;
  const batch_arrays& arrays_;
  ticks at_work_ = 0;
};

}  // namespace durahash::bench
