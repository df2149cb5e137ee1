// Makes a pool with a small log, which goes round soon: checkpoints come often then. For the guest;
// `durahash create` makes logs of 64 MiB and more.
//
//   create_pool PATH ENGINE u64|bytes LEVEL LOG_BYTES
#include <cstdio>
#include <string>

#include "durahash/table.hpp"

int main(int count, char** words) {
  using namespace durahash;
  if (count != 6) return 2;
  options how;
  how.mode = open_mode::create_new;
  how.engine = *engine_named(words[2]);
  how.key = how.value = *data_kind_named(words[3]);
  how.durability = *durability_named(words[4]);
  how.log_bytes = std::stoull(words[5]);
  auto pool = table::open(words[1], how);
  if (!pool) return std::fprintf(stderr, "%s\n", pool.failure().message.c_str()), 1;
  return pool->close() == status::ok ? 0 : 1;
}
