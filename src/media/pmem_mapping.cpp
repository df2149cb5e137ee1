#include "media/pmem_mapping.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/bits.hpp"
#include "media/addresses.hpp"
#include "media/file_lock.hpp"
#include "media/file_room.hpp"

#ifdef DURAHASH_HAS_PMEM2
#include <libpmem2.h>
#endif

#ifndef MAP_SYNC
#define MAP_SYNC 0x080000
#endif

namespace durahash {
#ifdef DURAHASH_HAS_PMEM2
namespace {

constexpr std::uint64_t unit_bytes = 2u << 20;  // granularity of growth and of DAX mappings

/// libpmem2 says what the path is; the mapping itself is ours. Its reservations of addresses (1.12)
/// keep a gigabyte each when they are deleted, in such places that 127 pools opened one after
/// another use up what a process has.
class pmem_mapping final : public mapping {
 public:
  static result<std::unique_ptr<mapping>> open(const mapping_request& request) {
    auto file = locked_file::open(request);
    if (!file) return file.failure();
    std::unique_ptr<pmem_mapping> made(new pmem_mapping(std::move(*file)));
    made->max_bytes_ = request.max_bytes;
    made->read_only_ = request.read_only;
    if (error e = made->prepare(request); e.code != status::ok) return e;
    return std::unique_ptr<mapping>(std::move(made));
  }
  ~pmem_mapping() override {
    if (base_ != nullptr) ::munmap(base_, reserved_bytes_);
    if (extended_) file_.cut(bytes_to_leave());
  }
  status appear() override {
    status s = file_.appear();
    return s == status::ok ? s : refused(s, errno);
  }
  std::optional<std::uint32_t> file_mark() noexcept override { return file_.mark(); }
  std::optional<std::uint64_t> noted_root() const noexcept override { return file_.noted_root(); }
  bool note_root(std::uint64_t sequence) noexcept override { return file_.note_root(sequence); }
  bool is_shared() const noexcept override { return true; }
  status write_to_disk(std::uint64_t, std::uint64_t) override { return status::ok; }

