// Superblock, root and owner: what is read back, and what is refused and in which words.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "persist/format.hpp"
#include "persist/owner.hpp"

namespace durahash::test {
namespace {

/// The first pages of a pool, in memory.
class fixed_part {
 public:
  fixed_part() : bytes_(256 << 10) {
    block_ = new_superblock(engine_kind::turbo, data_kind::u64, data_kind::bytes,
                            durability_level::power, {7, 8}, 4096);
    block_.seed_multiply = 3;
    block_ = sealed(block_);
    for (std::uint64_t at : superblock_offsets) put(at, block_);
    root_record root{};
    root.pool_bytes = 128 << 10;
    root.state = pool_state::clean;
    root.records = 3;
    put(root_offsets[0], sealed(root));
  }
  template <class T>
  void put(std::uint64_t at, const T& what) {
    std::memcpy(bytes_.data() + at, &what, sizeof what);
  }
  void damage(std::uint64_t at) { bytes_[at] ^= std::byte{1}; }
  void put_in_both(superblock changed) {
    for (std::uint64_t at : superblock_offsets) put(at, sealed(changed));
  }
  const std::byte* base() const { return bytes_.data(); }
  std::uint64_t size() const { return bytes_.size(); }
  const superblock& block() const { return block_; }

  std::string superblock_refusal(bool read_only = false) const {
    auto read = read_superblock(base(), size(), read_only, "p");
    return read ? "" : read.failure().message;
  }
  std::string root_refusal() const {
    auto read = read_root(base(), size(), block_, "p");
    return read ? "" : read.failure().message;
  }

