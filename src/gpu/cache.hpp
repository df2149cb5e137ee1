// The host's part of BktCache on a device (gpu/bucket_copies.hpp): its memory, and its loads, each
// on a stream of its own beside finds and writes.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/gphash/bucket_choice.hpp"
#include "gpu/device.hpp"

namespace durahash::gpu {

static_assert(static_cast<int>(cache_policy::lru) ==
                  static_cast<int>(gphash::replacement_policy::lru) &&
              static_cast<int>(cache_policy::random) ==
                  static_cast<int>(gphash::replacement_policy::random));

class cached_buckets {
 public:
  cached_buckets(copies_device& d, unsigned percent, cache_policy policy)
      : device_(d), percent_(percent), choice_(static_cast<gphash::replacement_policy>(policy)) {}
  ~cached_buckets() { give_back(); }
  cached_buckets(const cached_buckets&) = delete;

  /// For these levels, empty. Nobody reads or writes meanwhile.
  error begin(const leased_table& table) {
    give_back();
    table_ = table;
    buckets_ = table.buckets();
    bucket_copies made;
    count_ = static_cast<std::uint32_t>(std::min(buckets_ * percent_ / 100, gphash::max_copies));
    made.copy_of = of_zeros<std::uint32_t>(buckets_);
    made.marks = of_zeros<std::uint32_t>(buckets_);
    made.states = of_zeros<copy_state>(count_);
    made.words = of_zeros<std::uint64_t>(std::uint64_t{count_} * table.words_per_bucket());
    made.by_time = choice_.by_time();
    copies_ = made;
    tasks_ = static_cast<copy_task*>(
        device_.allocate(std::max<std::size_t>(count_, 1) * sizeof(copy_task)));
    for (void* part : {static_cast<void*>(made.copy_of), static_cast<void*>(made.marks),
                       static_cast<void*>(made.states), static_cast<void*>(made.words),
                       static_cast<void*>(tasks_)})
      if (part == nullptr)
        return give_back(),
               error{status::no_space, "no memory on the device for copies of " +
                                           std::to_string(percent_) + " % of the buckets"};
    bucket_.assign(count_, no_bucket);
    device_.use_copies(copies_);
    return {status::ok, {}};
  }

  /// Copies of the buckets that are looked at most by now, in place of others.
  error load() {
    if (copies_.copy_of == nullptr) return {status::ok, {}};
    std::vector<std::uint32_t> marks(buckets_);
    if (error e = device_.copy(marks.data(), copies_.marks, buckets_ * sizeof(std::uint32_t));
        e.code != status::ok)
      return e;
    std::vector<bool> chosen = choice_.choose(marks, count_);
    std::vector<std::uint32_t> free;
    std::uint32_t tasks = 0;
    for (std::uint32_t n = 0; n < count_; ++n) {
      std::uint64_t& bucket = bucket_[n];
      if (bucket != no_bucket && chosen[bucket]) {
        chosen[bucket] = false;  // it has one
        continue;
      }
      if (bucket != no_bucket) tasks_[tasks++] = {n + 1, bucket};
      bucket = no_bucket;
      free.push_back(n);
    }
    if (error e = run(copies_step::retire, tasks); e.code != status::ok) return e;
    tasks = 0;
    for (std::uint64_t bucket = 0; bucket < buckets_ && !free.empty(); ++bucket) {
      if (!chosen[bucket]) continue;
      bucket_[free.back()] = bucket;
      tasks_[tasks++] = {free.back() + 1, bucket};
      free.pop_back();
    }
    if (error e = run(copies_step::name, tasks); e.code != status::ok) return e;
    // who starts from here on knows of them (B3)
    if (error e = tasks == 0 ? error{status::ok, {}} : device_.wait_for_all(); e.code != status::ok)
      return e;
    if (error e = run(copies_step::fill, tasks); e.code != status::ok) return e;
    in_use_ = count_ - static_cast<std::uint32_t>(free.size());
    ++loads_;
    return choice_.by_looks() ? age(marks) : error{status::ok, {}};
  }

  /// All copies anew: nobody reads, and somebody who knows nothing of them has written.
  error refresh() {
    std::uint32_t tasks = 0;
    for (std::uint32_t n = 0; n < bucket_.size() && copies_.copy_of != nullptr; ++n)
      if (bucket_[n] != no_bucket) tasks_[tasks++] = {n + 1, bucket_[n]};
    return run(copies_step::fill, tasks);
  }

  std::uint64_t copies() const noexcept { return in_use_; }
  std::uint64_t loads() const noexcept { return loads_; }

 private:
  static constexpr std::uint64_t no_bucket = ~std::uint64_t{0};

  template <class T>
  T* of_zeros(std::uint64_t count) {
    std::uint64_t bytes = std::max<std::uint64_t>(count, 1) * sizeof(T);
    void* memory = device_.allocate(bytes, memory_kind::own);
    if (memory != nullptr) device_.clear(memory, bytes);
    return static_cast<T*>(memory);
  }
  error run(copies_step step, std::uint32_t tasks) {
    if (tasks == 0) return {status::ok, {}};
    device_.run_copies(step, table_, tasks_, tasks, device_.stream_for_copies());
    return device_.wait(device_.stream_for_copies());
  }
  /// Half of what there was at the load; looks counted since stay.
  error age(std::vector<std::uint32_t>& seen) {
    std::vector<std::uint32_t> now(buckets_);
    if (error e = device_.copy(now.data(), copies_.marks, buckets_ * sizeof(std::uint32_t));
        e.code != status::ok)
      return e;
    for (std::uint64_t bucket = 0; bucket < buckets_; ++bucket) now[bucket] -= seen[bucket] / 2;
    // looks in between are lost: marks are no promise
    return device_.copy(copies_.marks, now.data(), buckets_ * sizeof(std::uint32_t));
  }
  void give_back() {
    device_.use_copies({});
    for (void* part : {static_cast<void*>(copies_.copy_of), static_cast<void*>(copies_.marks),
                       static_cast<void*>(copies_.states), static_cast<void*>(copies_.words)})
      device_.free(part, memory_kind::own);
    device_.free(std::exchange(tasks_, nullptr), memory_kind::shared);
    copies_ = {};
    in_use_ = 0;
  }

  copies_device& device_;
  unsigned percent_;
  gphash::bucket_choice choice_;
  leased_table table_ = leased_table::none();
  bucket_copies copies_;
  copy_task* tasks_ = nullptr;
  std::uint64_t buckets_ = 0;
  std::uint32_t count_ = 0, in_use_ = 0;
  std::uint64_t loads_ = 0;
  std::vector<std::uint64_t> bucket_;  // by copy
};

}  // namespace durahash::gpu
