// A harness loads the module, makes a table, and calls it: what it is answered is right, for every
// engine, for words and other sizes, and what it put is there when the pool is opened again.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <thread>

#include "durahash/table.hpp"
#include "hash_api.h"
#include "store/random.hpp"
#include "store/scratch.hpp"
#include "tree_api.hpp"

namespace durahash::test {
namespace {

/// A variable of the environment, for as long as this lives.
class variable {
 public:
  variable(const char* name, std::string_view value) : name_(name) {
    ::setenv(name, std::string(value).c_str(), 1);
  }
  ~variable() { ::unsetenv(name_); }
  variable(const variable&) = delete;

 private:
  const char* name_;
};

/// A function of a module that stays loaded, as harnesses have it.
template <class Function>
Function* function_of(const char* module, const char* name) {
  void* loaded = ::dlopen(module, RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(loaded, nullptr) << ::dlerror();
  void* found = loaded == nullptr ? nullptr : ::dlsym(loaded, name);
  EXPECT_NE(found, nullptr) << name;
  return reinterpret_cast<Function*>(found);
}

struct sizes {
  std::size_t key, value;
};

/// What both harnesses can ask, over either.
struct harness {
  std::function<bool(const std::string&, std::string&)> find;
  std::function<bool(const std::string&, const std::string&)> insert, update;
  std::function<bool(const std::string&)> remove;
  std::shared_ptr<void> alive;
};

harness pibench(const std::string& path, sizes s) {
  static auto* make = function_of<decltype(create_tree)>(DURAHASH_PIBENCH_MODULE, "create_tree");
  std::shared_ptr<tree_api> t(make({s.key, s.value, path, 0, 1}));
  return {
      [=](const std::string& k, std::string& v) { return t->find(k.data(), k.size(), v.data()); },
      [=](const std::string& k, const std::string& v) {
        return t->insert(k.data(), k.size(), v.data(), v.size());
      },
      [=](const std::string& k, const std::string& v) {
        return t->update(k.data(), k.size(), v.data(), v.size());
      },
      [=](const std::string& k) { return t->remove(k.data(), k.size()); }, t};
}

harness evaluated(const std::string& path, sizes s) {
  static auto* make =
      function_of<decltype(create_hashtable)>(DURAHASH_HASH_EVALUATION_MODULE, "create_hashtable");
  std::shared_ptr<hash_api> t(make({s.key, s.value, path, 0, 1}, 100, 1));
  return {[=](const std::string& k, std::string& v) {
            return t->find(k.data(), k.size(), v.data(), 0);
          },
          [=](const std::string& k, const std::string& v) {
            return t->insert(k.data(), k.size(), v.data(), v.size(), 0, 0);
          },
          [=](const std::string& k, const std::string& v) {
            return t->update(k.data(), k.size(), v.data(), v.size());
          },
          [=](const std::string& k) { return t->remove(k.data(), k.size(), 0); }, t};
}

using opener = harness (*)(const std::string&, sizes);
class Harness : public testing::TestWithParam<std::tuple<opener, engine_kind, bool>> {
 protected:
  sizes lengths() const { return std::get<2>(GetParam()) ? sizes{8, 8} : sizes{16, 100}; }
  harness open(const std::string& path) { return std::get<0>(GetParam())(path, lengths()); }
  static std::string text(std::uint64_t n, std::size_t bytes) {
    std::string all(bytes, static_cast<char>('a' + n % 26));
    return all.replace(0, 8, reinterpret_cast<const char*>(&n), 8);
  }

  variable engine_{"DURAHASH_ENGINE", name_of(std::get<1>(GetParam()))};
  scratch_folder folder_;
};

INSTANTIATE_TEST_SUITE_P(Of, Harness,
                         testing::Combine(testing::Values(pibench, evaluated),
                                          testing::ValuesIn(all_engines()), testing::Bool()));

TEST_P(Harness, IsAnsweredAsAMapWouldAndFindsItAgain) {
  const std::string path = folder_.file("pool");
  std::map<std::string, std::string> model;
  random_stream random(stream_seed("Harness"));
  const auto [key_bytes, value_bytes] = lengths();
  {
    harness table = open(path);
    for (int i = 0; i < 20'000; ++i) {
      const std::string key = text(random.below(3'000), key_bytes);
      const std::string value = text(random.next(), value_bytes);
      auto at = model.find(key);
      switch (random.below(4)) {
        case 0: ASSERT_EQ(table.insert(key, value), model.emplace(key, value).second); break;
        case 1:
          ASSERT_EQ(table.update(key, value), at != model.end());
          if (at != model.end()) at->second = value;
          break;
        case 2: ASSERT_EQ(table.remove(key), model.erase(key) == 1); break;
        default:
          std::string found(value_bytes, '\0');
          ASSERT_EQ(table.find(key, found), at != model.end());
          if (at != model.end()) {
            ASSERT_EQ(found, at->second);
          }
      }
    }
  }
  harness again = open(path);
  for (const auto& [key, value] : model) {
    std::string found(value_bytes, '\0');
    ASSERT_TRUE(again.find(key, found));
    ASSERT_EQ(found, value);
  }
  again = {};
  auto pool = table::open(path, {.mode = open_mode::read_only});
  ASSERT_TRUE(pool) << pool.failure().message;
  EXPECT_EQ(pool->kinds().engine, std::get<1>(GetParam()));
  EXPECT_EQ(pool->size(), model.size());
  EXPECT_TRUE(pool->check().ok);
}

TEST_P(Harness, IsAskedByThreads) {
  harness table = open(folder_.file("pool"));
  const auto [key_bytes, value_bytes] = lengths();
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (std::uint64_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t, k = key_bytes, v = value_bytes] {
      std::string found(v, '\0');
      for (std::uint64_t n = 0; n < 2'000; ++n) {
        const std::string key = text(n * 4 + t, k), value = text(n, v);
        if (!table.insert(key, value) || !table.find(key, found) || found != value) ++wrong;
        if (n % 3 == 0 && (!table.remove(key) || table.find(key, found))) ++wrong;
      }
    });
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(wrong, 0);
}

TEST(HarnessOptions, WithoutAPathTheTableIsInMemory) {
  harness table = pibench("", {8, 8});
  std::string value = "12345678", found(8, '\0');
  EXPECT_TRUE(table.insert("abcdefgh", value));
  EXPECT_TRUE(table.find("abcdefgh", found));
  EXPECT_EQ(found, value);
}

TEST(HarnessOptions, ALongerValueOfAnOlderPoolStaysWithinTheHarnessesRoom) {
  scratch_folder folder;
  const std::string path = folder.file("pool"), key(16, 'k');
  {
    auto pool = table::open(path);
    ASSERT_TRUE(pool);
    ASSERT_EQ(pool->put(key, std::string(500, 'v')), status::ok);
  }
  harness table = pibench(path, {16, 100});
  std::string room = std::string(100, '\0') + "untouched";
  ASSERT_TRUE(table.find(key, room));
  EXPECT_EQ(room, std::string(100, 'v') + "untouched");
}

TEST(HarnessOptionsDeathTest, WhatCannotBeDoneEndsTheRunWithASentence) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  {
    variable wrong("DURAHASH_ENGINE", "hopscotch");
    EXPECT_EXIT(pibench("", {8, 8}), testing::ExitedWithCode(1), "DURAHASH_ENGINE=hopscotch");
  }
  {
    variable wrong("DURAHASH_CAPACITY", "99999999999999999999");
    EXPECT_EXIT(pibench("", {8, 8}), testing::ExitedWithCode(1), "DURAHASH_CAPACITY=9999");
  }
  EXPECT_EXIT(pibench("/nowhere/pool", {8, 8}), testing::ExitedWithCode(1), "/nowhere/pool");
  auto* make = function_of<decltype(create_tree)>(DURAHASH_PIBENCH_MODULE, "create_tree");
  char* values = nullptr;
  EXPECT_EXIT(make({})->scan("abcdefgh", 8, 10, values), testing::ExitedWithCode(1), "no order");
}

TEST(HashEvaluation, TellsTheEngineAndTheLoad) {
  auto* make =
      function_of<decltype(create_hashtable)>(DURAHASH_HASH_EVALUATION_MODULE, "create_hashtable");
  variable engine("DURAHASH_ENGINE", "level");
  std::unique_ptr<hash_api> table(make({}, 1'000, 1));
  EXPECT_EQ(table->hash_name(), "durahash level");
  for (std::uint64_t n = 0; n < 1'000; ++n)
    EXPECT_TRUE(table->insertResize(reinterpret_cast<const char*>(&n), 8, "12345678", 8, 0, 0));
  const hash_Utilization now = table->utilization();
  EXPECT_GT(now.load_factor, .3F);
  EXPECT_LE(now.load_factor, 1.F);
  EXPECT_GT(now.utilization, .1F);
  EXPECT_LE(now.utilization, 1.F);

  // of longer records more of the pool is what was put there
  hashtable_options_t longer;
  longer.key_size = 16, longer.value_size = 400;
  table.reset(make(longer, 1'000, 1));
  const std::string value(400, 'v');
  for (int n = 0; n < 1'000; ++n) {
    const std::string key = std::string(12, 'k') + std::to_string(1'000 + n);
    EXPECT_TRUE(table->insert(key.data(), 16, value.data(), 400, 0, 0));
  }
  EXPECT_GT(table->utilization().utilization, .6F);
  EXPECT_LE(table->utilization().utilization, 1.F);
}

}  // namespace
}  // namespace durahash::test
