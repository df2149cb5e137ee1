// What a program says of persistent memory whose library was built without libpmem2.
#include <cstdio>

#include "durahash/table.hpp"

int main() {
  durahash::options how;
  how.medium = durahash::medium_kind::pmem;
  auto opened = durahash::table::open("/dev/shm/none.dh", how);
  if (opened) return 1;
  std::puts(opened.failure().message.c_str());
}
