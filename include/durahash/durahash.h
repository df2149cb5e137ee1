// The C API: tables that are still there after `kill -9`, for C11 and for every language that calls
// C. It is stable within a major version: functions stay, structs keep their layout and grow at
// their end alone, numbers keep their meaning. docs/reference/c-api.md tells of all of it.
//
// What holds for every function here:
//
// Answers   a durahash_status. DURAHASH_OK, or why not; what it says of the table is what
//           durahash/status.hpp says of the same number. After anything above DURAHASH_MISMATCH,
//           and when a path is refused, durahash_last_message() has a sentence. Where a pointer
//           is null that must not be, or an array makes no sense, nothing is done and the answer
//           is DURAHASH_INVALID_ARGUMENT.
// Threads   all functions, on one pool too, from any number of threads; durahash_close alone must
//           be the last call of its pool. Readers take no lock.
// Durable   when a write returns, its effect survives whatever the pool's level names.
// Crash     a write that had not returned is there entirely or not at all.
// Fork      a pool belongs to the process that opened it. In a child everything answers
//           DURAHASH_FORKED and changes nothing; durahash_close frees the handle there.
// Errors    no C++ exception leaves a function of this file. A callback must neither throw one nor
//           leave by longjmp; one that throws all the same ends the call with
//           DURAHASH_INVALID_ARGUMENT.
// Strings   paths and names end with a zero byte; keys and values have lengths, and may hold any
//           bytes.
#ifndef DURAHASH_H
#define DURAHASH_H

#include <stddef.h>
#include <stdint.h>

/// In front of what the shared library shows.
#if defined(__GNUC__)
#define DURAHASH_API __attribute__((visibility("default")))
#else
#define DURAHASH_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

// ----------------------------------------------------------------------------------- versions

/// Of this header. durahash_version() is that of the library.
#define DURAHASH_VERSION_MAJOR 0
#define DURAHASH_VERSION_MINOR 1  ///< see DURAHASH_VERSION_MAJOR
#define DURAHASH_VERSION_PATCH 0  ///< see DURAHASH_VERSION_MAJOR

/// "MAJOR.MINOR.PATCH". Never freed.
DURAHASH_API const char* durahash_version(void);

/// MAJOR * 1,000,000 + MINOR * 1,000 + PATCH.
DURAHASH_API uint32_t durahash_version_number(void);

// ------------------------------------------------------------------------------------ answers

/// One of DURAHASH_OK and those behind it.
typedef int durahash_status;

enum {
  DURAHASH_OK = 0,
  DURAHASH_NOT_FOUND = 1,         ///< the key is absent
  DURAHASH_EXISTS = 2,            ///< insert: the key is there, its record is untouched
  DURAHASH_MISMATCH = 3,          ///< compare_and_set: another value; get: another length
  DURAHASH_NO_SPACE = 4,          ///< no room in pool or file system; or, of a fill, in its arrays
  DURAHASH_INVALID_ARGUMENT = 5,  ///< a key, value or argument that is not taken
  DURAHASH_READ_ONLY = 6,         ///< the pool was opened for reading only
  DURAHASH_CLOSED = 7,
  DURAHASH_UNUSABLE = 8,  ///< the pool cannot be opened: the message says what and where
  DURAHASH_IO_ERROR = 9,  ///< the operating system refused
  DURAHASH_DAMAGED = 10,  ///< bytes of the pool contradict its format
  DURAHASH_OUT_OF_MEMORY = 11,
  DURAHASH_FORKED = 12,  ///< the pool belongs to the process that this one is a fork of
  DURAHASH_BUSY = 13,    ///< of a reader beside a writer: the pool is being opened; try again
  DURAHASH_LOCKED = 14   ///< another process, or this one, has the pool open
};

/// One sentence on a status. Never null, never freed.
DURAHASH_API const char* durahash_status_message(durahash_status status);

/// What the last failure of a call of this thread has to say: which file, what is wrong, what to
/// do. Failures are answers above DURAHASH_MISMATCH, and all but DURAHASH_OK of the functions that
/// take a path. Empty before the first, valid until the next. Never null.
DURAHASH_API const char* durahash_last_message(void);

// ------------------------------------------------------------------------------- kinds, names

/// In place of a number below: what the pool says, or the default of a new one.
enum { DURAHASH_UNSET = -1 };

