// A pool on a device, and one thread's client on it.
#pragma once

#include <memory>

#include "bench/device_cache.hpp"

namespace durahash::bench {

class device_pool {
 public:
  device_pool(std::shared_ptr<device> on, gpu::map pool, bool has_cache, array_place arrays_at)
      : map_(std::make_unique<gpu::map>(std::move(pool))),
        arrays_(std::move(on), record_shape{}, arrays_at),
        cache_(*map_, has_cache) {}

  gpu::map& map() noexcept { return *map_; }
  pool_info info() { return map_->info(); }
  status reserve(std::uint64_t records) { return map_->reserve(records); }
  device_facts facts() { return {map_->place(), cache_.hit_rate()}; }

  const batch_arrays& arrays_for(std::uint64_t batch) { return arrays_.arrays_for(batch); }

 private:
  std::unique_ptr<gpu::map> map_;
  batch_store arrays_;  // before map_ goes, nobody uses them any more: every batch was waited for
  device_cache<gpu::map> cache_;  // last: it ends before what it uses
};

template <>
inline result<device_pool> open_table<device_pool>(const request& asked, const options& how) {
  auto opened = asked.on->open(asked.path, how, asked.lending);
  if (!opened) return opened.failure();
  return device_pool(asked.on, std::move(*opened), asked.lending.cache_percent != 0,
                     asked.arrays_at);
}

/// Batches of words. What is timed is launch, kernels, commit, and growth where it was needed;
/// filling the arrays before and checking them after is the host's work.
class device_client : public timed_batches {
 public:
  device_client(device_pool& pool, const record_shape&, std::uint64_t batch)
      : timed_batches(pool.arrays_for(batch)), map_(pool.map()) {}

  std::uint64_t get_many(keys some) {
    look_up(some);
    std::uint64_t right = 0;
    for (std::size_t i = 0; i < some.size(); ++i) {
      status answer = host().answers[i];
      right += answer == status::ok ? meet_value(value_belongs(some[i], words_of(host().values)[i]))
                                    : meet(answer, status::ok);
    }
    return right;
  }
  std::uint64_t get_absent_many(keys some) { return meet(look_up(some), status::not_found); }

  std::uint64_t put_many(keys some, generation g) {
    return meet(write(some, g, [this](auto... batch) { return map_.put(batch...); }), status::ok);
  }
  std::uint64_t insert_many(keys some, generation g) {
    return meet(write(some, g, [this](auto... batch) { return map_.insert(batch...); }),
                status::ok);
  }
  std::uint64_t update_many(keys some, generation g) {
    return meet(
        write(some, g, [this](auto... batch) { return committed(map_.update_async(batch...)); }),
        status::ok);
  }
  std::uint64_t erase_many(keys some) {
    return meet(
        run(some,
            [this](std::size_t n) {
              return committed(map_.erase_async(n, words_of(there().keys), there().answers));
            }),
        status::ok);
  }

 private:
  static std::uint64_t* words_of(std::byte* array) noexcept {
    return reinterpret_cast<std::uint64_t*>(array);
  }
  std::span<const status> look_up(keys some) {
    // belongs to no generation of that key
    for (std::size_t i = 0; i < some.size(); ++i) words_of(host().values)[i] = ~some[i];
    return run(some, [this](std::size_t n) {
      return committed(
          map_.find_async(n, words_of(there().keys), words_of(there().values), there().answers));
    });
  }
  template <class Batch>
  std::span<const status> write(keys some, generation g, Batch batch) {
    for (std::size_t i = 0; i < some.size(); ++i) words_of(host().values)[i] = value_of(some[i], g);
    return run(some, [&](std::size_t n) {
      return batch(n, words_of(there().keys), words_of(there().values), there().answers);
    });
  }
  template <class Batch>
  std::span<const status> run(keys some, Batch batch) {
    if (some.empty()) return {};
    std::copy(some.begin(), some.end(), words_of(host().keys));
    return timed_batches::run(some.size(), batch, [this] {
      std::string why;
      map_.commit(nullptr, &why);  // a device that failed says it again
      return why;
    });
  }
  status committed(status taken) { return taken == status::ok ? map_.commit() : taken; }

  gpu::map& map_;
};

}  // namespace durahash::bench
