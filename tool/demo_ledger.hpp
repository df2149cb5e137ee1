// What the demo knows must be in the pool, and the comparison with what is.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "demo_acks.hpp"
#include "demo_files.hpp"
#include "demo_worker.hpp"
#include "durahash/table.hpp"

namespace durahash::tool {

/// The outcome of one comparison. Anything in `complaints` is a promise broken.
struct verdict {
  /// acknowledged records, present or erased, that are as they were acknowledged
  std::uint64_t acknowledged = 0;
  std::uint64_t in_flight = 0;  ///< found done though the worker died before it said so
  std::uint64_t records = 0;    ///< in the pool
  std::uint64_t broken = 0;
  std::vector<std::string> complaints;  ///< the first few of them
};

class ledger {
 public:
  explicit ledger(const std::vector<file_entry>& files);

  /// From here on workers do `work` to `targets`.
  void begin(work_kind work, const std::vector<const file_entry*>& targets);

  void note(const acknowledgement& ack);

  /// Acknowledged since `begin`, or found done by `verify`.
  std::uint64_t done() const { return done_; }

  /// Looks every file up and visits every record. `kills` workers died since the last verification,
  /// so at most as many batches may be done and not acknowledged; what is found so counts as
  /// acknowledged from then on, for it has been read.
  verdict verify(const table& pool, std::uint64_t kills);

  /// Whether there is a file of this path.
  bool knows(std::string_view path) const { return index_.contains(path); }

  /// Files whose record is in the pool.
  std::vector<const file_entry*> present() const;
  /// The value that this one's record has. Only for files that `present` names.
  const std::string& value_of(const file_entry& file) const;

 private:
  struct entry {
    const file_entry* file = nullptr;
    std::optional<std::string> value;  // acknowledged
    bool target = false;               // of the present work
    bool acknowledged = false;         // in the present work
    bool ever = false;                 // acknowledged in any
  };

  void compare(entry& known, const std::string* found, verdict& result);
  void visit_all(const table& pool, verdict& result) const;
  bool may_be_in_flight(const entry& known, const std::string* found) const;

  std::vector<entry> entries_;
  std::unordered_map<std::string_view, std::size_t> index_;  // into entries_, by path
  work_kind work_ = work_kind::index;
  std::uint64_t done_ = 0;
};

}  // namespace durahash::tool