enum {  // engines
  DURAHASH_ENGINE_TURBO = 1,
  DURAHASH_ENGINE_CCEH = 2,
  DURAHASH_ENGINE_LEVEL = 3,
  DURAHASH_ENGINE_GPHASH = 4
};

enum {  // what keys or values are
  DURAHASH_KIND_U64 = 1,
  DURAHASH_KIND_BYTES = 2
};

enum {                                    // which crashes an operation that returned survives
  DURAHASH_DURABILITY_NONE = 0,           ///< no promise
  DURAHASH_DURABILITY_PROCESS = 1,        ///< death of the process (kill -9)
  DURAHASH_DURABILITY_POWER = 2,          ///< loss of power; each operation waits for it
  DURAHASH_DURABILITY_POWER_BUFFERED = 3  ///< loss of power, as of one moment before; on a disk
};

enum {  // where the bytes live
  DURAHASH_MEDIUM_AUTOMATIC = 0,
  DURAHASH_MEDIUM_MEMORY = 1,  ///< anonymous memory, gone with the process
  DURAHASH_MEDIUM_FILE = 2,
  DURAHASH_MEDIUM_PMEM = 3,      ///< persistent memory (DAX)
  DURAHASH_MEDIUM_EMULATED = 4,  ///< of C++ programs that measure; refused here
  DURAHASH_MEDIUM_DISK = 5       ///< a file behind a log
};

enum {  // how a pool is opened
  DURAHASH_MODE_CREATE_OR_OPEN = 0,
  DURAHASH_MODE_CREATE_NEW = 1,
  DURAHASH_MODE_OPEN_EXISTING = 2,
  DURAHASH_MODE_READ_ONLY = 3,
  DURAHASH_MODE_READ_BESIDE = 4  ///< beside a writer of another process; works in a child, too
};

/// The engines of this build: writes up to `capacity` numbers, in their order.
/// Returns   how many there are. `engines` may be null where capacity is 0.
DURAHASH_API size_t durahash_engines(int32_t* engines, size_t capacity);

/// Names, as the tool has them: "turbo", "u64", "power", "disk". "unknown" for a number that is
/// none. Never freed.
DURAHASH_API const char* durahash_engine_name(int32_t engine);
DURAHASH_API const char* durahash_data_kind_name(int32_t kind);
DURAHASH_API const char* durahash_durability_name(int32_t level);
DURAHASH_API const char* durahash_medium_name(int32_t medium);

/// The number of that name, or DURAHASH_UNSET.
DURAHASH_API int32_t durahash_engine_named(const char* name);
DURAHASH_API int32_t durahash_data_kind_named(const char* name);
DURAHASH_API int32_t durahash_durability_named(const char* name);
DURAHASH_API int32_t durahash_medium_named(const char* name);

// ------------------------------------------------------------------------------ open and close

/// An open pool.
typedef struct durahash_pool durahash_pool;

/// A setting of an engine: docs/explanation/engines/ lists them.
typedef struct durahash_setting {
  const char* name;
  uint64_t value;
} durahash_setting;

/// How a pool is created and opened: durahash/options.hpp tells of each field. A struct of an older
/// header is taken as it is; one of a newer header as long as what is new in it is zero.
typedef struct durahash_options {
  size_t size;  ///< of the struct, as durahash_options_init leaves it
  int32_t mode;
  int32_t engine;  ///< or DURAHASH_UNSET, like the next three
  int32_t key;     ///< of durahash_bytes_open; durahash_u64_open knows it
  int32_t value;   ///< likewise
  int32_t durability;
  int32_t medium;
  uint64_t capacity;                 ///< records expected; 0: not known
  const durahash_setting* settings;  ///< `setting_count` of them
  size_t setting_count;
  uint64_t max_bytes;            ///< the pool grows no further; 0: as the file system goes
  uint64_t address_space_bytes;  ///< 0: as many as it takes
  uint64_t log_bytes;            ///< medium disk; 0: as the pool goes
  uint32_t lag_milliseconds;     ///< level power_buffered
  uint32_t salvage;              ///< not 0: open a pool that a power cut tore, keep what is whole
  uint32_t flush_latency_ns;     ///< medium emulated, like the next two
  uint32_t block_latency_ns;
  uint32_t read_latency_ns;
  uint32_t reserved;  ///< 0
} durahash_options;

