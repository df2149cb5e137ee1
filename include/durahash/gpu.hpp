// A durahash pool searched and changed by a GPU, in place: GPHash (FAST'25). The same pool opens as
// a `map` on any machine.
#pragma once

#include <memory>

#include "durahash/handle.hpp"

namespace durahash::gpu {

struct device_view;

/// A cudaStream_t; null is the default stream. Batches of one stream are done in their order.
using stream = void*;

/// Where a device finds the table.
enum class table_place : std::uint8_t {
  automatic,    ///< pool where the kernel lets the pool's memory be pinned, else host_mirror
  pool,         ///< the pool itself
  host_mirror,  ///< a copy in pinned memory of the host: for a pool on any file system
  /// a copy in the device's memory: searched at its speed; the whole table must fit there
  device_mirror,
};

/// Which buckets have copies in the device's memory: those with most looks, with the latest one, or
/// drawn ones (GPHash §3.3).
enum class cache_policy : std::uint8_t { lfu, lru, random };

/// Which device, and how it gets at the table.
struct device_options {
  int number = 0;  ///< of the CUDA device
  table_place place = table_place::automatic;
  /// of the buckets so many have a copy in the device's memory, 0 to 90: for a table in host memory
  unsigned cache_percent = 0;
  cache_policy policy = cache_policy::lfu;
  /// where writes wait for a commit: operations between two of them; 40 bytes of host memory each
  std::uint64_t max_staged = 1u << 20;
};

/// Where a batch of finds lists the keys that are not there, for who fetches them elsewhere. Memory
/// that the device reads and writes.
struct missed_keys {
  std::uint32_t* indices = nullptr;  ///< room for n: places in the batch, in no order; or null
  std::uint64_t* count = nullptr;    ///< how many; null: nothing is listed
};

/// Records with a key and a value of these ranges, whose value has these bits: all records, if
/// nothing is said. Kernels of the library cannot call a program's own predicate; its own kernels
/// do (gpu::ref::for_each, gpu::ref::erase_if).
struct selection {
  std::uint64_t key_min = 0;                    ///< the least key
  std::uint64_t key_max = ~std::uint64_t{0};    ///< the largest key
  std::uint64_t value_min = 0;                  ///< the least value
  std::uint64_t value_max = ~std::uint64_t{0};  ///< the largest value
  std::uint64_t mask = 0;                       ///< which bits of the value are asked about
  std::uint64_t bits = 0;                       ///< value & mask, where it is selected

  /// Whether a record with these is selected.
  constexpr bool selects(std::uint64_t key, std::uint64_t value) const noexcept {
    return key >= key_min && key <= key_max && value >= value_min && value <= value_max &&
           (value & mask) == bits;
  }
};

/// What copies of buckets are there, and how much they are asked for.
struct cache_figures {
  std::uint64_t copies = 0, loads = 0;
  /// of every sixteenth search, since the pool was opened: buckets looked at, and those of them
  /// that had a copy
  std::uint64_t looks = 0, hits = 0;
};

/// Keys and values are 64-bit words. Arrays are memory that the device reads (cudaMalloc,
/// cudaHostAlloc), of `n` elements; they must live until the batch is done. Keys of a batch need
/// not be unique: operations of one key are done one after another, in no particular order within a
/// batch.
///
/// Threads   one at a time, but for batches of `find_async` in streams of their own beside all
///           others but `close`; they wait while another thread calls what waits for the device
///           (below), or while the table grows. Nobody else has the pool open to write. Handles of
///           the mode read_beside, of this process or another, read between batches: from a write
///           until its commit they wait, a second at most, and so while there is a gpu::ref.
/// Graphs    a call that names a stream which is being captured into a CUDA graph answers
///           invalid_argument, and does nothing; so does one that names the default stream while a
///           blocking stream is captured. The capture stays valid. A graph would find the table
///           where it was then.
/// Crash     `kill -9` at any moment, within a kernel too: as for `map`. Every operation is there
///           that a commit had returned for; in the pool itself at the level process every one that
///           its stream had finished. Each of the others is there whole or not at all.
/// Fork      as durahash::handle: in a child everything answers `forked`, or nothing, and
///           the destructor leaves the pool and the device alone.
class map {
 public:
  /// As durahash::map::open; a new pool gets the engine gphash, and a pool of another engine is
  /// refused. The device must be able to use host memory that is registered with it at its own
  /// addresses, which CUDA devices on Linux are. For table_place::pool the pool must lie where the
  /// kernel lets memory be pinned: /dev/shm, a memfd, device DAX, says the driver's documentation;
  /// what it refuses is refused with its words. A mirror is copied when the pool is opened, after
  /// `reserve` and after `compact`; growth copies a new level alone.
  static result<map> open(const std::string& path, const options& how = {},
                          const device_options& on = {});

  /// Looks up keys. answers: ok, and the value; or not_found. `values` may be null: then it only
  /// says whether they are there. Keys that are not there are listed in `missed`. Never allocates
  /// or resizes, nor waits for the device. Sees what batches before it in its stream did; of what
  /// was staged, what is committed.
  /// Returns   ok; invalid_argument: the device does not reach an array's first or last element, or
  ///           more than 2^32 keys are to be listed; closed, or io_error after the device failed.
  ///           Then nothing was done.
  status find_async(std::size_t n, const std::uint64_t* keys, std::uint64_t* values,
                    status* answers, stream on = nullptr, const missed_keys& missed = {});

