// main() of the store's tests: the seed, and the second process of the tests that need one.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <random>
#include <string>

#include "child.hpp"
#include "random.hpp"

namespace durahash::test {

namespace {

std::optional<std::uint64_t> chosen_seed;

std::uint64_t fresh_seed() {
  std::random_device device;
  return device();  // 32 bits: short enough to type
}

void read_seed(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    std::string_view word = argv[i];
    if (word.starts_with("--seed=")) set_run_seed(std::strtoull(argv[i] + 7, nullptr, 0));
    if (word == "--seed" && i + 1 < argc) set_run_seed(std::strtoull(argv[i + 1], nullptr, 0));
  }
}

}  // namespace

void set_run_seed(std::uint64_t seed) { chosen_seed = seed; }

std::uint64_t run_seed() {
  if (!chosen_seed) {
    const char* text = std::getenv("DURAHASH_SEED");
    chosen_seed = text && *text ? std::strtoull(text, nullptr, 0) : fresh_seed();
  }
  return *chosen_seed;
}

bool long_run() {
  const char* text = std::getenv("DURAHASH_LONG");
  return text && std::string_view(text) == "1";
}

std::uint64_t stream_seed(std::string_view name) {
  std::uint64_t seed = mixed(run_seed());
  for (char c : name) seed = mixed(seed ^ static_cast<unsigned char>(c));
  return seed;
}

}  // namespace durahash::test

int main(int argc, char** argv) {
  if (std::optional<int> exit_code = durahash::test::run_as_child(argc, argv)) return *exit_code;
  durahash::test::read_seed(argc, argv);  // before the tests are made: it draws their setups
  testing::InitGoogleTest(&argc, argv);
  std::fprintf(stderr, "seed %llu (again with --seed %llu, or DURAHASH_SEED)\n",
               static_cast<unsigned long long>(durahash::test::run_seed()),
               static_cast<unsigned long long>(durahash::test::run_seed()));
  return RUN_ALL_TESTS();
}
