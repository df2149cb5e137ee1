// Rows of bytes that a GPU looks up: a GPHash pool of keys of one length and values of any. The
// same pool opens as a `table` on any machine.
#pragma once

#include "durahash/gpu.hpp"

namespace durahash::gpu {

struct leased_rows;

/// What the elements of a row are, little-endian, one behind the other: IEEE binary32 or binary16,
/// or the upper half of a binary32.
enum class element : std::uint8_t { float32, float16, bfloat16 };
enum class pooling : std::uint8_t { sum, mean };

/// Rows of numbers, and what becomes of those of a bag.
struct gathering {
  std::size_t width = 0;            ///< elements of each row
  element from = element::float32;  ///< of the rows in the pool
  element to = element::float32;    ///< of the rows that are made
  pooling how = pooling::sum;
  /// Bag b has the keys from offsets[b] on, and none from offsets[b + 1] on, of bags + 1 offsets.
  /// Without offsets each key is a bag.
  std::size_t bags = 0;
  const std::uint64_t* offsets = nullptr;
};

/// A pool of u64 keys and byte values, such as the rows of embedding tables; or of keys of `--set
/// key_bytes=N`, which lie in their buckets (GPHash §3.1). The device searches and copies. Where it
/// works on the pool itself it writes, too (GPHash §3.2.3): batches of 32 and more, of values of
/// less than 2 MiB, in pools whose records have short headers. The processor writes all others,
/// with the engine that `durahash::table` has. Answers and promises are the same.
///
/// Arrays   memory that the device reads and writes; those of writes may be any memory at all.
///          Keys: `key_bytes()` each, one behind the other, aligned to 8; a u64 key is 8 bytes,
///          little-endian. Values: `value_bytes` each; copied in words of 8 bytes where that is a
///          multiple of 8 and the array is aligned to 8.
/// Threads  any; writes, `reserve`, `compact` and `close` wait for the finds under way, and those
///          for them. Nobody else has the pool open to write meanwhile.
/// Graphs   as of gpu::map: streams that are being captured are refused.
/// Crash    writes: as of `table`, each durable when the call returns. `kill -9` within one, within
///          a kernel too: each operation is there whole or not at all. Finds change nothing.
/// Fork     as durahash::handle: in a child everything answers `forked`, or nothing, and
///          the destructor leaves the pool and the device alone.
class table {
 public:
  /// As durahash::table::open; a new pool gets the engine gphash and, if nothing is said, u64 keys
  /// or those of the setting key_bytes, and values of bytes. Pools of other engines, of keys of any
  /// length, and of u64 to u64 (gpu::map) are refused. Of device_options: number, place; for the
  /// pool itself cache_percent and policy. A mirror is a copy of the whole pool; writes bring it
  /// what they changed, and growth, `reserve` and `compact` copy it again. A pool that is opened to
  /// be read is enough to look rows up; where the driver does not pin such memory, `automatic` is a
  /// mirror. A new pool stays, empty, where the device cannot use it.
  static result<table> open(const std::string& path, const options& how = {},
                            const device_options& on = {});

  /// How long its keys are.
  std::size_t key_bytes() const;

  /// Looks up keys. answers: ok, and the value; not_found; damaged (`check` says what). With
  /// `lengths`, of n elements, values may have any length, which goes there: `values` gets the
  /// first value_bytes bytes of longer ones. Without, a value of another length than value_bytes is
  /// a `mismatch`, and `values` gets as much of it as there is room for. `values` may be null: then
  /// it only says whether keys are there. Those not_found are listed in `missed`. What was found
  /// before `wait` returns ok is not final.
  /// Cost     one warp for each key: its buckets, at most 32 slots in one go; the key, the record's
  ///          header, the value.
  /// Returns  ok; invalid_argument: the device does not reach an array's first or last element, or
  ///          keys are not aligned, or more than 2^32 of them are to be listed; closed, or io_error
  ///          after a failure, which `wait` tells. Then nothing was done. Never allocates; waits
  ///          for the device only where a write does.
  status find_async(std::size_t n, const void* keys, void* values, std::size_t value_bytes,
                    status* answers, stream on = nullptr, std::uint32_t* lengths = nullptr,
                    const missed_keys& missed = {});

