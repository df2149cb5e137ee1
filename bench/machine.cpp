#include "bench/machine.hpp"

#include <sched.h>
#include <sys/utsname.h>

#include <fstream>

#ifndef DURAHASH_COMMIT
#define DURAHASH_COMMIT "unknown"
#endif

namespace durahash::bench {
namespace {

std::string cpu_model() {
  std::ifstream facts("/proc/cpuinfo");
  for (std::string line; std::getline(facts, line);)
    if (line.starts_with("model name"))
      if (auto colon = line.find(": "); colon != std::string::npos) return line.substr(colon + 2);
  return "unknown";
}

unsigned usable_cores() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? static_cast<unsigned>(CPU_COUNT(&set)) : 0;
}

std::string kernel_release() {
  utsname name{};
  return uname(&name) == 0 ? std::string(name.sysname) + " " + name.release : "unknown";
}

// The file says "always [madvise] never": the one in brackets holds.
std::string huge_page_setting() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string line;
  std::getline(file, line);
  auto open = line.find('['), close = line.find(']');
  return open < close && close != std::string::npos ? line.substr(open + 1, close - open - 1)
                                                    : "unknown";
}

}  // namespace

machine_facts this_machine() {
  return {cpu_model(), usable_cores(), kernel_release(), DURAHASH_COMMIT, huge_page_setting()};
}

}  // namespace durahash::bench