/// Fills in the defaults: `durahash_options_init(&how, sizeof how)`.
/// Returns   ok; invalid_argument if `size` is less than that of version 0.1.
DURAHASH_API durahash_status durahash_options_init(durahash_options* how, size_t size);

/// Opens the pool of u64 keys and u64 values at `path`, or makes it: for the durahash_u64
/// functions. `how` may be null. On the medium `memory` the path is not looked at, and may be null.
/// Returns   ok, and the pool in `*opened`; or why not, and `*opened` is null.
/// Cost      reads the superblock and the directory: milliseconds at any number of records.
DURAHASH_API durahash_status durahash_u64_open(const char* path, const durahash_options* how,
                                               durahash_pool** opened);

/// Opens any pool, or makes one of byte keys and byte values: for the durahash_bytes functions.
/// Where keys or values are u64 they are the 8 bytes of the word, little-endian, and other lengths
/// are answered with invalid_argument. Otherwise as durahash_u64_open.
DURAHASH_API durahash_status durahash_bytes_open(const char* path, const durahash_options* how,
                                                 durahash_pool** opened);

/// Saves the allocation state, marks the pool clean, and frees the handle whatever the answer. Null
/// is closed already.
/// Returns   ok; io_error: the file is as a crash leaves it; forked.
/// Cost      of a changed table of words: reads all records, for the digest that check compares.
///           All dirty bytes go to the disk, where there is one.
DURAHASH_API durahash_status durahash_close(durahash_pool* pool);

/// Gives a closed pool another durability level. See durahash/convert.hpp.
DURAHASH_API durahash_status durahash_convert(const char* path, int32_t durability);

/// Removes a pool, its log, and what a killed process left of it. See durahash/remove.hpp.
DURAHASH_API durahash_status durahash_remove(const char* path);

/// A process that has a pool open.
typedef struct durahash_process {
  int64_t id;
  int64_t started_unix_seconds;  ///< when the process began; 0: not told
  const char* command;           ///< the process's name for itself; valid in the visitor
  uint32_t writes;               ///< not 0: has it to write to; else reads it
  uint32_t reserved;
} durahash_process;

/// What it is given ends with the call.
typedef void (*durahash_process_visitor)(void* context, const durahash_process* process);

/// Calls `visit` for each other process that has the pool open now, by their numbers. Who is seen,
/// and what it costs: durahash/processes.hpp.
/// Returns   ok; unusable where the file or /proc is not there; out_of_memory.
DURAHASH_API durahash_status durahash_processes(const char* path, durahash_process_visitor visit,
                                                void* context);

// ------------------------------------------------------------------------- words: u64 to u64
// A pool of durahash_u64_open; on another one each of these answers invalid_argument.

/// The value, into `*value`.                            Returns ok, not_found.
DURAHASH_API durahash_status durahash_u64_get(const durahash_pool* pool, uint64_t key,
                                              uint64_t* value);
/// Whether the key is there.                            Returns ok, not_found.
DURAHASH_API durahash_status durahash_u64_contains(const durahash_pool* pool, uint64_t key);

/// Writes a record whether or not the key is there.     Returns ok, no_space, read_only.
DURAHASH_API durahash_status durahash_u64_put(durahash_pool* pool, uint64_t key, uint64_t value);
/// Writes a record if the key is absent.                Returns ok, exists, no_space, read_only.
DURAHASH_API durahash_status durahash_u64_insert(durahash_pool* pool, uint64_t key, uint64_t value);
/// Writes a record if the key is there.                 Returns ok, not_found, no_space, read_only.
DURAHASH_API durahash_status durahash_u64_update(durahash_pool* pool, uint64_t key, uint64_t value);

/// Removes the record. Works in a full pool.            Returns ok, not_found, read_only.
DURAHASH_API durahash_status durahash_u64_erase(durahash_pool* pool, uint64_t key);

/// Removes the record; its value goes into `*value`. One operation: of several threads that take a
/// key one has it.                                      Returns ok, not_found, read_only.
DURAHASH_API durahash_status durahash_u64_take(durahash_pool* pool, uint64_t key, uint64_t* value);

/// Writes `desired` if the present value is `expected`. Returns ok, mismatch, not_found, no_space.
DURAHASH_API durahash_status durahash_u64_compare_and_set(durahash_pool* pool, uint64_t key,
                                                          uint64_t expected, uint64_t desired);
