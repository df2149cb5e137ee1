// A pool of rows that a device looks up and writes, and one thread's client on it.
#pragma once

#include <cstring>
#include <memory>

#include "bench/device_cache.hpp"

namespace durahash::bench {

class device_rows {
 public:
  device_rows(std::shared_ptr<device> on, gpu::table pool, bool has_cache,
              const record_shape& shape, array_place arrays_at)
      : table_(std::make_unique<gpu::table>(std::move(pool))),
        arrays_(std::move(on), shape, arrays_at),
        cache_(*table_, has_cache) {}

  gpu::table& table() noexcept { return *table_; }
  pool_info info() { return table_->info(); }
  status reserve(std::uint64_t records) { return table_->reserve(records); }
  device_facts facts() { return {table_->place(), cache_.hit_rate()}; }
  const batch_arrays& arrays_for(std::uint64_t batch) { return arrays_.arrays_for(batch); }

 private:
  std::unique_ptr<gpu::table> table_;
  batch_store arrays_;
  device_cache<gpu::table> cache_;  // last: it ends before what it uses
};

/// Keys of 8 bytes are words in front of their values, if the settings do not say otherwise; longer
/// ones lie in their buckets.
template <>
inline result<device_rows> open_table<device_rows>(const request& asked, const options& how) {
  options with_keys = how;
  if (asked.shape.key_bytes != sizeof(std::uint64_t))
    with_keys.settings["key_bytes"] = asked.shape.key_bytes;
  else if (!how.settings.contains("key_bytes")) with_keys.key = data_kind::u64;
  auto opened = asked.on->open_rows(asked.path, with_keys, asked.lending);
  if (!opened) return opened.failure();
  return device_rows(asked.on, std::move(*opened), asked.lending.cache_percent != 0, asked.shape,
                     asked.arrays_at);
}

/// Batches of rows, as bytes_client has them: the word, then a filling. Timed are launches,
/// kernels, and what the processor does for writes.
class row_client : public timed_batches {
 public:
  row_client(device_rows& pool, const record_shape& shape, std::uint64_t batch)
      : timed_batches(pool.arrays_for(batch)), table_(pool.table()), shape_(shape) {
    std::memset(host().keys, 'k', batch * shape.key_bytes);
    std::memset(host().values, 'v', batch * shape.value_bytes);
  }

  std::uint64_t get_many(keys some) {
    look_up(some);
    std::uint64_t right = 0;
    for (std::size_t i = 0; i < some.size(); ++i) {
      status answer = host().answers[i];
      std::uint64_t word = value_of(some[i], 0);  // values too short to tell
      if (has_words()) std::memcpy(&word, value(i), sizeof word);
      right += answer == status::ok ? meet_value(value_belongs(some[i], word))
                                    : meet(answer, status::ok);
    }
    return right;
  }
  std::uint64_t get_absent_many(keys some) { return meet(look_up(some), status::not_found); }

  std::uint64_t put_many(keys some, generation g) {
    return meet(write(some, g, [this](auto... batch) { return table_.put(batch...); }), status::ok);
  }
  std::uint64_t insert_many(keys some, generation g) {
    return meet(write(some, g, [this](auto... batch) { return table_.insert(batch...); }),
                status::ok);
  }
  std::uint64_t update_many(keys some, generation g) {
    return meet(write(some, g, [this](auto... batch) { return table_.update(batch...); }),
                status::ok);
  }
  std::uint64_t erase_many(keys some) {
    return meet(
        run(some, [this](std::size_t n) { return table_.erase(n, there().keys, there().answers); }),
        status::ok);
  }

 private:
  bool has_words() const noexcept { return shape_.value_bytes >= sizeof(std::uint64_t); }
  std::byte* value(std::size_t i) const noexcept { return host().values + i * shape_.value_bytes; }
  void set_value(std::size_t i, std::uint64_t word) const {
    std::memcpy(value(i), &word, std::min(shape_.value_bytes, sizeof word));
  }
  std::span<const status> look_up(keys some) {
    // belongs to no generation of that key
    for (std::size_t i = 0; i < some.size(); ++i) set_value(i, ~some[i]);
    return run(some, [this](std::size_t n) {
      status taken =
          table_.find_async(n, there().keys, there().values, shape_.value_bytes, there().answers);
      return taken == status::ok ? table_.wait() : taken;
    });
  }
  template <class Batch>
  std::span<const status> write(keys some, generation g, Batch batch) {
    for (std::size_t i = 0; i < some.size(); ++i) set_value(i, value_of(some[i], g));
    return run(some, [&](std::size_t n) {
      return batch(n, there().keys, there().values, shape_.value_bytes, there().answers);
    });
  }
  template <class Batch>
  std::span<const status> run(keys some, Batch batch) {
    if (some.empty()) return {};
    for (std::size_t i = 0; i < some.size(); ++i)
      std::memcpy(host().keys + i * shape_.key_bytes, &some[i], sizeof some[i]);
    auto why = [this] {
      std::string words;
      table_.wait(nullptr, &words);
      return words;
    };
    auto shown = [&](std::size_t n) {
      status done = batch(n);
      // a mirror's: the answers do not tell
      return done == status::no_space ? status::io_error : done;
    };
    return timed_batches::run(some.size(), shown, why);
  }

  gpu::table& table_;
  record_shape shape_;
};

}  // namespace durahash::bench
