// Which machine the figures are of.
#pragma once

#include <string>

namespace durahash::bench {

struct machine_facts {
  std::string cpu;
  unsigned cores = 0;  ///< that this process may use
  std::string kernel;
  std::string commit;      ///< of the source this was built from; "unknown" outside a checkout
  std::string huge_pages;  ///< the kernel's setting for anonymous memory: always, madvise or never
};

machine_facts this_machine();

}  // namespace durahash::bench