/// Adds, modulo 2^64; an absent key counts as 0. `previous`, which may be null, receives the value
/// before.                                              Returns ok, no_space, read_only.
DURAHASH_API durahash_status durahash_u64_fetch_add(durahash_pool* pool, uint64_t key,
                                                    uint64_t delta, uint64_t* previous);

/// The value of the key, into `*value`, and where it is absent `fallback`, which is inserted. One
/// of several threads inserts, and all get the same value.
/// Returns   exists: it was there; ok: it was inserted; else as of insert.
DURAHASH_API durahash_status durahash_u64_find_or_insert(durahash_pool* pool, uint64_t key,
                                                         uint64_t fallback, uint64_t* value);

/// What makes a new value of the present one. It is called under the key's lock: it is quick, since
/// other writers wait for it, and uses no pool, since it might wait for itself. Where the table has
/// to make room it is called once more.
typedef uint64_t (*durahash_u64_change)(void* context, uint64_t present);

/// Puts what `change` makes of the present value in its place, as one operation: no write comes
/// between.                                             Returns ok, not_found, read_only.
DURAHASH_API durahash_status durahash_u64_update_with(durahash_pool* pool, uint64_t key,
                                                      durahash_u64_change change, void* context);

/// Batches. Key i lies `i * key_stride` bytes behind `keys`, value i likewise: 8 where they lie one
/// behind the other. A stride may be negative, or any that leaves them unaligned; 0 means the same
/// key or value each time. Values that are written to must not overlap. answers[i] is the status of
/// key i, one byte each. Each record is atomic by itself, a batch is not; all are durable when the
/// call returns.
/// Returns   ok: all were done, and the answers, which may be null, are ok, not_found or exists.
///           Else the first answer that is another.
/// Cost      cache misses overlap and fences are shared. Arrays that are aligned, with strides of
///           8, are used where they lie; others go through a block of 1,024 on the stack.
/// `values` of get_many may be null: it says then which keys are there.
DURAHASH_API durahash_status durahash_u64_get_many(const durahash_pool* pool, size_t n,
                                                   const void* keys, ptrdiff_t key_stride,
                                                   void* values, ptrdiff_t value_stride,
                                                   uint8_t* answers);
DURAHASH_API durahash_status durahash_u64_put_many(durahash_pool* pool, size_t n, const void* keys,
                                                   ptrdiff_t key_stride, const void* values,
                                                   ptrdiff_t value_stride, uint8_t* answers);
DURAHASH_API durahash_status durahash_u64_erase_many(durahash_pool* pool, size_t n,
                                                     const void* keys, ptrdiff_t key_stride,
                                                     uint8_t* answers);

// ------------------------------------------------------------------------------ bytes to bytes
// A pool of durahash_bytes_open; on another one each of these answers invalid_argument. A key has
// up to 64 KiB, a value up to 4 GiB less a page; both may be empty, and null where they are.

/// Copies the value into `buffer`: as much as `capacity` lets. `*length` is the value's length,
/// which may be more. Where `length` is null, a value that has not `capacity` bytes is a mismatch.
/// Returns   ok, not_found, mismatch, damaged, out_of_memory. `buffer` may be null where `capacity`
///           is 0.
DURAHASH_API durahash_status durahash_bytes_get(const durahash_pool* pool, const void* key,
                                                size_t key_length, void* buffer, size_t capacity,
                                                size_t* length);

/// What is called with a value where it lies. The bytes end with the call. It must not block, nor
/// write to this pool.
typedef void (*durahash_reader)(void* context, const void* value, size_t length);

/// Calls `read` with the value, without a copy.         Returns ok, not_found, damaged.
DURAHASH_API durahash_status durahash_bytes_read(const durahash_pool* pool, const void* key,
                                                 size_t key_length, durahash_reader read,
                                                 void* context);
/// Whether the key is there.                            Returns ok, not_found.
DURAHASH_API durahash_status durahash_bytes_contains(const durahash_pool* pool, const void* key,
                                                     size_t key_length);

/// Writes a record whether or not the key is there.     Returns ok, no_space, read_only.
DURAHASH_API durahash_status durahash_bytes_put(durahash_pool* pool, const void* key,
                                                size_t key_length, const void* value,
                                                size_t value_length);
