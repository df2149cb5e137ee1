// How an engine tells what lies where in its pool: part by part, from the table's root to the
// records, to whoever wants to know (store/inspect.cpp). Each engine walks in its describe.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "durahash/detail/any_table.hpp"
#include "durahash/inspect.hpp"
#include "engine/frame/live_record.hpp"
#include "persist/heap.hpp"

namespace durahash {

/// Where a part lies and what it is counted as. `state` tells groups of a kind apart.
struct part {
  const char* kind;
  std::uint64_t offset, bytes;
  std::uint64_t named_by = 0;
  std::string_view state = {};
  bool listed = false;  // there are few of its kind
};

/// Is told of parts. Most of them it only counts: a name and facts are made when it asks for them.
class part_visitor {
 public:
  using tell = detail::function_ref<void(pool_part&)>;
  virtual void visit(const part& p, tell about) = 0;

 protected:
  ~part_visitor() = default;
};

/// A word for people, in hexadecimal.
std::string hex(std::uint64_t word);
std::string power_of_two(unsigned log2);

/// Of a level, which begins there and has 2^log2 of them.
template <class Level>
std::string name_of_bucket(const Level& l, std::uint64_t index) {
  return "level of " + power_of_two(l.log2) + " buckets at offset " + std::to_string(l.offset) +
         ", bucket " + std::to_string(index);
}

/// For figures: of so many, 0 of none.
inline double mean_of(std::uint64_t sum, std::uint64_t count) noexcept {
  return count == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(count);
}

/// What a slot or a record says of a key or a value.
void add_datum(pool_part& into, const std::string& name, data_kind kind, std::string_view bytes);

/// What the slot of a record says: key and value; where the record in the heap is, and whether it
/// is whole. `wanted` is the key that is looked for, or null.
template <class Kind, medium M>
void add_record(M& m, const pool<M>& p, const record_of<Kind>& r,
                const typename Kind::key_type* wanted, pool_part& into) {
  if constexpr (Kind::in_slot) {
    into.add("key", r.key_word);
    into.add("value", r.value_word);
    if (wanted != nullptr && *wanted == r.key_word) into.add("holds_key", true);
  } else {
    into.add("record", r.value_word);
    auto record = key_and_value<Kind>(m, p, r);
    if (!record) return into.add("damaged", std::string("no record can be there"));
    add_datum(into, "key", p.block().key, record->key);
    add_datum(into, "value", p.block().value, record->value);
    if (!is_whole(*record)) into.add("damaged", std::string("the record's checksum is wrong"));
    if (wanted != nullptr && *wanted == record->key) into.add("holds_key", true);
  }
}

/// Visits the record in the heap that a slot names, if one can be there. `named_by`: the slot's
/// value word.
template <class Kind, medium M>
void visit_record(M& m, const pool<M>& p, const record_of<Kind>& r, std::uint64_t named_by,
                  part_visitor& v) {
  if constexpr (!Kind::in_slot) {
    auto record = record_at(m, p, r.value_word);
    if (!record) return;
    v.visit({"record", r.value_word, record->bytes(), named_by}, [&](pool_part& into) {
      into.name = "record";
      add_record<Kind>(m, p, r, nullptr, into);
      std::erase_if(into.facts, [](const part_fact& f) { return f.name == "record"; });
    });
  }
}

/// Visits what the heap and the pool know of the space behind heap_offset: slabs and their cells,
/// extents, and what is free.
template <medium M>
void visit_space(pool<M>& p, heap<M>& h, bool known, part_visitor& v) {
  std::uint64_t begin = p.block().heap_offset;
  v.visit({.kind = "heap", .offset = begin, .bytes = p.end() - begin, .listed = true},
          [&](pool_part& into) {
            into.name = "heap";
            into.add("known", known);
            into.add("bytes_in_use", h.used_bytes());
            into.add("bytes_in_idle_cells", h.idle_cell_bytes());
            into.add("bytes_free", p.free_bytes());
          });
  if (!known) return;
  auto visit_slab = [&](const slab& s) {
    std::string cell = std::to_string(s.cell_bytes()) + "-byte cells";
    std::string which = "slab of " + cell + " at " + std::to_string(s.offset());
    v.visit({.kind = "slab", .offset = s.offset(), .bytes = slab_bytes, .state = cell},
            [&](pool_part& into) {
              into.name = which;
              into.add("cell_bytes", std::uint64_t{s.cell_bytes()});
              into.add("cells", std::uint64_t{s.cells()});
              into.add("cells_in_use", std::uint64_t{s.used()});
            });
    for (std::uint32_t i = 0; i < s.cells(); ++i) {
      bool in_use = s.in_use(i);
      v.visit({.kind = "cell",
               .offset = s.offset() + std::uint64_t{i} * s.cell_bytes(),
               .bytes = s.cell_bytes(),
               .state = in_use ? "in use" : "free"},
              [&](pool_part& into) {
                into.name = "cell " + std::to_string(i) + " of the " + which;
                into.add("in_use", in_use);
              });
    }
  };
  auto visit_extent = [&](std::uint64_t offset, std::uint64_t bytes, const char* state) {
    v.visit({.kind = "extent", .offset = offset, .bytes = bytes, .state = state},
            [&](pool_part& into) {
              into.name = std::string("extent ") + state;
              into.add("in_use", std::string_view(state) == "in use");
            });
  };
  h.for_each_extent(visit_slab, [&](std::uint64_t offset, std::uint64_t bytes) {
    visit_extent(offset, bytes, "in use");
  });
  p.for_each_free(
      [&](std::uint64_t offset, std::uint64_t bytes) { visit_extent(offset, bytes, "free"); });
}

}  // namespace durahash
