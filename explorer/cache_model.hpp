// The persistency model: what each cache line may hold after a crash
// (docs/explanation/persistence.md, "The model").
//
// A line holds what was guaranteed of it plus any prefix of the groups of stores after that. A
// group is one store, or the pieces of one wide store, which come in no order; of the last group
// any part may be there. Lines are independent. A flush covers the stores before it, and binds at
// the next fence or locked instruction of its thread.
#pragma once

#include <array>
#include <map>
#include <vector>

#include "base/bits.hpp"
#include "explorer/region.hpp"
#include "explorer/trace.hpp"

namespace durahash::crash {

using line_content = std::array<std::byte, line_bytes>;
using line_number = std::uint32_t;

std::uint64_t hash_of(line_number line, const std::byte* content);

/// One thing that a line may hold.
struct line_option {
  line_content content;
  std::uint64_t hash;
  std::uint32_t kept;  // how many of its pending stores, for people
};

/// A line with stores that are not guaranteed.
struct pending_line {
  struct store {
    std::uint8_t at, size;
    std::uint32_t group;
    std::uint64_t value;
    place_index where;
    bool commits;
  };
  std::vector<store> stores;
  std::uint64_t first = 0;           // stores of this line before these, ever
  std::vector<line_option> options;  // [0] nothing kept; made by `options_of`
  // the option with every store kept: 0 where they end with what was there before
  std::uint32_t all = 0;
  // how many different contents there are; options may be fewer
  double choices = 1;
  bool stale = true;  // options are not those of the stores
  bool commits() const;
};

class cache_model {
 public:
  /// All of `durable` is guaranteed.
  explicit cache_model(bytes durable);

  /// `is_commit` says which places are commit points.
  void apply(const event& e, const places& where);

  /// A thread or process that died fences nothing any more; what it stored stays visible.
  void forget_flushes() { flushing_.clear(); }

  const bytes& durable() const { return durable_; }
  std::uint64_t hash() const { return hash_; }  // of durable()
  std::map<line_number, pending_line>& pending() { return pending_; }
  bytes visible() const;

  /// Lines of durable() that changed since the last call.
  std::vector<line_number> take_changed();

  /// Brings a line's options up to date: at most `most` of them, all if there are no more.
  const std::vector<line_option>& options_of(line_number line, pending_line& p, std::size_t most);

 private:
  void add(const event& e, const places& where);
  void guarantee(line_number line, std::uint64_t up_to);
  void resize(std::uint64_t length);

  struct started {
    line_number line;
    std::uint64_t up_to;
  };
  bytes durable_;
  std::uint64_t hash_ = 0;
  std::map<line_number, pending_line> pending_;
  std::map<line_number, std::uint64_t> stores_ever_;
  std::map<unsigned, std::vector<started>> flushing_;  // by thread
  std::vector<line_number> changed_;
};

}  // namespace durahash::crash