  /// Writes. answers: as of durahash::map; no_space where all places of a key are taken: `reserve`,
  /// and again. In the pool itself and at the level process done, and durable, when the stream is
  /// there. At the level power, and in a mirror, staged: not visible, answers open, until `commit`;
  /// `on` is the stream of all batches until that. Never allocates or resizes, nor waits for the
  /// device.
  /// Returns   ok; where writes are staged no_space if more than max_staged of them wait for a
  ///           commit, invalid_argument if those of another stream do: this batch was not taken.
  ///           invalid_argument, closed, io_error: as of find_async.
  status put_async(std::size_t n, const std::uint64_t* keys, const std::uint64_t* values,
                   status* answers, stream on = nullptr);
  status insert_async(std::size_t n, const std::uint64_t* keys, const std::uint64_t* values,
                      status* answers, stream on = nullptr);
  status update_async(std::size_t n, const std::uint64_t* keys, const std::uint64_t* values,
                      status* answers, stream on = nullptr);
  status erase_async(std::size_t n, const std::uint64_t* keys, status* answers,
                     stream on = nullptr);
  /// An insert that tells what is there: of a key that is, the answer is `exists`, and the value
  /// takes the place of the one that was to be inserted.
  status find_or_insert_async(std::size_t n, const std::uint64_t* keys, std::uint64_t* values,
                              status* answers, stream on = nullptr);
  /// Adds to the value, modulo 2^64; a key that is not there gets the value. In a batch that has a
  /// key several times, each counts. Behind a crash an operation counted once or not at all.
  status add_async(std::size_t n, const std::uint64_t* keys, const std::uint64_t* values,
                   status* answers, stream on = nullptr);

  /// Waits for the stream. When it returns ok, all writes of it are durable and their answers
  /// final.
  /// Returns   ok, closed, or io_error: the device failed; `why` has its words. From then on
  ///           nothing is done, and the pool is left as a crash leaves it: close it, and open it
  ///           again.
  status commit(stream on = nullptr, std::string* why = nullptr);

  /// As the _async one and commit, with growth as often as needed: the device writes the new level.
  /// Large batches are done in parts. What lies behind a part that finds no room is not tried.
  /// Returns   ok, no_space (neither pool nor file system has room: see the answers), io_error;
  ///           invalid_argument as of find_async.
  status put(std::size_t n, const std::uint64_t* keys, const std::uint64_t* values, status* answers,
             stream on = nullptr);
  status insert(std::size_t n, const std::uint64_t* keys, const std::uint64_t* values,
                status* answers, stream on = nullptr);
  status find_or_insert(std::size_t n, const std::uint64_t* keys, std::uint64_t* values,
                        status* answers, stream on = nullptr);
  status add(std::size_t n, const std::uint64_t* keys, const std::uint64_t* values, status* answers,
             stream on = nullptr);

  /// Where an export stands.
  struct export_cursor {
    std::uint64_t next = 0, layout = 0;
    bool done = false;
  };
  /// All records, in no order, some at a time: at most `n`, which must be 32 or more, go to the
  /// arrays, and `exported` says how many did. `at` goes on from where the last call ended; the
  /// first gets a new one, and the last leaves it done. Every record once, if nothing is written in
  /// between. `values` may be null. Waits for the device, and commits.
  /// Returns   ok; mismatch if there was a growth, a `reserve` or a `compact` since `at` began:
  ///           begin again; invalid_argument, closed, io_error.
  status export_batch(export_cursor& at, std::size_t n, std::uint64_t* keys, std::uint64_t* values,
                      std::size_t& exported, stream on = nullptr);
  /// Those that are selected, with one selection from the first call to the last. A call may find
  /// none, and not be done: it looks at about as many slots as there is room.
  status export_batch_if(export_cursor& at, const selection& which, std::size_t n,
                         std::uint64_t* keys, std::uint64_t* values, std::size_t& exported,
                         stream on = nullptr);

  /// Erases what is selected, and tells how many records that were. Waits for the device, and
  /// commits, as often as it needs to.
  /// Cost      all slots read once; an erase for each record
  /// Durable   when it returns
  /// Crash     each record is there or not
  /// Returns   ok; no_space: no memory for lists of keys; closed, io_error: some may be erased.
  status erase_if(const selection& which, std::uint64_t* erased = nullptr, stream on = nullptr);
  /// All of them. The slots stay, until `compact`.
  status clear(stream on = nullptr);

  /// Copies into the device's memory the buckets that finds have looked at most by now, in place of
  /// others. Which ones have a copy does not change until the next load; growth, `reserve` and
  /// `compact` drop all of them. Waits for its own stream, and once for all kernels that have
  /// started; beside others as `find_async` is.
  /// Returns   ok, also where there is no cache; closed, io_error.
  status load_cache();
  /// Now; all 0 where there is none.
  cache_figures cache();

  /// As of durahash::handle. Each waits for the device, and commits. Closed or moved from:
  /// `closed`, or nothing.
  status reserve(std::uint64_t records);
  status compact();
  status sync();
  status close();
  std::uint64_t size();
  pool_info info();
  table_stats stats();
  check_report check();
  std::vector<std::string> salvage_report() const;

  /// Where it is; never automatic.
  table_place place() const;

  /// What a write's answer promises. At `power` a write-back by the processor follows each batch:
  /// device stores alone reach no further than its caches.
  durability_level durability() const;

  /// For gpu::ref (gpu_ref.cuh).
  void view(device_view& into);

  class part;                                // how it is made
  explicit map(std::unique_ptr<part> made);  ///< for open
  map(map&&) noexcept;
  map& operator=(map&&) noexcept;
  ~map();

 private:
  bool is_open() const;
  detail::owned<part> part_;
};

}  // namespace durahash::gpu
