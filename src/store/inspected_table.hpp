// A table that is only looked at, whatever its engine.
#pragma once

#include <string_view>

namespace durahash {

class part_visitor;

class inspected_table {
 public:
  virtual ~inspected_table() = default;
  virtual void each_part(part_visitor& v) = 0;
  virtual bool takes_key(std::string_view key) = 0;
  /// Of a key that it takes, as `holds`.
  virtual void each_candidate(std::string_view key, part_visitor& v) = 0;
  virtual bool holds(std::string_view key) = 0;
};

}  // namespace durahash
