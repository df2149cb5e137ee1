// What writers of another process did to each key, in memory that all processes of a test share:
// how far they have begun, and how far they were told that it is done. With it a reader knows what
// it may be given.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <new>
#include <optional>
#include <string>

namespace durahash::test {

/// A key's versions count up. What a version is follows from its number: each seventh of a key that
/// comes and goes removes it, and version 0 is that it was never there.
struct key_ledger {
  std::atomic<std::uint32_t> begun, done;
};

class ledger {
 public:
  static constexpr std::uint32_t keys = 1 << 13;

  ledger() {
    void* at =
        ::mmap(nullptr, sizeof(shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();
    all_ = static_cast<shared*>(at);
  }
  ~ledger() { ::munmap(all_, sizeof(shared)); }
  ledger(const ledger&) = delete;

  key_ledger& of(std::uint32_t key) const noexcept { return all_->keys[key]; }
  /// How many keys there are by now: growth.
  std::atomic<std::uint32_t>& wanted() const noexcept { return all_->wanted; }
  std::atomic<std::uint64_t>& writes() const noexcept { return all_->writes; }
  std::atomic<bool>& stop() const noexcept { return all_->stop; }
  /// What a process that is not this one found wrong; the first of it.
  void complain(const std::string& what) const noexcept {
    if (all_->complaints.fetch_add(1) != 0) return;
    what.copy(all_->what, sizeof all_->what - 1);
  }
  std::uint64_t complaints() const noexcept { return all_->complaints; }
  std::string what() const { return all_->what; }
  std::atomic<std::uint64_t>& reads() const noexcept { return all_->reads; }

  static bool comes_and_goes(std::uint32_t key) noexcept { return key % 4 != 1; }
  static bool removes(std::uint32_t key, std::uint32_t version) noexcept {
    return version == 0 || (comes_and_goes(key) && version % 7 == 6);
  }

  /// What is wrong with an answer of a read that began when `before` was done and returned when
  /// `begun` was begun; empty if nothing is. `version`: what was found, or nothing.
  static std::string fault_of(std::uint32_t key, std::uint32_t before, std::uint32_t begun,
                              std::optional<std::uint32_t> version) {
    const std::string range = " of key " + std::to_string(key) + "; done before the read " +
                              std::to_string(before) + ", begun behind it " + std::to_string(begun);
    if (version) {
      if (*version < before || *version > begun || removes(key, *version))
        return "version " + std::to_string(*version) + range;
      return {};
    }
    for (std::uint32_t v = before; v <= begun; ++v)
      if (removes(key, v)) return {};
    return "nothing" + range;
  }

 private:
  struct shared {
    key_ledger keys[ledger::keys];
    std::atomic<std::uint32_t> wanted;
    std::atomic<std::uint64_t> writes, reads, complaints;
    std::atomic<bool> stop;
    char what[512];
  };
  shared* all_;
};

}  // namespace durahash::test