 private:
  std::vector<std::byte> bytes_;
  superblock block_;
};

TEST(Superblock, IsReadBack) {
  fixed_part pool;
  auto read = read_superblock(pool.base(), pool.size(), false, "p");
  ASSERT_TRUE(read) << read.failure().message;
  EXPECT_EQ(read->engine, engine_kind::turbo);
  EXPECT_EQ(read->value, data_kind::bytes);
  EXPECT_EQ(read->settings[1], 8u);
  EXPECT_EQ(read->heap_offset % (64 << 10), 0u);
  EXPECT_GE(read->heap_offset, read->engine_offset + read->engine_bytes);
}

TEST(Superblock, EachCopyStandsInForTheOther) {
  for (std::uint64_t offset : superblock_offsets) {
    fixed_part pool;
    for (std::uint64_t at = 0; at < sizeof(superblock); ++at) pool.damage(offset + at);
    EXPECT_EQ(pool.superblock_refusal(), "");
    EXPECT_TRUE(begins_as_a_pool(pool.base()));
  }
}

TEST(Superblock, AnyChangedBitOfBothIsNoticed) {
  for (std::uint64_t at = 0; at < sizeof(superblock); ++at) {
    fixed_part pool;
    for (std::uint64_t offset : superblock_offsets) pool.damage(offset + at);
    EXPECT_NE(pool.superblock_refusal(), "") << "byte " << at;
  }
}

TEST(Superblock, WhatThisVersionDoesNotKnowIsRefusedAndCompatibleBitsAreNot) {
  fixed_part pool;
  superblock changed = pool.block();
  changed.version = format_version + 1;
  pool.put_in_both(changed);
  EXPECT_NE(pool.superblock_refusal(), "");
  changed = pool.block();
  changed.incompat = std::uint64_t{1} << 63;
  pool.put_in_both(changed);
  EXPECT_NE(pool.superblock_refusal(true), "");
  changed = pool.block();
  changed.ro_compat = std::uint64_t{1} << 63;
  pool.put_in_both(changed);
  EXPECT_NE(pool.superblock_refusal(false), "");
  EXPECT_EQ(pool.superblock_refusal(true), "") << "it may be read";
  changed = pool.block();
  changed.compat = ~std::uint64_t{0};
  pool.put_in_both(changed);
  EXPECT_EQ(pool.superblock_refusal(false), "");
}

TEST(Superblock, NoPoolIsToldFromADamagedOne) {
  const std::vector<std::byte> zeros(64 << 10);
  auto refusal = [&](std::uint64_t bytes) {
    return read_superblock(zeros.data(), bytes, false, "p").failure().message;
  };
  EXPECT_NE(refusal(0).find("empty"), std::string::npos);
  EXPECT_NE(refusal(1221).find("1221 bytes"), std::string::npos);
  EXPECT_NE(refusal(zeros.size()).find("not a durahash pool"), std::string::npos);
  EXPECT_FALSE(begins_as_a_pool(zeros.data()));
}

TEST(Root, TheSelectorNamesTheOneInForce) {
  fixed_part pool;
  root_record next{};
  next.sequence = 1;
  next.pool_bytes = 192 << 10;
  next.state = pool_state::changing;
  pool.put(root_offsets[1], sealed(next));
  auto in_force = [&] { return read_root(pool.base(), pool.size(), pool.block(), "p"); };
  ASSERT_TRUE(in_force());
  EXPECT_EQ(in_force()->records, 3u) << "written, and not named yet";
  pool.put(selector_offset, std::uint64_t{1});
  EXPECT_EQ(in_force()->pool_bytes, 192u << 10);
  pool.put(selector_offset, std::uint64_t{3});
  EXPECT_FALSE(in_force()) << "a selector names a sequence, not a place";
}

TEST(Root, EveryChangedByteOfItIsNoticed) {
  for (std::uint64_t at = 0; at < sizeof(root_record); ++at) {
    fixed_part pool;
    pool.damage(root_offsets[0] + at);
    EXPECT_NE(pool.root_refusal(), "") << "byte " << at;
  }
}

TEST(Root, ImpossibleSizesAndPlacesAreRefused) {
  auto refused = [](auto&& change) {
    fixed_part pool;
    root_record root{};
    root.pool_bytes = 128 << 10;
    root.state = pool_state::clean;
    change(root);
    pool.put(root_offsets[0], sealed(root));
    return !pool.root_refusal().empty();
  };
  EXPECT_FALSE(refused([](root_record&) {}));
  EXPECT_TRUE(refused([](root_record& r) { r.pool_bytes = 1 << 20; })) << "the file is shorter";
  EXPECT_TRUE(refused([](root_record& r) { r.pool_bytes += 1; }));
  EXPECT_TRUE(refused([](root_record& r) { r.pool_bytes = page_bytes; })) << "no heap";
  EXPECT_TRUE(refused([](root_record& r) { r.state = pool_state{9}; }));
  EXPECT_TRUE(refused([](root_record& r) { r.heap_state_offset = 1 << 20; }));
  EXPECT_TRUE(refused([](root_record& r) {
    r.heap_state_offset = 64 << 10;
    r.heap_state_bytes = ~std::uint64_t{7};  // around the end of the addresses
  }));
}

TEST(Owner, IsWhoWroteItAndNobodyWhenDamaged) {
  fixed_part pool;
  EXPECT_FALSE(read_owner(pool.base())) << "all zeros: nobody";
  const owner_record self = this_process(owner_side::device);
  pool.put(owner_offset, self);
  ASSERT_TRUE(read_owner(pool.base()));
  EXPECT_EQ(read_owner(pool.base())->process, self.process);
  EXPECT_FALSE(is_at_large(self)) << "this process has closed the pool before it opens it";
  owner_record elder = self;
  ++elder.start_ticks;  // the number was given to another process
  EXPECT_FALSE(is_at_large(sealed(elder)));
  pool.damage(owner_offset + 16);
  EXPECT_FALSE(read_owner(pool.base()));
}

TEST(Boot, AnUnknownOneIsNotThisOne) {
  EXPECT_TRUE(is_this_boot(this_boot()));
  EXPECT_FALSE(is_this_boot({}));
  auto other = this_boot();
  other[0] ^= 1;
  EXPECT_FALSE(is_this_boot(other));
}

}  // namespace
}  // namespace durahash::test