/// Writes a record if the key is absent.                Returns ok, exists, no_space, read_only.
DURAHASH_API durahash_status durahash_bytes_insert(durahash_pool* pool, const void* key,
                                                   size_t key_length, const void* value,
                                                   size_t value_length);
/// Writes a record if the key is there.                 Returns ok, not_found, no_space, read_only.
DURAHASH_API durahash_status durahash_bytes_update(durahash_pool* pool, const void* key,
                                                   size_t key_length, const void* value,
                                                   size_t value_length);

/// Removes the record. Works in a full pool.            Returns ok, not_found, read_only.
DURAHASH_API durahash_status durahash_bytes_erase(durahash_pool* pool, const void* key,
                                                  size_t key_length);

/// Removes the record; its value goes into `buffer`. One operation: of several threads that take a
/// key one has it. `*length`, where `length` is not null, is the value's length. A value that does
/// not fit is a mismatch, and stays; where `length` is null, one that has not `capacity` bytes.
/// Returns   ok, not_found, mismatch, read_only.
DURAHASH_API durahash_status durahash_bytes_take(durahash_pool* pool, const void* key,
                                                 size_t key_length, void* buffer, size_t capacity,
                                                 size_t* length);

/// Writes `desired` if the present value is `expected`. Returns ok, mismatch, not_found, no_space.
DURAHASH_API durahash_status durahash_bytes_compare_and_set(durahash_pool* pool, const void* key,
                                                            size_t key_length, const void* expected,
                                                            size_t expected_length,
                                                            const void* desired,
                                                            size_t desired_length);

/// Adds to a value of 8 bytes, modulo 2^64; an absent key counts as 0. `previous`, which may be
/// null, receives the value before.
/// Returns   ok, no_space; invalid_argument if the present value has not 8 bytes.
DURAHASH_API durahash_status durahash_bytes_fetch_add(durahash_pool* pool, const void* key,
                                                      size_t key_length, uint64_t delta,
                                                      uint64_t* previous);

/// The value of the key, and where it is absent `fallback`, which is inserted: to `buffer`, as much
/// as `capacity` lets. `*length`, where `length` is not null, is the value's length. One of several
/// threads inserts, and all get the same value.
/// Returns   exists: it was there; ok: it was inserted; else as of insert.
DURAHASH_API durahash_status durahash_bytes_find_or_insert(durahash_pool* pool, const void* key,
                                                           size_t key_length, const void* fallback,
                                                           size_t fallback_length, void* buffer,
                                                           size_t capacity, size_t* length);

/// As durahash_u64_change. `*value` and `*length` are the present value, whose bytes end with the
/// call; it leaves the new one there, whose bytes stay until the next call or the operation's end.
typedef void (*durahash_bytes_change)(void* context, const void** value, size_t* length);

/// Puts what `change` makes of the present value in its place, as one operation: no write comes
/// between.          Returns ok, not_found, no_space, invalid_argument, read_only, out_of_memory.
DURAHASH_API durahash_status durahash_bytes_update_with(durahash_pool* pool, const void* key,
                                                        size_t key_length,
                                                        durahash_bytes_change change,
                                                        void* context);

/// An array of byte strings, in one of three forms. String i begins at
///   pointers[i]        where `pointers` is given;
///   data + offsets[i]  where `offsets` is given, and ends at offsets[i + 1]: n + 1 of them, as
///                      Apache Arrow has them;
///   data + i * stride  else.
/// In the first and the last form it has lengths[i] bytes, or `length` where `lengths` is null.
/// Fields of other forms are zero.
typedef struct durahash_strings {
  const void* data;
  ptrdiff_t stride;
  const uint64_t* offsets;
  const void* const* pointers;
  const size_t* lengths;
  size_t length;
} durahash_strings;

/// Where the values of a batch go: value i to data + i * stride, up to `capacity` bytes of it, and
/// its length to lengths[i]. Where `lengths` is null, a value of another length than `capacity` is
/// a mismatch. Rows must not overlap.
typedef struct durahash_rows {
  void* data;
  ptrdiff_t stride;
  size_t capacity;
  size_t* lengths;
} durahash_rows;

/// Batches of bytes: answers, order and durability are those of the u64 batches. Values of put_many
/// and rows of get_many belong to the keys of the same index. `values` of get_many may be null: it
/// says then which keys are there.
/// Cost      strings are handed on in blocks of 1,024; no value is copied on its way to its row.
DURAHASH_API durahash_status durahash_bytes_get_many(const durahash_pool* pool, size_t n,
                                                     const durahash_strings* keys,
                                                     const durahash_rows* values, uint8_t* answers);
