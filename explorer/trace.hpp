// What happened on a medium, in order: the input of everything that reasons about crashes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "media/medium.hpp"

namespace durahash::crash {

/// A place in our sources that called a verb, and which verb.
struct place {
  std::string name;  // as the call gives it: "turbo.write.slot"; of stores empty
  std::string file;
  unsigned line = 0;
  verb which{};
  std::string text() const;  // the name; without one "src/engine/turbo/write.hpp:189 store"
  std::string told() const;  // all of it: "src/engine/turbo/write.hpp:189 flush turbo.write.slot"
  /// A commit point: the store that makes something true.
  bool commits() const { return which == verb::publish_unfenced; }
};

using place_index = std::uint32_t;

/// Gives every place a number, the same for equal places.
class places {
 public:
  place_index index_of(verb which, const site& where);
  const place& operator[](place_index i) const { return all_[i]; }
  std::size_t size() const { return all_.size(); }

 private:
  struct key {
    const char* name;
    const char* file;
    unsigned line;
    verb which;
    bool operator==(const key&) const = default;
  };
  place_index last_[256] = {};  // by line and verb, the last that was asked for
  std::vector<key> keys_;
  std::vector<place> all_;
};

struct event {
  enum class what : std::uint8_t {
    store,     // one aligned store of `size` bytes, at `offset`, of `value`
    piece,     // one of the unordered pieces of a wide store: those with the same `group`
    exchange,  // a locked instruction; a store where `size` is not 0
    flush,     // write-back of [offset, offset + value) started
    fence,
    begin,   // of call `value`
    end,     // of call `value`
    length,  // the file's length becomes `value`
  };
  what kind{};
  std::uint8_t thread = 0;
  std::uint8_t size = 0;
  place_index where = 0;
  std::uint32_t group = 0;
  std::uint64_t offset = 0;
  std::uint64_t value = 0;
};

using trace = std::vector<event>;

}  // namespace durahash::crash
