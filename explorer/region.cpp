#include "explorer/region.hpp"

#include <sys/mman.h>

#include <cstring>
#include <utility>

#include "base/check.hpp"

namespace durahash::crash {

namespace {
constexpr int garbage = 0xDB;
}

class region_mapping final : public mapping {
 public:
  region_mapping(region& r, std::function<void(std::uint64_t)> resized)
      : region_(r), resized_(std::move(resized)) {
    base_ = r.base_;
    backed_bytes_ = r.length_;
    reserved_bytes_ = region::max_bytes;
    domain_ = persistence_domain::memory_bus;
  }
  status appear() override { return status::ok; }
  bool is_shared() const noexcept override { return true; }
  std::byte* readers_line_apart() noexcept override { return region_.readers_line(); }
  status write_to_disk(std::uint64_t, std::uint64_t) override { return status::ok; }

 protected:
  status extend(std::uint64_t from, std::uint64_t to) override {
    std::memset(region_.base_ + from, garbage, to - from);
    return become(to);
  }
  void release(std::uint64_t from, std::uint64_t) override { become(from); }

 private:
  status become(std::uint64_t length) {
    region_.length_ = length;
    if (resized_) resized_(length);
    return status::ok;
  }

  region& region_;
  std::function<void(std::uint64_t)> resized_;
};

class region_beside final : public beside_mapping {
 public:
  explicit region_beside(region& r) : region_(r) { base_ = r.base_; }
  bool writer_is_there() const noexcept override { return true; }

 protected:
  bool holds_now(std::uint64_t offset, std::uint64_t bytes) noexcept override {
    return bytes <= region_.length_ && offset <= region_.length_ - bytes;
  }

 private:
  region& region_;
};

region::region() {
  void* at = ::mmap(nullptr, max_bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  check(at != MAP_FAILED, "addresses for a region");
  base_ = static_cast<std::byte*>(at);
}

region::~region() { ::munmap(base_, max_bytes); }

void region::load(const bytes& image) {
  if (!image.empty()) std::memcpy(base_, image.data(), image.size());
  length_ = image.size();
}

std::unique_ptr<beside_mapping> region::map_beside() {
  return std::make_unique<region_beside>(*this);
}

std::unique_ptr<mapping> region::map(std::function<void(std::uint64_t)> resized) {
  return std::make_unique<region_mapping>(*this, std::move(resized));
}

}  // namespace durahash::crash
