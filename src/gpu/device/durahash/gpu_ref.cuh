// A durahash pool within CUDA kernels of one's own. For nvcc with --expt-relaxed-constexpr and
// C++20; link durahash::device.
#pragma once

#include "durahash/gpu_table.hpp"
#include "gpu/cuda_side.cuh"
#include "gpu/device_view.hpp"
#include "gpu/rows.hpp"

namespace durahash::gpu {

/// A handle to an open map, to be passed to kernels by value. Good until something is called on the
/// map that waits for the device (gpu.hpp) or grows it: kernels that have the handle are done by
/// then, and a new one is taken after that.
///
/// Every function is called by all 32 threads of a warp, with the same arguments, and all get the
/// answer: one warp does one operation (GPHash §3.1), or its part of a visit.
///
/// Cost      find: the key's buckets, at most 32 slots in one go; writes besides one line written,
///           two with buckets of more than 4 slots
/// Durable   writes: when the kernel is done, at the level process and with the table in the pool
///           itself; elsewhere they are refused with `read_only`, since they would need a commit:
///           use the batches of gpu.hpp
/// Threads   any number of warps, kernels and streams, beside batches
/// Crash     as of gpu.hpp
class ref {
 public:
  /// On the host. `m` must be open; of a closed one, or one whose device failed, every operation
  /// answers `closed`.
  explicit ref(map& m) { m.view(view_); }

  /// Returns   ok, and the value; not_found.
  __device__ status find(std::uint64_t key, std::uint64_t& value) const {
    if (view_.turns == nullptr) return status::closed;
    side_of_a_warp side(view_.turns, view_.copies);
    return operations<side_of_a_warp>(side, view_.table).find(key, value);
  }
  __device__ bool contains(std::uint64_t key) const {
    std::uint64_t value;
    return find(key, value) == status::ok;
  }

  /// Returns   as of gpu.hpp's batches; no_space: all places of the key are taken, and `reserve`
  ///           between kernels makes room; read_only, closed.
  __device__ status put(std::uint64_t key, std::uint64_t value) const {
    return write(key, decide_write(detail::write_mode::put, value));
  }
  __device__ status insert(std::uint64_t key, std::uint64_t value) const {
    return write(key, decide_write(detail::write_mode::insert, value));
  }
  __device__ status update(std::uint64_t key, std::uint64_t value) const {
    return write(key, decide_write(detail::write_mode::update, value));
  }
  __device__ status erase(std::uint64_t key) const {
    return write(key, erase_decider<std::uint64_t>());
  }

  /// Of a key that is there: `exists`, and its value.
  __device__ status find_or_insert(std::uint64_t key, std::uint64_t& value) const {
    std::uint64_t there = value;
    status answer = write(key, [&](const std::optional<std::uint64_t>& present) {
      if (present) there = *present;
      return decide_write(detail::write_mode::insert, value)(present);
    });
    if (answer == status::exists) value = there;
    return answer;
  }
  /// Modulo 2^64; a key that is not there gets `more`.
  __device__ status add(std::uint64_t key, std::uint64_t more) const {
    return write(key, [&](const std::optional<std::uint64_t>& present) {
      return decision<std::uint64_t>::set(present ? *present + more : more);
    });
  }

  /// Calls visit(key, value) for each record of this warp's part of the table, that of number
  /// `warp` among `warps`, by one thread. Beside writes: with a value that it had meanwhile; one
  /// that comes or goes is visited or not. `visit` calls nothing of a ref.
  /// Returns   ok, closed.
  template <class Visit>
  __device__ status for_each(std::uint64_t warp, std::uint64_t warps, Visit&& visit) const {
    return in_buckets(warp, warps, [&](auto& side, const auto& here) {
      side.warp.each([&](unsigned lane) {
        if ((here.there >> lane & 1) != 0)
          visit(side.warp.of(here.keys, lane), side.warp.of(here.values, lane));
        return true;
      });
    });
  }
  /// Erases the records of this warp's part for which is_chosen(key, value) is true, and adds to
  /// `erased` how many those were. It is asked again, by all threads, with the value that goes.
  /// Returns   ok, read_only, closed.
  template <class Predicate>
  __device__ status erase_if(std::uint64_t warp, std::uint64_t warps, Predicate&& is_chosen,
                             std::uint64_t& erased) const {
    if (view_.turns != nullptr && !view_.writes_at_once) return status::read_only;
    return in_buckets(warp, warps, [&](auto& side, const auto& here) {
      std::uint32_t chosen = side.warp.ballot(side.warp.each([&](unsigned lane) {
        return (here.there >> lane & 1) != 0 &&
               is_chosen(side.warp.of(here.keys, lane), side.warp.of(here.values, lane));
      }));
      while (chosen != 0) {
        std::uint64_t key = side.warp.from(here.keys, static_cast<unsigned>(take_lowest(chosen)));
        status answer = write(key, [&](const std::optional<std::uint64_t>& present) {
          using decided = decision<std::uint64_t>;
          if (!present) return decided::keep(status::not_found);
          return is_chosen(key, *present) ? decided::remove() : decided::keep(status::mismatch);
        });
        erased += answer == status::ok;
      }
    });
  }

 private:
  template <class Does>
  __device__ status in_buckets(std::uint64_t first, std::uint64_t step, Does&& does) const {
    if (view_.turns == nullptr) return status::closed;
    side_of_a_warp side(view_.turns, view_.copies);
    visits<side_of_a_warp> all(side, view_.table);
    for (std::uint64_t n = first; n < visited_buckets(view_.table); n += step)
      does(side, all.of_bucket(n));
    return status::ok;
  }
  template <class Decide>
  __device__ status write(std::uint64_t key, Decide&& decide) const {
    if (view_.turns == nullptr) return status::closed;
    if (!view_.writes_at_once) return status::read_only;
    side_of_a_warp side(view_.turns, view_.copies);
    operations<side_of_a_warp> all(side, view_.table);
    tallies mine;
    std::int32_t records = 0;
    status answer = status::ok;
    while (!all.try_write(true, all.hash_of(key), decide, answer, records)) side.wait();
    mine.records = records;
    side.warp.one_does(records != 0, [&] { side.add(*view_.total, mine); });
    return answer;
  }

  device_view view_;
};

/// The same of an open gpu::table, to look up rows: good until something else than finds is called
/// on it. Best taken as `const __grid_constant__`, like any large parameter.
class row_ref {
 public:
  explicit row_ref(table& t) { t.view(rows_); }

  /// The value's first `room` bytes, which all lanes may read then, and its length. `key`:
  /// key_bytes() of them, aligned to 8, in memory that the device reads.
  /// Returns   ok, not_found, damaged, closed.
  __device__ status find(const void* key, void* value, std::uint64_t room,
                         std::uint32_t& length) const {
    if (rows_.base == nullptr) return status::closed;
    bucket_copies none;
    using side_of_rows = cuda_side<32, false>;
    side_of_rows side(nullptr, none);
    status answer = row_search<side_of_rows>(side, rows_)
                        .find(static_cast<const std::uint64_t*>(key),
                              static_cast<std::byte*>(value), room, length);
    __syncwarp();  // each lane has copied a part
    return answer;
  }

 private:
  leased_rows rows_ = leased_rows::none();
};

}  // namespace durahash::gpu