  /// Looks up keys, and tells where their values are, in memory that the device reads: the pool, or
  /// the mirror. Null for a key that is not there. They are aligned to 8. Kernels of this stream
  /// may read there behind it; they are done before something else than a find is called.
  /// Returns  as of find_async; `places` and `lengths` are of n elements.
  status locate_async(std::size_t n, const void* keys, const void** places, std::uint32_t* lengths,
                      status* answers, stream on = nullptr, const missed_keys& missed = {});

  /// Looks up rows of numbers, and makes one row for each bag of them, in `rows`: their sum or
  /// mean, added one after another as float32, then rounded to the nearest. Answers of keys as of
  /// `find_async`; a value that is no row of this width is a `mismatch`. What is not ok adds
  /// nothing, and does not count for a mean. Of none the row is zero. What offsets say beyond n is
  /// as n. A key that no bag has gets no answer. One that two have, since offsets go down, is
  /// missed twice; what there is no room to list is counted.
  /// Cost     one warp for each bag: for each of its keys what a find costs, once for every 256
  ///          elements
  /// Returns  as of find_async; invalid_argument: also width 0, what is no element or pooling, and
  ///          `rows` that are not aligned to an element
  status gather_async(std::size_t n, const void* keys, const gathering& how, void* rows,
                      status* answers, stream on = nullptr, const missed_keys& missed = {});

  /// Copies into the device's memory the buckets that searches have looked at most by now, in place
  /// of others (GPHash §3.3): their states and values, so that of a search only the key and the
  /// record cross the bus. Which ones have a copy does not change until the next load; growth,
  /// `reserve` and `compact` drop all of them. Writes by the device change the copies; behind one
  /// by the processor all are filled anew. Waits for the finds under way, and they for it.
  /// Returns  ok, also where there is no cache; closed, io_error.
  status load_cache();
  cache_figures cache();

  /// Waits for the stream's finds.
  /// Returns  ok, closed, or io_error: the device failed, or a mirror has no memory any more; `why`
  ///          has the words. From then on finds are refused.
  status wait(stream on = nullptr, std::string* why = nullptr);

  /// Writes, as durahash::table's of the same names, as if key after key: of keys that come twice
  /// the last one counts. The table grows as it needs to. answers: theirs.
  /// Cost     by the device: four kernels and as many waits for them; of each key its buckets once,
  ///          and one record. Keys, values and answers are copied, in parts of 64 MiB, which the
  ///          device's memory has room for, or the processor writes. At the level power the
  ///          processor writes back what the device has stored.
  /// Returns  ok: see the answers. no_space: a mirror has none for the larger pool; all was
  ///          written, see the answers, and finds are refused from now on. out_of_memory: finds are
  ///          refused likewise, and rows may not be written: see the answers. io_error: the device
  ///          failed; some of it may have been written, durably, and answers may be missing. If it
  ///          failed in a write of its own nothing more is done, and the pool is left as a crash
  ///          leaves it: close it, and open it again. invalid_argument: an array is missing, or
  ///          value_bytes is more than max_value_bytes; nothing was done. closed.
  status put(std::size_t n, const void* keys, const void* values, std::size_t value_bytes,
             status* answers);
  status insert(std::size_t n, const void* keys, const void* values, std::size_t value_bytes,
                status* answers);
  status update(std::size_t n, const void* keys, const void* values, std::size_t value_bytes,
                status* answers);
  status erase(std::size_t n, const void* keys, status* answers);

  /// As of durahash::handle. Closed or moved from: `closed`, or nothing. `reserve` and `compact`
  /// also answer what a write does when a mirror cannot follow.
  status reserve(std::uint64_t records);
  status compact();
  status sync();
  status close();
  std::uint64_t size();
  pool_info info();
  table_stats stats();
  check_report check();
  std::vector<std::string> salvage_report() const;

  table_place place() const;            ///< never automatic while it is open
  durability_level durability() const;  ///< what a write's answer promises

  /// For gpu::row_ref (gpu_ref.cuh).
  void view(leased_rows& into);

  class part;                                  // how it is made
  explicit table(std::unique_ptr<part> made);  ///< for open
  table(table&&) noexcept;
  table& operator=(table&&) noexcept;
  ~table();

 private:
  detail::owned<part> part_;
};

}  // namespace durahash::gpu
