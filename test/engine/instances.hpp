// The engines on the media of the tests, compiled once and not with each test. What a test gives an
// engine of its own (a visitor, a decider) is compiled with the test.
#pragma once

#include "media/emulated_medium.hpp"
#include "media/process_medium.hpp"
#include "test/engine/hooked_medium.hpp"
#include "test/engine/probing_medium.hpp"

namespace durahash::test {

struct plain_medium : process_medium {
  explicit plain_medium(const std::byte*) {}
};
struct counted_medium : emulated_medium {
  explicit counted_medium(const std::byte*) : emulated_medium(latency{}) {}
};

using keys_of_32 = fixed_keys<32>;

}  // namespace durahash::test

// `how` is `template` or `extern template`
#define DURAHASH_INSTANCE(how, engine, medium, kind)                                       \
  how class durahash::lifecycle<durahash::test::medium, kind,                              \
                                durahash::engine::table<durahash::test::medium, kind>>;    \
  how class durahash::engine_frame<durahash::test::medium, kind,                           \
                                   durahash::engine::table<durahash::test::medium, kind>>; \
  how class durahash::engine::table<durahash::test::medium, kind>;                         \
  how struct durahash::test::rig<durahash::test::medium, kind, durahash::test::engine##_engine>
#define DURAHASH_INSTANCES(how, engine)                                   \
  DURAHASH_INSTANCE(how, engine, plain_medium, durahash::word_records);   \
  DURAHASH_INSTANCE(how, engine, hooked_medium, durahash::word_records);  \
  DURAHASH_INSTANCE(how, engine, hooked_medium, durahash::byte_records);  \
  DURAHASH_INSTANCE(how, engine, probing_medium, durahash::word_records); \
  DURAHASH_INSTANCE(how, engine, probing_medium, durahash::byte_records)

DURAHASH_INSTANCES(extern template, turbo);
DURAHASH_INSTANCES(extern template, cceh);
DURAHASH_INSTANCES(extern template, level);
DURAHASH_INSTANCES(extern template, gphash);
DURAHASH_INSTANCE(extern template, gphash, plain_medium, durahash::byte_records);
DURAHASH_INSTANCE(extern template, gphash, probing_medium, durahash::test::keys_of_32);
DURAHASH_INSTANCE(extern template, gphash, counted_medium, durahash::word_records);

extern template class durahash::heap<durahash::test::plain_medium>;
extern template class durahash::heap<durahash::test::hooked_medium>;
extern template class durahash::heap<durahash::test::probing_medium>;
extern template class durahash::heap<durahash::test::counted_medium>;
extern template class durahash::pool<durahash::test::plain_medium>;
extern template class durahash::pool<durahash::test::hooked_medium>;
extern template class durahash::pool<durahash::test::probing_medium>;
extern template class durahash::pool<durahash::test::counted_medium>;
