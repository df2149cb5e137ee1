#include "bench/baselines/level_paper.hpp"

#include "bench/baselines/descriptions.hpp"
#include "bench/baselines/level_load_factor.hpp"

namespace durahash::baselines {
namespace {

// In the order of level_paper::hole_index.
constexpr hole level_paper_holes[] = {
    {"level-paper.erase-one-copy", "Level §3.3, log-free deletion and insertion",
     "a crash in a movement leaves an item twice; a deletion takes one token away, and the other "
     "copy answers from then on",
     "a deletion takes the tokens of all copies away"},
    {"level-paper.root-in-words", "Level's code, level_expand",
     "sizes and levels change one word after the other; between them every item is looked for in "
     "the wrong place",
     "one word tells which of two sets of words is in force"},
    {"level-paper.read-before-durable", "Level §3.3: recovery looks at the log and one item",
     "after the death of its process an item is read that was never flushed, and a later loss of "
     "power undoes it",
     "recovery writes everything back before the first answer"},
};

template <level_decisions D>
double fill_once(std::uint64_t capacity, std::uint64_t seed) {
  mapping_request wanted;
  wanted.medium = medium_kind::memory;
  wanted.address_space_bytes = wanted.max_bytes = std::uint64_t{1} << 32;
  auto memory = mapping::open(wanted);
  check(static_cast<bool>(memory), "no memory for a measurement");
  process_medium medium;
  space<process_medium> around_memory(**memory, medium);
  std::mt19937_64 random(seed);
  surroundings<process_medium> around{
      around_memory,
      {hash_seeds{random(), random() | 1, 1}, hash_seeds{random(), random() | 1, 1}}};
  level_paper<process_medium, D> table(around);
  check(around_memory.create() == status::ok && table.create(capacity), "no memory for a table");
  std::uint64_t records = 0;
  while (table.add(random(), records)) ++records;
  return static_cast<double>(records) / static_cast<double>(table.slots());
}

}  // namespace

std::vector<std::pair<std::string, double>> level_load_factors(std::uint64_t capacity,
                                                               std::uint64_t seed) {
  return {{"D1", fill_once<{4, false, false, false}>(capacity, seed)},
          {"D1 + D2", fill_once<{4, true, false, false}>(capacity, seed)},
          {"D1 + D2 + D3", fill_once<{4, true, true, false}>(capacity, seed)},
          {"all", fill_once<{4, true, true, true}>(capacity, seed)}};
}

baseline level_paper_baseline() {
  return {"level-paper",
          "Level, as its paper has it",
          "Level hashing (OSDI'18) §3, and its published code",
          "Level figures 2, 4 and 8 to 15; CCEH figures 7 to 11",
          true,
          "a level of twice the size on top; all items of the bottom move there, and nothing else "
          "runs meanwhile",
          "none; an item is two words in a slot of 32 bytes; where the published program ends "
          "because an item finds no room above, the table is full; shrinking is left out",
          level_paper_holes,
          make_baseline<level_hashing>};
}

}  // namespace durahash::baselines
