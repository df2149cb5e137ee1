#include "base/process_mark.hpp"

#include <pthread.h>
#include <sys/mman.h>

#include <cstring>
#include <mutex>
#include <new>

#include "base/bits.hpp"

namespace durahash {
namespace {

/// Pages that a child finds wiped, also one that was made by a bare clone(). Each process uses a
/// byte of its own, so that what its parents have used stays zero.
struct marks {
  std::mutex lock;
  unsigned char* page = nullptr;
  std::size_t used = 0;  // bytes of the page, the last one by this process or its parent

  void take_page() {
    void* got =
        ::mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (got == MAP_FAILED) throw std::bad_alloc();
    page = static_cast<unsigned char*>(got);
    used = 0;
    // where the kernel cannot, `wipe` does it for fork()
    ::madvise(page, page_bytes, MADV_WIPEONFORK);
  }
  void wipe() noexcept {
    if (page != nullptr) std::memset(page, 0, page_bytes);
  }
};

marks& of_process() noexcept {
  alignas(marks) static unsigned char memory[sizeof(marks)];
  static marks& made = []() -> marks& {
    auto* first = new (memory) marks;
    pthread_atfork([] { of_process().lock.lock(); }, [] { of_process().lock.unlock(); },
                   [] {
                     of_process().wipe();
                     of_process().lock.unlock();
                   });
    return *first;
  }();
  return made;
}

}  // namespace

const volatile unsigned char* this_process_mark() {
  marks& m = of_process();
  std::scoped_lock lock(m.lock);
  if (m.page == nullptr || m.used == page_bytes) m.take_page();
  if (m.used != 0 && m.page[m.used - 1] != 0) return &m.page[m.used - 1];
  m.page[m.used] = 1;
  return &m.page[m.used++];
}

}  // namespace durahash
