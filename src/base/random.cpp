#include "base/random.hpp"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <mutex>
#include <optional>
#include <random>
#include <span>

#include "base/hash.hpp"

namespace durahash {
namespace {

void fill_with_facts(std::span<unsigned char> left) {
  static std::atomic<std::uint64_t> calls{0};
  struct {
    timespec now{}, since_boot{};
    std::uint64_t process = static_cast<std::uint64_t>(::getpid()), call = 0;
    const void* stack = nullptr;
  } facts;
  facts.stack = &facts;
  while (!left.empty()) {
    ::clock_gettime(CLOCK_REALTIME, &facts.now);
    ::clock_gettime(CLOCK_BOOTTIME, &facts.since_boot);
    facts.call = ++calls;
    std::uint64_t word = checksum(&facts, sizeof facts, facts.call);
    std::size_t some = std::min(left.size(), sizeof word);
    std::memcpy(left.data(), &word, some);
    left = left.subspan(some);
  }
}

struct repeated_source {
  std::mutex guard;
  std::optional<std::mt19937_64> words;  // guarded; nothing unless a program asked for it

  bool fill(std::span<unsigned char> all) {
    std::scoped_lock lock(guard);
    if (!words) return false;
    for (unsigned char& byte : all) byte = static_cast<unsigned char>((*words)() >> 56);
    return true;
  }
};
repeated_source& repeated() {
  static repeated_source one;
  return one;
}

}  // namespace

void repeat_random(std::uint64_t seed) {
  std::scoped_lock lock(repeated().guard);
  repeated().words.emplace(seed);
}

void fill_random(void* at, std::size_t bytes) {
  std::span left(static_cast<unsigned char*>(at), bytes);
  if (repeated().fill(left)) return;
  for (int tries = 0; tries < 100 && !left.empty(); ++tries) {
    ssize_t got = ::getrandom(left.data(), left.size(), 0);
    if (got > 0) left = left.subspan(static_cast<std::size_t>(got));
    else if (errno != EINTR && errno != EAGAIN) break;
  }
  fill_with_facts(left);
}

}  // namespace durahash
