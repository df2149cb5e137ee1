// A table under exploration: an engine over a recording medium, behind a virtual line. One is
// listed per engine; kinds of records and levels follow.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "durahash/info.hpp"
#include "durahash/options.hpp"
#include "engine/concept.hpp"
#include "explorer/oracle.hpp"
#include "explorer/planted_bugs.hpp"
#include "explorer/tracer.hpp"
#include "persist/pool.hpp"

namespace durahash::crash {

/// An open table. Destroying it is what a kill does: nothing is written.
class subject {
 public:
  virtual ~subject() = default;
  /// Does the operation and fills in what it answered. `believed` is what an exchange expects.
  virtual void perform(call& c) = 0;
  // whether a get finds just this
  virtual bool holds(key_number key, const present_value& value) = 0;
  /// What a get of the key finds, told from `candidates`; nothing else than those is known. Returns
  /// false when it is none of them.
  virtual bool identify(key_number key, const std::vector<present_value>& candidates,
                        present_value& found) = 0;
  /// Every record once, told by their keys' text. Returns false when the scan failed.
  virtual bool scan(std::vector<std::string>& keys) = 0;
  virtual std::string key_text(key_number key) const = 0;
  virtual std::uint64_t size() = 0;
  virtual std::uint64_t unaccounted_bytes() = 0;  // of the pool: neither reachable nor free
  virtual check_report check() = 0;
};

/// A kind of table that can be made: engine x kind of records x level.
struct subject_kind {
  engine_kind engine{};
  data_kind data{};
  durability_level level{};
  std::map<std::string, std::uint64_t> settings;
  std::string variant;  // what the settings are for; empty: the usual
  bool words() const { return data == data_kind::u64; }
  std::string text() const;
};

/// Makes a new pool in an empty region, or opens the one that a crash left there.
using maker = std::function<std::unique_ptr<subject>(const subject_kind& kind, region& r, tracer& t,
                                                     bool create, std::string& why_not)>;

/// Settings that reach an engine's paths in small tables.
struct explored_variant {
  std::string name;
  std::map<std::string, std::uint64_t> settings;
  std::optional<data_kind> only = {};
  durability_level threads = durability_level::power;  // of programs of several threads
  // of its programs of one thread; 0: as many as usual. Of few keys each is changed again and again
  key_number keys = 0;
  // its first programs of several threads; the others are drawn
  std::vector<threaded_program> by_hand = {};
  std::vector<threaded_program> counted = {};  // likewise, of tables that are counted after a kill
  std::vector<threaded_program> beside = {};   // likewise, of what is done to a whole table
  // likewise, of what processes of their own read beside; nothing: it has no such readers
  std::optional<std::vector<threaded_program>> readers = std::nullopt;
};

/// The variant, read by processes of their own, too.
inline explored_variant with_readers(explored_variant v,
                                     std::vector<threaded_program> programs = {}) {
  v.readers = std::move(programs);
  return v;
}

/// The engines' own: subjects.cpp lists them.
struct explored_engine {
  engine_kind engine;
  maker make;
  std::vector<explored_variant> variants;
  // elisions, as the matrix names them, that break no promise, each with the argument
  std::map<std::string, std::string> equivalent = {};
  std::vector<planted_bug> bugs = {};  // of an engine that explorer/planted_bugs.cpp does not know
};
const std::vector<explored_engine>& explored_engines();

}  // namespace durahash::crash
