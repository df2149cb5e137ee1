// Explores until a violation is found, or the bounds are reached. Exit code 0: found, and told; 1: not found.
#include <cstdio>
#include <cstdlib>

#include "crash/campaign.hpp"

int main(int argc, char** argv) {
  using namespace durahash::crash;
  if (argc != 6) return 2;
  campaign what;
  what.engine = durahash::engine_named(argv[1]).value();
  what.seed = std::strtoull(argv[2], nullptr, 10);
  what.rounds = std::strtoull(argv[3], nullptr, 10);
  what.operations = std::strtoull(argv[4], nullptr, 10);
  what.elisions = false;
  what.smallest = false;
  what.pace = pace::quick;
  what.schedules = 3000;
  what.only = argv[5];
  outcome result = run(what, [](double, const std::string&) {});
  std::printf("%llu unique images in %.1f s: ", static_cast<unsigned long long>(result.found.unique_images), result.seconds);
  if (result.found.violations.empty()) return std::puts("nothing found"), 1;
  std::puts(result.found.violations.front().what.c_str());
  return 0;
}
