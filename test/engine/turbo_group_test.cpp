// README: no write waits for the growth of another shard. A group that finds one of its shards full
// holds no other shard's lock while that one grows.
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "test/engine/engine_rig.hpp"

namespace durahash::test {
namespace turbo_group {

constexpr std::uint64_t shards = 64, shard_bits = 6;

template <class Kind>
class grown_groups {
 public:
  grown_groups() : r_(make_rig<hooked_medium, Kind>(with_shards())) {
    by_shard_.resize(shards);
    for (std::uint64_t n = 0; n < 200 * shards; ++n) by_shard_[shard_of(n)].push_back(n);
    for (std::uint64_t shard = 0; shard < shards; ++shard) {
      probes_.push_back(by_shard_[shard].back());
      by_shard_[shard].pop_back();
    }
  }

  /// Groups of a key for each shard, that of `growing` first, which gets new keys; the others' are
  /// there already.
  void put_groups_that_grow(std::uint64_t growing) {
    for (std::uint64_t shard = 0; shard < shards; ++shard)  // probes and keys have their places
      for (std::uint64_t n : {probes_[shard], by_shard_[shard][0]})
        ASSERT_EQ(put_short(*r_, n), status::ok);
    const superblock& block = r_->p->block();
    // while a shard moves: before a store to the directory
    r_->m->before_store = [&, growing](std::uint64_t offset) {
      if (offset >= block.engine_offset && offset < block.engine_offset + block.engine_bytes)
        look((offset - block.engine_offset) / sizeof(std::uint64_t), growing);
    };
    for (std::size_t i = 1; i < 100; ++i) {
      std::vector<std::uint64_t> numbers = {by_shard_[growing][i]};
      for (std::uint64_t shard = 0; shard < shards; ++shard)
        if (shard != growing) numbers.push_back(by_shard_[shard][0]);
      put_all(numbers);
    }
    r_->m->before_store = nullptr;
    EXPECT_GT(moves_, 0u) << "no shard grew, so this test shows nothing";
    EXPECT_EQ(waited_, 0u) << "of " << moves_
                           << " growths of one shard, writes to another one waited for so many";
  }

 private:
  static options with_shards() {
    options how;
    how.settings = {{"shards", shards}};
    return how;
  }
  std::uint64_t shard_of(std::uint64_t n) const {
    return hash_of<Kind>(*r_, n) >> (64 - shard_bits);
  }

  void put_all(const std::vector<std::uint64_t>& numbers) {
    using key = decltype(item<Kind>(0));
    std::vector<key> keys;
    for (std::uint64_t n : numbers) keys.push_back(item<Kind>(n));
    std::vector<typename Kind::key_type> key_views(keys.begin(), keys.end());
    std::vector<typename Kind::value_type> value_views(keys.begin(), keys.end());
    std::vector<status> answers(keys.size(), status::io_error);
    r_->t->put_many(key_views, value_views.data(), answers.data());
    for (status answer : answers) ASSERT_EQ(answer, status::ok);
  }

  /// While the shard moves, another thread writes to each of some others that the group names.
  void look(std::uint64_t shard, std::uint64_t growing) {
    if (shard != growing || waited_ != 0) return;
    ++moves_;
    auto done = std::make_shared<std::atomic<bool>>(false);
    others_.emplace_back([this, done, growing] {
      for (std::uint64_t other : {growing + 1, growing + 7, growing + 40})
        (void)put_short(*r_, probes_[other % shards], 2);
      *done = true;
    });
    auto until = std::chrono::steady_clock::now() + std::chrono::seconds(3);
    while (!*done && std::chrono::steady_clock::now() < until) std::this_thread::yield();
    waited_ += !*done;
  }

  std::unique_ptr<rig<hooked_medium, Kind>> r_;
  std::vector<std::vector<std::uint64_t>> by_shard_;  // keys, by shard
  std::vector<std::uint64_t> probes_;                 // one key of each shard, for the other thread
  std::uint64_t moves_ = 0, waited_ = 0;
  std::vector<std::jthread> others_;  // last: joined before what they use goes
};

TEST(TurboGroup, HoldsNoOtherShardWhileOneGrows) {
  with_both_kinds([](auto kind) {
    for (std::uint64_t growing : {0u, 13u, 63u})
      grown_groups<decltype(kind)>().put_groups_that_grow(growing);
  });
}

}  // namespace turbo_group
}  // namespace durahash::test
