// A medium for tests: process memory that tells of loads and stores, where a test asks. The hooks
// are set before other threads use the pool; each is called by the thread that loads or stores.
#pragma once

#include <functional>

#include "media/process_medium.hpp"

namespace durahash::test {

class hooked_medium : public process_medium {
 public:
  using hook = std::function<void(std::uint64_t offset)>;
  hook on_read, before_bytes_are_read, before_store, after_store;

  explicit hooked_medium(const std::byte* base) : base_(base) {}

  template <class T>
  T read(const T* at) noexcept {
    tell(on_read, at);
    return direct_access::read(at);
  }
  void will_read(const void* at, std::size_t) const noexcept { tell(before_bytes_are_read, at); }
  template <class T>
  void write(T* at, T value) noexcept {
    tell(before_store, at);
    direct_access::write(at, value);
    tell(after_store, at);
  }
  void write_bytes(void* at, const void* from, std::size_t bytes) noexcept {
    tell(before_store, at);
    direct_access::write_bytes(at, from, bytes);
    tell(after_store, at);
  }
  template <class T>
  bool exchange_if(T* at, T expected, T desired) noexcept {
    tell(before_store, at);
    const bool exchanged = direct_access::exchange_if(at, expected, desired);
    tell(after_store, at);
    return exchanged;
  }

 private:
  [[gnu::always_inline]] void tell(const hook& asked, const void* at) const noexcept {
    if (asked) [[unlikely]]
      asked(static_cast<std::uint64_t>(static_cast<const std::byte*>(at) - base_));
  }

  const std::byte* base_;
};
static_assert(medium<hooked_medium>);

}  // namespace durahash::test
