#include "bench/scratch_pool.hpp"

#include <cstdlib>

namespace durahash::bench {

std::string default_path() {
  std::string folder = "/dev/shm";
  if (::access(folder.c_str(), W_OK) != 0) {
    const char* chosen = std::getenv("TMPDIR");
    folder = chosen != nullptr && *chosen != '\0' ? chosen : "/tmp";
  }
  return folder + "/durahash-bench-" + std::to_string(::getpid()) + ".dh";
}

options options_of(const request& asked, engine_kind engine) {
  options how;
  how.mode = open_mode::create_new;
  how.engine = engine;
  how.key = how.value = asked.shape.kind;
  how.durability = asked.durability;
  how.medium = asked.medium;
  how.settings = asked.settings;
  how.log_bytes = asked.log_bytes;
  how.lag_milliseconds = asked.lag_milliseconds;
  how.flush_latency_ns = asked.flush_latency_ns;
  how.read_latency_ns = asked.read_latency_ns;
  how.block_latency_ns = asked.block_latency_ns;
  how.address_space_bytes = asked.address_space_bytes;
  return how;
}

}  // namespace durahash::bench