DURAHASH_API durahash_status durahash_bytes_put_many(durahash_pool* pool, size_t n,
                                                     const durahash_strings* keys,
                                                     const durahash_strings* values,
                                                     uint8_t* answers);
DURAHASH_API durahash_status durahash_bytes_erase_many(durahash_pool* pool, size_t n,
                                                       const durahash_strings* keys,
                                                       uint8_t* answers);

/// As durahash_reader, of the value of key `index`.
typedef void (*durahash_indexed_reader)(void* context, size_t index, const void* value,
                                        size_t length);

/// Calls `read` for each key that is there, in any order.
DURAHASH_API durahash_status durahash_bytes_read_many(const durahash_pool* pool, size_t n,
                                                      const durahash_strings* keys,
                                                      durahash_indexed_reader read, void* context,
                                                      uint8_t* answers);

// ---------------------------------------------------------------------------------- iteration

/// Where an iteration stands: {0, 0} at the start. A plain value: it can be stored, sent, and used
/// after a reopen of the same pool. `done` is not 0 when nothing is left.
typedef struct durahash_cursor {
  uint64_t position;
  uint64_t done;
} durahash_cursor;

/// What a scan calls with each record; bytes end with the call.
typedef void (*durahash_u64_visitor)(void* context, uint64_t key, uint64_t value);
typedef void (*durahash_bytes_visitor)(void* context, const void* key, size_t key_length,
                                       const void* value, size_t value_length);

/// Visits about `limit` records from `at` on, and moves `at` behind them. A record
/// that is there from the first to the last call is visited exactly once, whatever happens beside
/// it; one that comes or goes meanwhile may be visited or not. A visitor may call this pool and
/// others. What it was given ends with it, and with a write of its own to that record.
/// Returns   ok, damaged, out_of_memory.
DURAHASH_API durahash_status durahash_u64_scan(const durahash_pool* pool, durahash_cursor* at,
                                               size_t limit, durahash_u64_visitor visit,
                                               void* context);
DURAHASH_API durahash_status durahash_bytes_scan(const durahash_pool* pool, durahash_cursor* at,
                                                 size_t limit, durahash_bytes_visitor visit,
                                                 void* context);

/// The same into arrays: at most `capacity` records from `at` on, key i to keys + i * key_stride,
/// value i likewise; `*count` says how many. `values` may be null: keys alone.
/// Returns   ok; no_space: more records than `capacity` share one hash, and `at` has not moved.
DURAHASH_API durahash_status durahash_u64_fill(const durahash_pool* pool, durahash_cursor* at,
                                               size_t capacity, void* keys, ptrdiff_t key_stride,
                                               void* values, ptrdiff_t value_stride, size_t* count);

/// A record of durahash_bytes_fill: in its buffer, the key and behind it the value.
typedef struct durahash_record {
  const void* key;
  size_t key_length;
  const void* value;
  size_t value_length;
} durahash_record;

/// The same of bytes: at most `capacity` records, copied into a buffer of `buffer_bytes`. `*count`
/// says how many there are now, `*needed` how many bytes of the buffer they take.
/// Returns   ok; no_space: the next record alone (or the next few, where they share one hash) needs
///           `*needed` bytes and `*count` records, and `at` has not moved.
DURAHASH_API durahash_status durahash_bytes_fill(const durahash_pool* pool, durahash_cursor* at,
                                                 durahash_record* records, size_t capacity,
                                                 void* buffer, size_t buffer_bytes, size_t* count,
                                                 size_t* needed);

// ------------------------------------------------------------------------------- the whole pool

/// Facts of a pool, as `durahash info` prints them. The caller sets `size` to sizeof; the library
/// fills what fits.
typedef struct durahash_info {
  size_t size;
  int32_t engine;
  int32_t key;
  int32_t value;
  int32_t durability;
  int32_t medium;  ///< that this handle uses; 0 from durahash_kinds
  uint32_t format_version;
  uint64_t records;
  uint64_t slots;  ///< places for records in the table as it stands
  double load_factor;
  uint64_t file_bytes;
  uint64_t live_bytes;
  uint64_t free_bytes;
  uint32_t clean;  ///< whether the pool was found closed cleanly at this open
  uint32_t checkpoint_under_way;
  uint32_t may_lack_last_moments;
  uint32_t reserved;
} durahash_info;

