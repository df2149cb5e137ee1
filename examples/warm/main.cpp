#include <durahash/table.hpp>

#include <atomic>
#include <chrono>
#include <csignal>
#include <iostream>
#include <string>

std::atomic<bool> stopping{false};

int main(int, char** argv) {
  std::signal(SIGTERM, [](int) { stopping = true; });
  auto began = std::chrono::steady_clock::now();
  durahash::options how;
  how.capacity = 1'000'000;  // of a new pool
  auto cache = durahash::table::open(argv[1], how);
  if (!cache) return std::cerr << cache.failure().message << '\n', 3;
  auto opened = std::chrono::steady_clock::now() - began;
  std::cout << "open after " << std::chrono::duration<double, std::milli>(opened).count() << " ms, "
            << cache->size() << " records\n";

  std::string key, value;
  while (!stopping && std::cin >> key >> value)
    if (auto answer = cache->put(key, value); answer != durahash::status::ok)
      return std::cerr << message(answer) << '\n', 1;
  return cache->close() == durahash::status::ok ? 0 : 1;
}
