// A persistent store as the comparison on a disk sees it: durahash and its peers alike.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "bench/random.hpp"

namespace durahash::peers {

[[noreturn]] inline void fail(const std::string& why) { throw std::runtime_error(why); }

/// Two words, or byte strings of these lengths.
struct record_shape {
  bool words = true;
  std::size_t key_bytes = 8, value_bytes = 8;
};

/// The value that belongs to a key.
inline std::uint64_t value_of(std::uint64_t key) { return bench::mix(key + 1); }

/// A record in bytes: the word, then a filling that does not compress to nothing.
class encoder {
 public:
  explicit encoder(const record_shape& shape)
      : key_(shape.key_bytes, '\0'), value_(shape.value_bytes, '\0') {
    bench::random_source random(7);
    for (char& c : key_) c = static_cast<char>(random.word());
    for (char& c : value_) c = static_cast<char>(random.word());
  }
  std::string_view key(std::uint64_t word) {
    std::memcpy(key_.data(), &word, sizeof word);
    return key_;
  }
  std::string_view value(std::uint64_t key) {
    std::uint64_t word = value_of(key);
    std::memcpy(value_.data(), &word, sizeof word);
    return value_;
  }
  static std::uint64_t word_of(const void* bytes) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes, sizeof word);
    return word;
  }

 private:
  std::string key_, value_;
};

/// What one thread does. A `put` is durable on return as the store's mode says; so are those of a
/// group, which is one transaction where there are some. Throws where the store refuses.
class session {
 public:
  virtual ~session() = default;
  virtual void put(std::span<const std::uint64_t> keys) = 0;
  /// Whether the key is there with its value.
  virtual bool get(std::uint64_t key) = 0;
};

class store {
 public:
  virtual ~store() = default;
  virtual std::unique_ptr<session> new_session() = 0;
  /// Leaves files that the next process opens.
  virtual void close() = 0;
};

struct store_request {
  std::string name, mode;
  std::string folder;  ///< exists, is empty, on the disk to measure
  record_shape shape;
};

/// Null for a name that another function knows.
std::unique_ptr<store> open_durahash(const store_request& asked);
std::unique_ptr<store> open_sqlite(const store_request& asked);
std::unique_ptr<store> open_lmdb(const store_request& asked);
std::unique_ptr<store> open_rocksdb(const store_request& asked);

}  // namespace durahash::peers