/// Engine, key, value, durability. The other fields are 0. Never waits.
DURAHASH_API durahash_status durahash_kinds(const durahash_pool* pool, durahash_info* facts);

/// All facts. After a crash waits for the recount, which runs in the background since open.
DURAHASH_API durahash_status durahash_get_info(const durahash_pool* pool, durahash_info* facts);

/// Records in the table. After a crash waits for the recount.
DURAHASH_API durahash_status durahash_size(const durahash_pool* pool, uint64_t* records);

/// Makes room for `records` records in all.             Returns ok, no_space, read_only.
DURAHASH_API durahash_status durahash_reserve(durahash_pool* pool, uint64_t records);

/// Rebuilds the table at its tightest, and gives the rest back to the file system; operations go
/// on.                                                  Returns ok, no_space, read_only, io_error.
DURAHASH_API durahash_status durahash_compact(durahash_pool* pool);

/// Everything that returned before is on the medium: see handle::sync in durahash/handle.hpp.
DURAHASH_API durahash_status durahash_sync(durahash_pool* pool);

/// What is called with each line, and with each figure; strings end with the call.
typedef void (*durahash_line_visitor)(void* context, const char* line);
typedef void (*durahash_figure_visitor)(void* context, const char* name, double figure);

/// Verifies everything. `*records` receives the records found; `visit` is called with each thing
/// that is wrong, 100 at most. Both may be null.
/// Returns   ok: all is well; damaged.
/// Threads   writers wait while their part is read.
DURAHASH_API durahash_status durahash_check(durahash_pool* pool, uint64_t* records,
                                            durahash_line_visitor visit, void* context);

/// Calls `visit` with each figure of the engine and the log by name, after `flushes`, `fences`,
/// `media_read_blocks`, `media_write_blocks`, which the medium emulated counts.
/// Cost      reads every bucket's first line.
DURAHASH_API durahash_status durahash_stats(const durahash_pool* pool,
                                            durahash_figure_visitor visit, void* context);

/// What opening with `salvage` kept and dropped, line by line.
DURAHASH_API durahash_status durahash_salvage_report(const durahash_pool* pool,
                                                     durahash_line_visitor visit, void* context);

/// Copies the table, as it is at one moment, to a new pool at `path`: see handle::backup.
DURAHASH_API durahash_status durahash_backup(durahash_pool* pool, const char* path);

// ------------------------------------------------------------------- pools with a log (disk)

/// Where the log ends: all that has returned lies before it. 0 where there is no log.
DURAHASH_API durahash_status durahash_position(const durahash_pool* pool, uint64_t* position);
/// Up to where the log is durable.
DURAHASH_API durahash_status durahash_durable_position(const durahash_pool* pool,
                                                       uint64_t* position);
/// Waits until what lies before `position` survives what the level names.
/// Returns   ok, io_error: the disk has refused a write.
DURAHASH_API durahash_status durahash_wait_durable(durahash_pool* pool, uint64_t position);

/// What durahash_when_durable calls.
typedef void (*durahash_durable_callback)(void* context, durahash_status status);

/// Calls `call` once when that is so: at once, or from a thread of the pool. It must not close the
/// pool or wait for the log. durahash_close calls all that are left.
/// Returns   ok; out_of_memory, forked: `call` is not called then.
DURAHASH_API durahash_status durahash_when_durable(durahash_pool* pool, uint64_t position,
                                                   durahash_durable_callback call, void* context);

/// Operations of a thread that do not wait for the disk: see durahash/deferred_wait.hpp.
typedef struct durahash_deferral durahash_deferral;

/// From here on, operations of this thread on the pool return before the log is durable.
/// Returns   ok, out_of_memory, forked.
DURAHASH_API durahash_status durahash_defer(const durahash_pool* pool, durahash_deferral** begun);

/// Ends that, in the same thread, the latest first. `*position`, which may be null, is what the
/// operations since durahash_defer need: for durahash_wait_durable or durahash_when_durable.
DURAHASH_API durahash_status durahash_end_defer(durahash_deferral* begun, uint64_t* position);

#ifdef __cplusplus
}
#endif

#endif
