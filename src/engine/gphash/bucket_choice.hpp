// Which buckets get copies (GPHash §3.3), by what was noted of the looks at them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <random>
#include <vector>

namespace durahash::gphash {

enum class replacement_policy : std::uint8_t {
  lfu,  // by the looks since the load before the last, older ones counting half again and again
  lru,  // by the last look
  random,
};

inline constexpr std::uint64_t max_copies = 0xffffffffu;  // their numbers, from 1 on, have 32 bits

class bucket_choice {
 public:
  explicit bucket_choice(replacement_policy policy) noexcept : policy_(policy) {}
  bool by_looks() const noexcept { return policy_ == replacement_policy::lfu; }
  bool by_time() const noexcept { return policy_ == replacement_policy::lru; }

  /// At most `count` buckets: those with the highest marks, and none without one; or drawn ones.
  std::vector<bool> choose(const std::vector<std::uint32_t>& marks, std::uint32_t count) {
    std::vector<bool> chosen(marks.size());
    if (policy_ == replacement_policy::random) {
      for (std::uint32_t left = count; left != 0;) {
        std::uint64_t bucket = random_() % marks.size();
        if (!chosen[bucket]) chosen[bucket] = true, --left;
      }
      return chosen;
    }
    if (count == 0) return chosen;
    std::vector<std::uint32_t> sorted = marks;
    std::nth_element(sorted.begin(), sorted.begin() + (count - 1), sorted.end(), std::greater<>());
    std::uint32_t bar = sorted[count - 1], left = count;
    for (std::uint64_t bucket = 0; bucket < marks.size(); ++bucket)
      if (marks[bucket] > bar) chosen[bucket] = true, --left;
    for (std::uint64_t bucket = 0; bucket < marks.size() && left != 0 && bar != 0; ++bucket)
      if (marks[bucket] == bar) chosen[bucket] = true, --left;
    return chosen;
  }

 private:
  replacement_policy policy_;
  std::mt19937_64 random_;
};

}  // namespace durahash::gphash