 protected:
  status extend(std::uint64_t from, std::uint64_t to) override {
    if (device_) return to <= mapped_bytes_ ? status::ok : status::no_space;
    std::uint64_t until = to <= mapped_bytes_ ? to : align_up(to, unit_bytes);
    if (int failed = provide_blocks(file_.descriptor(), from, until); failed != 0)
      return refused(status::no_space, failed);
    // The root is about to name the new size, by a store that no page fault makes the file system
    // notice: the file's length goes first. What it lost once it would not tell of again.
    if (length_lost_ != 0 || ::fdatasync(file_.descriptor()) != 0) {
      if (length_lost_ == 0) length_lost_ = errno;
      return refused(status::io_error, length_lost_);
    }
    extended_ = true;
    return until <= mapped_bytes_ || map_part(mapped_bytes_, until)
               ? status::ok
               : refused(status::no_space, errno);
  }
  void release(std::uint64_t from, std::uint64_t to) override {
    if (device_) return;
    ::fallocate(file_.descriptor(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                static_cast<off_t>(from), static_cast<off_t>(to - from));
    extended_ = true;
  }

 private:
  explicit pmem_mapping(locked_file file) : file_(std::move(file)) {}

  error prepare(const mapping_request& request) {
    struct stat facts {};
    if (::fstat(file_.descriptor(), &facts) != 0)
      return system_error(status::unusable, "cannot stat", request.path);
    device_ = S_ISCHR(facts.st_mode);
    std::uint64_t bytes = 0;
    if (error e = look_at(request, bytes); e.code != status::ok) return e;
    reserved_bytes_ = align_up(std::max(request.address_space_bytes, bytes), unit_bytes);
    base_ = reserve_addresses(
        reserved_bytes_, std::min(reserved_bytes_, align_up(bytes + min_address_space, unit_bytes)),
        alignment_);
    if (base_ == nullptr)
      return system_error(status::unusable, "cannot reserve addresses for", request.path);
    if (bytes > 0 && !map_part(0, bytes))
      return system_error(status::unusable, "cannot map", request.path);
    return {status::ok, {}};
  }

  /// The size of the file or device, in whole units, and what stores into it need: libpmem2 knows,
  /// given a mapping to look at.
  error look_at(const mapping_request& request, std::uint64_t& bytes) {
    struct source_of {
      pmem2_source* at = nullptr;
      ~source_of() {
        if (at != nullptr) pmem2_source_delete(&at);
      }
    } source;
    if (pmem2_source_from_fd(&source.at, file_.descriptor()) != 0)
      return not_mappable(request.path);
    std::size_t size = 0;
    // A file whose size is not known is not an empty one, which would be cut to nothing when it is
    // closed.
    if (pmem2_source_size(source.at, &size) != 0) return not_mappable(request.path);
    bytes = size;
    // of a device, up to 1 GiB
    if (pmem2_source_alignment(source.at, &size) == 0)
      alignment_ = std::max<std::uint64_t>(alignment_, size);
    file_bytes_at_open_ = bytes;
    backed_bytes_ = align_down(bytes, page_bytes);
    bool empty = bytes == 0;
    // something must be mapped to learn what the path is
    std::uint64_t whole = empty ? unit_bytes : align_up(bytes, unit_bytes);
    // whole units, so that parts can be mapped behind one another
    if (!device_ && bytes != whole) {
      int failed = read_only_ ? EROFS : provide_blocks(file_.descriptor(), 0, whole);
      if (failed != 0 && empty && !read_only_)
        return errno = failed, system_error(status::no_space, "cannot extend", request.path);
      extended_ = failed == 0;
      bytes = failed == 0 ? whole : align_down(bytes, page_bytes);
    }
    return bytes == 0 ? error{status::ok, {}} : look_at_mapping(request.path, source.at, bytes);
  }

  error look_at_mapping(const std::string& path, pmem2_source* source, std::uint64_t bytes) {
    pmem2_config* config = nullptr;
    if (pmem2_config_new(&config) != 0) return not_mappable(path);
    pmem2_config_set_required_store_granularity(config, PMEM2_GRANULARITY_CACHE_LINE);
    pmem2_config_set_length(config, bytes);
    pmem2_config_set_sharing(config, PMEM2_SHARED);
    if (read_only_) pmem2_config_set_protection(config, PMEM2_PROT_READ);
    pmem2_map* whole = nullptr;
    int failed = pmem2_map_new(&whole, config, source);
    pmem2_config_delete(&config);
    if (failed == PMEM2_E_GRANULARITY_NOT_SUPPORTED)
      return {status::unusable, "cannot promise durability power for " + path +
                                    ": its file system is not DAX (MAP_SYNC refused), and the page "
                                    "cache is not persistent memory; "
                                    "durability process survives kill -9 there"};
    if (failed != 0) return not_mappable(path);
    domain_ = pmem2_map_get_store_granularity(whole) == PMEM2_GRANULARITY_BYTE
                  ? persistence_domain::cpu_cache
                  : persistence_domain::memory_bus;
    pmem2_map_delete(&whole);
    return {status::ok, {}};
  }

  bool map_part(std::uint64_t from, std::uint64_t to) {
    int protection = read_only_ ? PROT_READ : PROT_READ | PROT_WRITE;
    auto map = [&](int flags) {
      return ::mmap(base_ + from, to - from, protection, flags | MAP_FIXED, file_.descriptor(),
                    static_cast<off_t>(from)) != MAP_FAILED;
    };
    // Without MAP_SYNC only where libpmem2 took the path for persistent memory all the same:
    // PMEM2_FORCE_GRANULARITY, for tests.
    if (!map(MAP_SHARED_VALIDATE | MAP_SYNC) && !(errno == EOPNOTSUPP && map(MAP_SHARED)))
      return false;
    keep_from_children(base_ + from, to - from);
    mapped_bytes_ = to;
    return true;
  }

  /// A file that was only looked at, or refused, has the length that it had.
  std::uint64_t bytes_to_leave() const {
    return backed_bytes() == align_down(file_bytes_at_open_, page_bytes) ? file_bytes_at_open_
                                                                         : backed_bytes();
  }

  static error not_mappable(const std::string& path) {
    return {status::unusable, "cannot map " + path + " as persistent memory: " + pmem2_errormsg()};
  }

  locked_file file_;
  std::uint64_t mapped_bytes_ = 0;
  std::uint64_t alignment_ = unit_bytes;  // of base_
  bool device_ = false;
  // the file is longer than the pool, by less than a unit or by what was released
  bool extended_ = false;
  int length_lost_ = 0;  // the error of a length that did not reach the disk
};

}  // namespace

result<std::unique_ptr<mapping>> open_pmem_mapping(const mapping_request& request) {
  return pmem_mapping::open(request);
}

#else

result<std::unique_ptr<mapping>> open_pmem_mapping(const mapping_request& request) {
  return error{status::unusable,
               "cannot use " + request.path +
                   " as persistent memory: this build of durahash was made without libpmem2"};
}

#endif

bool is_persistent_memory(const std::string& path) {
  std::error_code ignored;
  struct stat facts {};
  if (::stat(path.c_str(), &facts) == 0 && S_ISCHR(facts.st_mode)) return true;
  auto probe = std::filesystem::path(path).parent_path();
  if (probe.empty()) probe = ".";
  int descriptor = ::open(probe.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (descriptor < 0) return false;
  bool dax = false;
  if (::ftruncate(descriptor, page_bytes) == 0) {
    void* at = ::mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED_VALIDATE | MAP_SYNC,
                      descriptor, 0);
    dax = at != MAP_FAILED;
    if (dax) ::munmap(at, page_bytes);
  }
  ::close(descriptor);
  return dax;
}

}  // namespace durahash
