// What gdb_test.py prints: bytes as they lie in pools, and the types that say what they are. gdb
// reads them from the executable: it is never run.
#include <cstdint>

#include "engine/cceh/format.hpp"
#include "engine/gphash/format.hpp"
#include "engine/level/format.hpp"
#include "engine/turbo/mirror.hpp"

namespace subject {

using namespace durahash;
using word = std::uint64_t;
constexpr word all_ones = ~word{0};

// slots 0 and 1 live, slot 4 deleted, at the seventh change
constexpr word turbo_meta = 0b10011 | word{0b10000} << 14 | word{7} << 28;
constinit word turbo_bucket[32] = {turbo_meta, 0x44'0000'2211,  // tags
                                   0,          0,
                                   0,          2,  // slot 0
                                   0xabcdef,   all_ones};
constinit word full_bucket[32] = {low_bits(turbo::max_valid)};
constinit word cceh_bucket[8] = {0xfeed, 17, all_ones, 18, 0, 19, 3, 20};
constinit word level_state = 0b101 | word{0b1001} << 14 | word{9} << 38;
constinit word level_intent[8] = {81920, 1000, 2, 3, level::log_check(1000, 2, 3)};
constinit word unlogged_intent[8] = {0, 1000, 2, 3, level::log_check(1000, 2, 4)};
constinit word gphash_slots[6] = {0x1234, 5, 1, 6, 0, 0};
constinit word geometry = gphash::geometry::of(4, 1).word;

constinit checked_place place = checked_place::of(65536, 3);
constinit checked_place torn_place{checked_place::of(65536, 3).word ^ 1};
constinit place_view mirror = place_view::of(checked_place::of(65536, 3), 5);
constinit turbo::shard_view shard = turbo::shard_view::of({checked_place::of(65536, 3)}, 5);
constinit turbo::shard_view no_array;
constinit poff<turbo::bucket> bucket_offset{4096}, no_offset{};

// The types of the words above.
constinit turbo::bucket* turbo_bucket_type = nullptr;
constinit cceh::bucket* cceh_bucket_type = nullptr;
constinit level::bucket_state* level_state_type = nullptr;
constinit level::intent* level_intent_type = nullptr;
constinit gphash::slot* gphash_slot_type = nullptr;
constinit gphash::geometry* geometry_type = nullptr;

}  // namespace subject

int main() {}
