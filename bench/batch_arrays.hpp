// The arrays of a batch, for a device.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <span>
#include <string>

#include "bench/client.hpp"
#include "bench/clock.hpp"
#include "bench/device.hpp"
#include "bench/request.hpp"
#include "bench/scratch_pool.hpp"

namespace durahash::bench {

struct giving_back {
  std::shared_ptr<device> on;
  array_place place = array_place::host;
  void operator()(std::byte* memory) const { on->free(memory, place); }
};

/// Those that the host fills and checks, and those that the device reads and writes, which may be
/// the same.
class batch_arrays {
 public:
  batch_arrays(std::shared_ptr<device> on, std::uint64_t count, const record_shape& shape,
               array_place place)
      : on_(std::move(on)), count_(count), shape_(shape), host_(make(array_place::host)) {
    if (place == array_place::device) apart_ = make(place);
  }

  struct addresses {
    std::byte *keys, *values;
    status* answers;
  };
  std::uint64_t count() const noexcept { return count_; }
  addresses on_host() const noexcept { return of(host_); }
  addresses on_device() const noexcept { return of(apart_ ? apart_ : host_); }

  /// Of the first n operations: to where the device has them, and back.
  void send(std::size_t n) const {
    addresses from = on_host(), to = on_device();
    if (apart_)
      copy(to.keys, from.keys, n * shape_.key_bytes),
          copy(to.values, from.values, n * shape_.value_bytes), copy(to.answers, from.answers, n);
  }
  void fetch(std::size_t n) const {
    addresses from = on_device(), to = on_host();
    if (apart_)
      copy(to.values, from.values, n * shape_.value_bytes), copy(to.answers, from.answers, n);
  }

 private:
  using memory = std::unique_ptr<std::byte, giving_back>;

  memory make(array_place place) const {
    static_assert(sizeof(status) == 1);
    void* made = on_->allocate(count_ * (shape_.key_bytes + shape_.value_bytes + 1), place);
    if (made == nullptr)
      throw failure(
          status::no_space,
          fmt::format("no memory {}, for a batch of {}",
                      place == array_place::host ? "that host and device share" : "on the device",
                      count_));
    return {static_cast<std::byte*>(made), {on_, place}};
  }
  addresses of(const memory& all) const noexcept {
    std::byte* values = all.get() + count_ * shape_.key_bytes;
    return {all.get(), values, reinterpret_cast<status*>(values + count_ * shape_.value_bytes)};
  }
  void copy(void* to, const void* from, std::size_t bytes) const {
    if (status done = on_->copy(to, from, bytes); done != status::ok)
      throw failure(done, "cannot copy a batch to the device, or its answers from there");
  }

  std::shared_ptr<device> on_;
  std::uint64_t count_;
  record_shape shape_;
  memory host_, apart_;
};

/// The arrays that batches of a pool's life have in turn: for so many operations at most. They stay
/// until a larger batch comes.
class batch_store {
 public:
  batch_store(std::shared_ptr<device> on, const record_shape& shape, array_place place)
      : on_(std::move(on)), shape_(shape), place_(place) {}
  const batch_arrays& arrays_for(std::uint64_t batch) {
    if (!arrays_ || arrays_->count() < batch)
      arrays_ = std::make_unique<batch_arrays>(on_, batch, shape_, place_);
    return *arrays_;
  }

 private:
  std::shared_ptr<device> on_;
  record_shape shape_;
  array_place place_;
  std::unique_ptr<batch_arrays> arrays_;
};

/// What client on a device share: arrays, and a clock that runs from the call of a batch until its
/// answers are final.
class timed_batches : public expectations {
 public:
  using keys = std::span<const std::uint64_t>;

  explicit timed_batches(const batch_arrays& arrays) : arrays_(arrays) {}
  ticks clock() const noexcept { return at_work_; }

 protected:
  /// Calls batch(n), with the arrays filled; `why` tells a failure's words. Returns the answers.
  template <class Batch, class Why>
  std::span<const status> run(std::size_t n, Batch&& batch, Why&& why) {
    std::fill_n(host().answers, n, status::closed);  // which no batch answers
    arrays_.send(n);
    ticks began = ordered_ticks();
    status done = batch(n);
    at_work_ += ordered_ticks() - began;
    if (done != status::ok && done != status::no_space) {  // no_space stands in the answers, too
      std::string words = why();
      throw failure(done, words.empty() ? std::string(message(done)) : words);
    }
    arrays_.fetch(n);
    return {host().answers, n};
  }
  batch_arrays::addresses host() const noexcept { return arrays_.on_host(); }
  batch_arrays::addresses there() const noexcept { return arrays_.on_device(); }

 private:
  const batch_arrays& arrays_;
  ticks at_work_ = 0;
};

}  // namespace durahash::bench
