// As main.cpp, of words through the C API and the shared library that it is in.
//
//   durahash_c_instructions ENGINE words OPERATION POOL memory|process
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <vector>

#include "durahash/durahash.h"
#include "measure.hpp"

namespace {

using durahash::instructions::measure;

constexpr std::size_t records = 200'000, operations = 100'000, batch = 64;

std::uint64_t key_of(std::uint64_t n) {  // that of main.cpp
  std::uint64_t key = (n + 1) * 0x9e3779b97f4a7c15;
  key = (key ^ key >> 30) * 0xbf58476d1ce4e5b9;
  key = (key ^ key >> 27) * 0x94d049bb133111eb;
  return key ^ key >> 31;
}

/// Returns the operations of the measured part, 0 if there is none of that name.
std::size_t run(std::string_view what, durahash_pool* on) {
  std::vector<std::uint64_t> keys;
  for (std::uint64_t n = 0; n < 2 * records; ++n) keys.push_back(key_of(n));
  if (what == "insert" || what == "steady")
    return measure(records, [&](std::size_t i) { durahash_u64_insert(on, keys[i], i); }), records;
  for (std::size_t i = 0; i < records; ++i) durahash_u64_put(on, keys[i], i);
  const std::size_t absent = records;
  std::uint64_t value = 0, values[batch] = {};
  std::uint8_t answers[batch];
  auto batches = [&](auto&& one) {
    measure(operations / batch, [&](std::size_t i) { one(&keys[i * batch]); });
  };
  if (what == "hit")
    measure(operations, [&](std::size_t i) { durahash_u64_get(on, keys[i], &value); });
  else if (what == "miss")
    measure(operations, [&](std::size_t i) { durahash_u64_get(on, keys[absent + i], &value); });
  else if (what == "update")
    measure(operations, [&](std::size_t i) { durahash_u64_put(on, keys[i], i + 1); });
  else if (what == "erase")
    measure(operations, [&](std::size_t i) { durahash_u64_erase(on, keys[i]); });
  else if (what == "batch-hit")
    batches([&](const std::uint64_t* some) {
      durahash_u64_get_many(on, batch, some, 8, values, 8, answers);
    });
  else if (what == "batch-miss")
    batches([&](const std::uint64_t* some) {
      durahash_u64_get_many(on, batch, some + absent, 8, values, 8, answers);
    });
  else if (what == "batch-new")
    batches([&](const std::uint64_t* some) {
      durahash_u64_put_many(on, batch, some + absent, 8, values, 8, answers);
    });
  else if (what == "batch-update")
    batches([&](const std::uint64_t* some) {
      durahash_u64_put_many(on, batch, some, 8, values, 8, answers);
    });
  else return 0;
  return what.starts_with("batch") ? operations / batch * batch : operations;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) return std::fprintf(stderr, "see the head of this program's source\n"), 2;
  durahash_options how;
  durahash_options_init(&how, sizeof how);
  how.engine = durahash_engine_named(argv[1]);
  how.mode = DURAHASH_MODE_CREATE_NEW;
  const bool memory = std::strcmp(argv[5], "memory") == 0;
  if (memory) how.medium = DURAHASH_MEDIUM_MEMORY, how.durability = DURAHASH_DURABILITY_POWER;
  if (std::strcmp(argv[3], "steady") == 0) how.capacity = 2 * records;
  durahash_pool* pool = nullptr;
  if (durahash_u64_open(argv[4], &how, &pool) != DURAHASH_OK)
    return std::fprintf(stderr, "%s\n", durahash_last_message()), 1;
  const std::size_t done = run(argv[3], pool);
  durahash_close(pool);
  std::printf("%zu\n", done);
  return done == 0 ? 2 : 0;
}
