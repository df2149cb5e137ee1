#include "media/cache_line.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#else
#include <sys/auxv.h>
#endif

#include "base/check.hpp"

namespace durahash {

#if defined(__x86_64__)

flush_instruction best_flush_instruction() noexcept {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return flush_instruction::clflush;
  if (b & (1u << 24)) return flush_instruction::clwb;
  if (b & (1u << 23)) return flush_instruction::clflushopt;
  return flush_instruction::clflush;
}

#else

flush_instruction best_flush_instruction() noexcept {
  std::uint64_t cache_type = 0;  // bits 16 to 19: how many 4-byte words the smallest line has
  asm("mrs %0, ctr_el0" : "=r"(cache_type));
  const std::uint64_t smallest = std::uint64_t{4} << (cache_type >> 16 & 15);
  check(smallest >= short_line_bytes);
  const bool has_cvap = (::getauxval(AT_HWCAP) & HWCAP_DCPOP) != 0;
  if (smallest >= line_bytes) return has_cvap ? flush_instruction::cvap : flush_instruction::civac;
  return has_cvap ? flush_instruction::short_cvap : flush_instruction::short_civac;
}

#endif

}  // namespace durahash
