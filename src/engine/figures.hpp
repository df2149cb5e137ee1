// What an engine tells of itself in numbers (table_stats::figures).
#pragma once

#include <initializer_list>
#include <type_traits>

#include "durahash/info.hpp"

namespace durahash {

struct figure {
  const char* name;
  double value;

  template <class Number>
    requires std::is_arithmetic_v<Number> figure(const char* of, Number number)
  noexcept : name(of), value(static_cast<double>(number)) {}
};

void add_figures(table_stats& stats, std::initializer_list<figure> figures);

}  // namespace durahash
