#include "engine/figures.hpp"

namespace durahash {

void add_figures(table_stats& stats, std::initializer_list<figure> figures) {
  for (const figure& f : figures) stats.figures.emplace_back(f.name, f.value);
}

}  // namespace durahash
