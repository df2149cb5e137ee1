// Pools that are converted to another level while readers have them open.
#include "durahash/convert.hpp"
#include "readers/subject.hpp"
#include "store/scratch.hpp"

namespace durahash::test {
namespace {

struct conversion {
  durability_level from, to;
};
std::string name_of_conversion(const conversion& c) {
  return std::string(name_of(c.from)) + "_to_" + std::string(name_of(c.to));
}

class BesideConversion : public testing::TestWithParam<conversion> {
 protected:
  static constexpr std::uint32_t keys = 300;
  static const options& beside() {
    static const options how{.mode = open_mode::read_beside};
    return how;
  }
  /// All keys are of that version; or, of a handle that was there before the conversion, unusable.
  static void expect(const table& reader, const reader_subject& s, std::uint32_t version,
                     bool or_unusable) {
    std::string text;
    for (std::uint32_t n = 0; n < keys; ++n) {
      const status answer = reader.get(s.key(n), text);
      if (or_unusable && answer == status::unusable) continue;
      ASSERT_EQ(answer, status::ok) << message(answer);
      ASSERT_EQ(s.version_of(n, text), version) << "key " << n;
    }
  }
};

TEST_P(BesideConversion, NoReaderSeesWhatIsOlder) {
  for (engine_kind engine : all_engines()) {
    if (engine > engine_kind::gphash) continue;  // of the tests alone
    const reader_subject s{engine, record_kind::bytes, GetParam().from};
    scratch_folder folder(folder_for({engine, record_kind::bytes, durability_level::power}));
    const std::string path = folder.file("pool.dh");
    {
      table pool = opened(path, s.creating());
      put_all(pool, s, 0, keys, 1);
      ASSERT_EQ(pool.close(), status::ok);
    }
    const table before = opened(path, beside());
    expect(before, s, 1, false);
    const error answer = convert(path, GetParam().to);
    ASSERT_EQ(answer.code, status::ok) << answer.message;
    expect(before, s, 1, true);
    const table behind = opened(path, beside());
    EXPECT_EQ(behind.kinds().durability, GetParam().to);
    expect(behind, s, 1, false);
    for (std::uint32_t version = 2; version < 4; ++version) {
      table pool = opened(path, {.mode = open_mode::open_existing});
      put_all(pool, s, 0, keys, version);
      expect(before, s, version, true);
      expect(behind, s, version, false);
      ASSERT_EQ(pool.close(), status::ok);
      expect(before, s, version, true);
      expect(behind, s, version, false);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, BesideConversion,
    testing::Values(conversion{durability_level::process, durability_level::power},
                    conversion{durability_level::process, durability_level::power_buffered},
                    conversion{durability_level::power, durability_level::power_buffered},
                    conversion{durability_level::power_buffered, durability_level::power},
                    conversion{durability_level::power, durability_level::process},
                    conversion{durability_level::power_buffered, durability_level::none}),
    [](const auto& one) { return name_of_conversion(one.param); });

}  // namespace
}  // namespace durahash::test
