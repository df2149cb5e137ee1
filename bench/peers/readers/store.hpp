// A store as the comparison of readers sees it: one process writes, others read. Records are two
// words; a value says its key and how often it was put.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

#include "bench/random.hpp"

namespace durahash::peers {

[[noreturn]] inline void fail(const std::string& why) { throw std::runtime_error(why); }

inline std::uint64_t key_of(std::uint64_t n) { return bench::mix(n + 1); }
inline std::uint64_t value_of(std::uint64_t key, std::uint64_t turn) {
  return bench::mix(key) << 16 | (turn & 0xffff);
}
inline bool is_value_of(std::uint64_t key, std::uint64_t value) {
  return value >> 16 == bench::mix(key) << 16 >> 16;
}

class store {
 public:
  virtual ~store() = default;
  /// Survives the death of the process on return.
  virtual void put(std::uint64_t key, std::uint64_t value) = 0;
  /// A read of its own: false if the key is not there with a value of its.
  virtual bool get(std::uint64_t key) = 0;
  /// Begins to read, and never ends.
  virtual void begin_to_read(std::uint64_t key) = 0;
  /// Copies the store while another process writes.
  virtual void copy(const std::string& to) = 0;
};

enum class role : std::uint8_t { makes, writes, reads };

/// Of a folder. `name`: lmdb, or an engine.
std::unique_ptr<store> open_store(const std::string& name, const std::string& folder, role as);
/// The file that has the records.
std::string file_of(const std::string& name, const std::string& folder);

}  // namespace durahash::peers
