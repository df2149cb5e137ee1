// The library as a plugin has it: within a shared object that is loaded while threads run.
#include <string>
#include <thread>

#include "durahash/table.hpp"

/// Opens the pool, writes and reads beside another thread's reads, and closes it. 0: all was right.
extern "C" __attribute__((visibility("default"))) int use_a_pool(const char* path) {
  auto opened = durahash::table::open(path);
  if (!opened) return 1;
  durahash::table& table = *opened;
  for (int n = 0; n < 2000; ++n)
    if (table.put("key " + std::to_string(n), "value") != durahash::status::ok) return 2;
  int missing = 0;
  std::thread reader([&] {
    for (int n = 0; n < 2000; ++n) missing += !table.get("key " + std::to_string(n)).has_value();
  });
  for (int n = 0; n < 2000; ++n)
    missing += table.put("key " + std::to_string(n), "another one") != durahash::status::ok;
  reader.join();
  if (missing != 0) return 3;
  return table.close() == durahash::status::ok ? 0 : 4;
}
