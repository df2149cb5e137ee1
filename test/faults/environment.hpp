// What the fault tests share: a pool on a plain file, what was acknowledged of it, and lives lived
// in it.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>

#include "ledger.hpp"
#include "life.hpp"
#include "store/conformance.hpp"
#include "worker.hpp"

namespace durahash::test {

/// Every engine with words and with bytes, on a plain file there.
inline std::vector<setup> setups_at(place_kind place) {
  std::vector<setup> all;
  for (engine_kind engine : all_engines())
    for (api_kind api : {api_kind::words, api_kind::bytes})
      all.push_back({engine, place, api, durability_level::process});
  return all;
}

class fault_test : public testing::TestWithParam<setup> {
 protected:
  /// Values that make pools of some thousand records grow several times; of words it takes more of
  /// them.
  explicit fault_test(std::uint64_t keys = 1500, std::size_t value_bytes = 0)
      : known_(GetParam(), keys, value_bytes) {}
  void TearDown() override {
    if (IsSkipped() || HasFailure()) return;
    EXPECT_GT(injected_, 0u) << "no fault was reached: the test shows nothing";
  }

  const setup& with() const { return GetParam(); }
  const std::string& path() const { return path_; }
  std::uint64_t seed(std::uint64_t round = 0) const { return stream_seed(with().name()) + round; }

  options creating() const {
    options how = with().create_options();
    how.mode = open_mode::create_new;
    if (with().engine == engine_kind::turbo)
      // a check allocates for each of them; and some are split
      how.settings.insert({{"shards", 16}, {"shard_buckets", 1}});
    return how;
  }
  /// A fresh pool with `count` records, closed cleanly.
  void make_pool(std::uint64_t count) {
    start_anew();
    must_end_well([&] {
      auto opened = numbered_pool::open(with(), path_, creating());
      if (!opened) complain(opened.failure().message);
      put_records(*opened, 0, count);
      require(opened->pool().close() == status::ok, "a close without a fault is answered ok");
    });
  }
  void start_anew() {
    std::filesystem::remove(path_);
    std::filesystem::remove(path_ + "-log");
    known_.clear();
  }
  /// In a life: puts that nothing disturbs.
  void put_records(numbered_pool& pool, std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t n = first; n < last; ++n) {
      step("puts", n);
      record r = known_.of(n, known_.fresh_version());
      if (status answer = pool.put(r); answer != status::ok)
        complain("a put without a fault is answered: " + std::string(message(answer)));
      known_.wrote(n, r.version);
    }
  }

  /// Lives it, and counts its faults, all of them of one kind of call.
  std::string lived(call which, const std::function<void()>& life) {
    std::string why = live(life);
    injected_ += faults_of_last_life(which);
    count_faults(std::string(name_of(with().engine)), which, faults_of_last_life(which));
    return why;
  }
  void must_end_well(const std::function<void()>& life) {
    std::string why = live(life);
    ASSERT_EQ(why, "") << "without a fault";
  }
  void must_be_all_there() { ASSERT_EQ(judged(known_, path_), "") << "seed " << run_seed(); }

  ledger known_;
  scratch_folder folder_{GetParam().folder()};
  std::string path_ = folder_.file("pool");
  std::uint64_t injected_ = 0;
};

}  // namespace durahash::test
