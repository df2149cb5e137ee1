#include <durahash/map.hpp>

#include <csignal>
#include <cstdint>
#include <iostream>

int main(int argc, char** argv) {
  auto visits =
      durahash::map<std::uint64_t, std::uint64_t>::open(argc > 1 ? argv[1] : "/dev/shm/visits.dh");
  if (!visits) return std::cerr << visits.failure().message << '\n', 3;

  std::uint64_t before = 0;
  visits->fetch_add(42, 1, before);
  std::cout << "this program was killed " << before << " times\n" << std::flush;
  std::raise(SIGKILL);  // nothing was closed, nothing was flushed: run it again
}
