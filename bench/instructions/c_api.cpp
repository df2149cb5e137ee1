// As main.cpp, of words through the C API and the shared library that it is in.
//
//   durahash_c_instructions ENGINE words OPERATION,... POOL memory|process
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <vector>

#include "durahash/durahash.h"
#include "measure.hpp"

namespace {

using durahash::instructions::fills_the_table;
using durahash::instructions::for_each_named;
using durahash::instructions::measure;

constexpr std::size_t records = 200'000, operations = 100'000, batch = 64;

std::uint64_t key_of(std::uint64_t n) {  // that of main.cpp
  std::uint64_t key = (n + 1) * 0x9e3779b97f4a7c15;
  key = (key ^ key >> 30) * 0xbf58476d1ce4e5b9;
  key = (key ^ key >> 27) * 0x94d049bb133111eb;
  return key ^ key >> 31;
}

class table_of_keys {
 public:
  explicit table_of_keys(durahash_pool* on) : on_(on) {
    for (std::uint64_t n = 0; n < 2 * records; ++n) keys_.push_back(key_of(n));
  }
  /// Returns false if there is none of that name.
  bool measures(std::string_view what) {
    const std::size_t absent = records;
    std::uint64_t value = 0;
    const auto each = [&](auto&& once) { measure(operations, operations, once); };
    if (what == "insert" || what == "steady")
      measure(records, records, [&](std::size_t i) { durahash_u64_insert(on_, keys_[i], i); });
    else if (what == "hit") each([&](std::size_t i) { durahash_u64_get(on_, keys_[i], &value); });
    else if (what == "miss")
      each([&](std::size_t i) { durahash_u64_get(on_, keys_[absent + i], &value); });
    else if (what == "update") each([&](std::size_t i) { durahash_u64_put(on_, keys_[i], i + 1); });
    else if (what == "erase") each([&](std::size_t i) { durahash_u64_erase(on_, keys_[i]); });
    else if (what == "batch-hit") batches(durahash_u64_get_many, 0);
    else if (what == "batch-miss") batches(durahash_u64_get_many, absent);
    else if (what == "batch-new") batches(durahash_u64_put_many, absent);
    else if (what == "batch-update") batches(durahash_u64_put_many, 0);
    else return false;
    return true;
  }
  void fill() {
    for (std::size_t i = 0; i < records; ++i) durahash_u64_put(on_, keys_[i], i);
  }

 private:
  template <class Call>
  void batches(Call&& call, std::size_t first) {
    measure(operations / batch, operations / batch * batch, [&](std::size_t i) {
      call(on_, batch, &keys_[first + i * batch], 8, values_, 8, answers_);
    });
  }

  durahash_pool* on_;
  std::vector<std::uint64_t> keys_;
  std::uint64_t values_[batch] = {};
  std::uint8_t answers_[batch];
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) return std::fprintf(stderr, "see the head of this program's source\n"), 2;
  durahash_options how;
  durahash_options_init(&how, sizeof how);
  how.engine = durahash_engine_named(argv[1]);
  how.mode = DURAHASH_MODE_CREATE_NEW;
  const bool memory = std::strcmp(argv[5], "memory") == 0;
  if (memory) how.medium = DURAHASH_MEDIUM_MEMORY, how.durability = DURAHASH_DURABILITY_POWER;
  const std::string_view list = argv[3];
  if (list.starts_with("steady")) how.capacity = 2 * records;
  durahash_pool* pool = nullptr;
  if (durahash_u64_open(argv[4], &how, &pool) != DURAHASH_OK)
    return std::fprintf(stderr, "%s\n", durahash_last_message()), 1;
  table_of_keys table(pool);
  if (!fills_the_table(list)) table.fill();
  const bool known =
      for_each_named(list, [&](const std::string& what) { return table.measures(what); });
  durahash_close(pool);
  return known ? 0 : 2;
}
