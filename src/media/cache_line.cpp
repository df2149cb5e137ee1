#include "media/cache_line.hpp"

#include <cpuid.h>

namespace durahash {

flush_instruction best_flush_instruction() noexcept {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return flush_instruction::clflush;
  if (b & (1u << 24)) return flush_instruction::clwb;
  if (b & (1u << 23)) return flush_instruction::clflushopt;
  return flush_instruction::clflush;
}

}  // namespace durahash
