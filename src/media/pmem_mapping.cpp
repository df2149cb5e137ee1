#include "media/pmem_mapping.hpp"

#include <fcntl.h>
#include <libpmem2.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <vector>

#include "base/bits.hpp"
#include "media/file_lock.hpp"

namespace durahash {
namespace {

constexpr std::uint64_t unit_bytes = 2u << 20;  // granularity of growth and of DAX mappings

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
    for (pmem2_map*& part : parts_) pmem2_map_delete(&part);
    if (source_ != nullptr) pmem2_source_delete(&source_);
    if (reservation_ != nullptr) pmem2_vm_reservation_delete(&reservation_);
    if (cut_on_close_ && ::ftruncate(file_.descriptor(), static_cast<off_t>(backed_bytes_)) != 0) {
      // The file stays longer than needed, and is valid so.
    }
  }
  status appear() override { return file_.appear(); }
  status write_to_disk(std::uint64_t, std::uint64_t) override { return status::ok; }

 protected:
  status extend(std::uint64_t from, std::uint64_t to) override {
    if (device_) return to <= mapped_bytes_ ? status::ok : status::no_space;
    if (::posix_fallocate(file_.descriptor(), static_cast<off_t>(from), static_cast<off_t>(to - from)) != 0)
      return status::no_space;
    if (to <= mapped_bytes_) return status::ok;
    std::uint64_t until = align_up(to, unit_bytes);
    if (until > to &&
        ::posix_fallocate(file_.descriptor(), static_cast<off_t>(to), static_cast<off_t>(until - to)) != 0)
      return status::no_space;
    return map_part(mapped_bytes_, until) == 0 ? status::ok : status::no_space;
  }
  void release(std::uint64_t from, std::uint64_t to) override {
    if (device_) return;
    ::fallocate(file_.descriptor(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(from),
                static_cast<off_t>(to - from));
    cut_on_close_ = true;
  }

 private:
  explicit pmem_mapping(locked_file file) : file_(std::move(file)) {}

  error prepare(const mapping_request& request) {
    struct stat facts {};
    ::fstat(file_.descriptor(), &facts);
    device_ = S_ISCHR(facts.st_mode);
    if (pmem2_source_from_fd(&source_, file_.descriptor()) != 0) return refused(request.path);
    std::uint64_t bytes = 0;
    std::size_t size = 0;
    if (pmem2_source_size(source_, &size) == 0) bytes = size;
    if (!device_ && bytes % unit_bytes != 0) {  // whole units, so that parts can be mapped behind one another
      if (request.read_only) bytes = align_down(bytes, page_bytes);
      else if (::posix_fallocate(file_.descriptor(), 0, static_cast<off_t>(align_up(bytes, unit_bytes))) == 0)
        bytes = align_up(bytes, unit_bytes);
    }
    reserved_bytes_ = align_up(std::max(request.address_space_bytes, bytes), unit_bytes);
    if (pmem2_vm_reservation_new(&reservation_, nullptr, reserved_bytes_) != 0) return refused(request.path);
    base_ = static_cast<std::byte*>(pmem2_vm_reservation_get_address(reservation_));
    bool grew = false;
    if (bytes == 0) {  // something must be mapped to learn what the path is
      if (::posix_fallocate(file_.descriptor(), 0, unit_bytes) != 0) return system_error(status::no_space, "cannot extend", request.path);
      bytes = unit_bytes;
      grew = true;
    }
    if (int failed = map_part(0, bytes); failed != 0) {
      if (failed == PMEM2_E_GRANULARITY_NOT_SUPPORTED)
        return {status::unusable, "cannot promise durability power for " + request.path +
                                      ": its file system is not DAX (MAP_SYNC refused), and the page cache is not persistent memory; "
                                      "durability process survives kill -9 there"};
      return refused(request.path);
    }
    backed_bytes_ = grew && !device_ ? 0 : align_down(bytes, page_bytes);
    return {status::ok, {}};
  }

  int map_part(std::uint64_t from, std::uint64_t to) {
    pmem2_config* config = nullptr;
    if (int failed = pmem2_config_new(&config); failed != 0) return failed;
    pmem2_config_set_required_store_granularity(config, PMEM2_GRANULARITY_CACHE_LINE);
    pmem2_config_set_offset(config, from);
    pmem2_config_set_length(config, to - from);
    pmem2_config_set_sharing(config, PMEM2_SHARED);
    if (read_only_) pmem2_config_set_protection(config, PMEM2_PROT_READ);
    pmem2_config_set_vm_reservation(config, reservation_, from);
    pmem2_map* part = nullptr;
    int failed = pmem2_map_new(&part, config, source_);
    pmem2_config_delete(&config);
    if (failed != 0) return failed;
    parts_.push_back(part);
    domain_ = pmem2_map_get_store_granularity(part) == PMEM2_GRANULARITY_BYTE ? persistence_domain::cpu_cache
                                                                              : persistence_domain::memory_bus;
    mapped_bytes_ = to;
    return 0;
  }

  static error refused(const std::string& path) {
    return {status::unusable, "cannot map " + path + " as persistent memory: " + pmem2_errormsg()};
  }

  locked_file file_;
  pmem2_source* source_ = nullptr;
  pmem2_vm_reservation* reservation_ = nullptr;
  std::vector<pmem2_map*> parts_;
  std::uint64_t mapped_bytes_ = 0;
  bool device_ = false;
  bool cut_on_close_ = false;
};

}  // namespace

result<std::unique_ptr<mapping>> open_pmem_mapping(const mapping_request& request) { return pmem_mapping::open(request); }

bool is_persistent_memory(const std::string& path) {
  std::error_code ignored;
  struct stat facts {};
  if (::stat(path.c_str(), &facts) == 0 && S_ISCHR(facts.st_mode)) return true;
  auto probe = std::filesystem::path(path).parent_path();
  if (probe.empty()) probe = ".";
#ifndef MAP_SYNC
#define MAP_SYNC 0x080000
#endif
  int descriptor = ::open(probe.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (descriptor < 0) return false;
  bool dax = false;
  if (::ftruncate(descriptor, page_bytes) == 0) {
    void* at = ::mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED_VALIDATE | MAP_SYNC, descriptor, 0);
    dax = at != MAP_FAILED;
    if (dax) ::munmap(at, page_bytes);
  }
  ::close(descriptor);
  return dax;
}

}  // namespace durahash
