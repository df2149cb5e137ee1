// Where the bytes of a pool come from: a reserved range of addresses whose front part is backed by
// memory, by a plain file, or by persistent memory. Knows nothing of what the bytes mean, nor of
// how stores become durable.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "durahash/options.hpp"
#include "durahash/status.hpp"

namespace durahash {

/// How far a store must be pushed before it survives a power cut.
enum class persistence_domain : std::uint8_t {
  page_cache,  ///< needs fdatasync
  memory_bus,  ///< needs clwb and sfence (ADR)
  cpu_cache,   ///< needs sfence alone (eADR)
};

/// A note that is there and cannot be read: newer than any root.
inline constexpr std::uint64_t unreadable_note = ~std::uint64_t{0};

struct mapping_request {
  std::string path;  // unused for memory
  medium_kind medium = medium_kind::file;
  // make the file, mode 0600, nameless until appear(); fails when it exists
  bool create = false;
  bool read_only = false;
  std::uint64_t address_space_bytes = 0;
  std::uint64_t max_bytes = 0;  // 0: no limit
};

/// The base address never changes, so that a pointer into the pool stays valid while the pool
/// grows.
class mapping {
 public:
  /// Opens and locks the file (a second opener, in this process or another, is refused) and maps
  /// all it holds.
  static result<std::unique_ptr<mapping>> open(const mapping_request& request);
  virtual ~mapping() = default;
  mapping(const mapping&) = delete;
  mapping& operator=(const mapping&) = delete;

  std::byte* base() const noexcept { return base_; }
  // multiple of page_bytes
  std::uint64_t backed_bytes() const noexcept {
    return backed_bytes_.load(std::memory_order_acquire);
  }
  /// The file's own size when it was opened, for messages; 0 for a new file and for memory.
  std::uint64_t file_bytes_at_open() const noexcept { return file_bytes_at_open_; }
  persistence_domain domain() const noexcept { return domain_; }
  bool read_only() const noexcept { return read_only_; }
  /// Whether other processes can map what this one stores.
  virtual bool is_shared() const noexcept { return false; }
  /// Where the readers' line lies, if not in the header: of memory that only stands for a medium.
  virtual std::byte* readers_line_apart() noexcept { return nullptr; }

  /// Backs the range up to `bytes` with real space, so that no store into it can fail later.
  /// Returns   ok; no_space when the file system, max_bytes or the reserved addresses end; the
  ///           backed range is then unchanged.
  status grow(std::uint64_t bytes);

  /// Gives the space behind `bytes` back. The addresses stay readable (as zeros) until the mapping
  /// closes; only then is the file cut.
  void shrink(std::uint64_t bytes);

  /// Gives a new file its name, once it holds a whole pool. Returns ok, exists, io_error.
  virtual status appear() = 0;

  /// The system's words for its last refusal, behind a colon; nothing if it has refused nothing.
  std::string refusal() const;

  /// Tells the file from a copy of it (locked_file::mark); 0 while it is not known; nothing where
  /// there is no file of which a copy could be taken for it.
  virtual std::optional<std::uint32_t> file_mark() noexcept { return std::nullopt; }

  /// Tells the file from an older copy of it that was written over its bytes: the sequence of a
  /// root that it has had (locked_file::noted_root). Nothing where no note is kept.
  virtual std::optional<std::uint64_t> noted_root() const noexcept { return std::nullopt; }
  /// Returns whether it is noted.
  virtual bool note_root(std::uint64_t sequence) noexcept {
    return static_cast<void>(sequence), false;
  }

  /// Waits until [offset, offset + bytes) is on the disk. No-op where there is none.
  virtual status write_to_disk(std::uint64_t offset, std::uint64_t bytes) = 0;

  /// Likewise of bytes that were flushed and fenced; at least before what is flushed from now on.
  virtual status write_flushed_to_disk(std::uint64_t offset, std::uint64_t bytes) {
    return write_to_disk(offset, bytes);
  }

  /// For a copy, one at a time: whether the page may have changed since the call before for it.
  /// Where that is not known: yes. May be called beside stores.
  virtual bool take_change(std::uint64_t page) noexcept { return static_cast<void>(page), true; }

  /// Whether what was acknowledged just before the last process ended may be missing.
  virtual bool may_lack_last_moments() const noexcept { return false; }

  /// Makes the pages of [offset, offset + bytes) present, so that later stores do not fault. May be
  /// called beside stores.
  void fault_ahead(std::uint64_t offset, std::uint64_t bytes) noexcept;

  /// The whole pages of [offset, offset + bytes) need not stay in this process's memory: they are
  /// the file's, and come back when they are asked for. No-op where they are not.
  virtual void let_pages_go(std::uint64_t offset, std::uint64_t bytes) noexcept {
    static_cast<void>(offset), static_cast<void>(bytes);
  }

 protected:
  mapping() = default;
  virtual status extend(std::uint64_t from, std::uint64_t to) = 0;
  virtual void release(std::uint64_t from, std::uint64_t to) = 0;
  /// For a file of that many bytes, whose limits the request has. Returns false where the process
  /// may not have the addresses.
  bool set_out(const mapping_request& request, std::uint64_t file_bytes) noexcept;
  /// Notes why the system refused, and answers `s`.
  status refused(status s, int error_number) noexcept { return last_error_ = error_number, s; }

  std::byte* base_ = nullptr;
  std::atomic<std::uint64_t> backed_bytes_{0};  // changed by one thread at a time, read by any
  std::uint64_t file_bytes_at_open_ = 0;
  std::uint64_t reserved_bytes_ = 0;
  std::uint64_t max_bytes_ = 0;
  persistence_domain domain_ = persistence_domain::page_cache;
  bool read_only_ = false;

 private:
  std::atomic<int> last_error_{0};
};

}  // namespace durahash
