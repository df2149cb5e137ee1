// What a table may hold after a crash, by the promise alone: what returned is there, what had not
// returned is there or not, what a reader was given stays. For each key, all orders of its calls
// that respect real time and explain their results (durable linearizability).
#pragma once

#include <optional>
#include <vector>

#include "explorer/program.hpp"

namespace durahash::crash {

using present_value = std::optional<value_id>;

/// A call's part that concerns one key, with its result if it returned.
struct key_call {
  act what{};
  key_number key = 0;
  value_id argument = 0;
  value_id expected = 0;    // of an exchange
  bool ok = false;          // as the call answered
  present_value read = {};  // what a get found, an add found before, an erase took
};

/// One operation of a run.
struct call {
  operation what;
  unsigned thread = 0;
  std::vector<key_call> parts;  // of a scan: a get of each key
  std::string fault = {};       // what no state of the table explains; empty: nothing
};

class oracle {
 public:
  /// `before`: what the table holds to begin with, by key.
  explicit oracle(std::vector<present_value> before);

  /// The call begins, ends; its results are looked at only after the end. It must outlive the
  /// oracle.
  void begin(const call& c);
  void end(const call& c);
  /// The process died: calls that are under way have taken effect by now, or never will.
  void kill();

  const std::vector<present_value>& allowed(key_number key) const { return allowed_[key]; }
  key_number keys() const { return static_cast<key_number>(allowed_.size()); }

  /// Of all that is allowed: equal hashes, equal verdicts.
  std::uint64_t hash() const;

 private:
  struct step {
    const key_call* call;
    std::uint64_t began, ended;  // ended: of a call that returned
    std::uint64_t died;          // of one that never will
  };
  void explain(key_number key);
  void search(const std::vector<step>& steps, std::uint64_t done, present_value state,
              std::vector<present_value>& found) const;

  std::vector<present_value> before_;
  std::vector<std::vector<step>> steps_;  // by key
  std::vector<std::vector<present_value>> allowed_;
  std::uint64_t now_ = 0;
};

}  // namespace durahash::crash
