// Items out of place: a slot of the table is a word that names one. Each takes a line.
#pragma once

#include "bench/baselines/design.hpp"

namespace durahash::baselines {

template <class M>
class items {
 public:
  explicit items(space<M>& memory) : memory_(memory) {}

  record& at(std::uint64_t offset) const { return *memory_.template at<record>(offset); }

  /// Durable, and nothing names it yet. Returns 0 where there is no room.
  std::uint64_t make(std::uint64_t key, std::uint64_t value, site where) {
    const std::uint64_t made = memory_.allocate(sizeof(record));
    if (made == 0) return 0;
    M& m = memory_.medium();
    store(m, at(made).key, key);
    store(m, at(made).value, value);
    (void)persist(m, extent_of(at(made)), where);
    return made;
  }
  void free(std::uint64_t offset) { memory_.release(offset, sizeof(record)); }
  /// Recovery. Returns false of one outside of the memory.
  bool reach(std::uint64_t offset) { return memory_.reach(offset, sizeof(record)); }

 private:
  space<M>& memory_;
};

}  // namespace durahash::baselines
