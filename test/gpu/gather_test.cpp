// Rows of numbers that a device gathers, by bags, and the numbers themselves.
#include <cmath>
#include <cstring>
#include <limits>
#include <set>

#include "gpu/elements.hpp"
#include "test/gpu/map_rig.hpp"
#include "test/gpu/rows_rig.hpp"

namespace durahash::test {
namespace {

using gpu::element;
using gpu::pooling;

constexpr float of_16[] = {0.0f,     -0.0f, 0x1p-24f,   -0x1p-24f, 0x1.ff8p-15f,
                           0x1p-14f, 1.0f,  0x1.004p0f, 65504.0f,  -65504.0f};

TEST(GpuElements, OfFloat16AreExactAndComeBack) {
  const std::uint16_t bits[] = {0,      0x8000, 1,      0x8001, 0x03ff,
                                0x0400, 0x3c00, 0x3c01, 0x7bff, 0xfbff};
  for (std::size_t i = 0; i < std::size(bits); ++i) {
    EXPECT_EQ(gpu::of_float16(bits[i]), of_16[i]) << i;
    EXPECT_EQ(std::signbit(gpu::of_float16(bits[i])), std::signbit(of_16[i])) << i;
  }
  for (unsigned each = 0; each < 0x10000; ++each) {
    const auto b = static_cast<std::uint16_t>(each);
    const float value = gpu::of_float16(b), other = gpu::of_bfloat16(b);
    if ((b & 0x7fff) > 0x7c00) EXPECT_TRUE(std::isnan(value)) << each;
    else EXPECT_EQ(gpu::float16_of(value), b);
    if ((b & 0x7fff) > 0x7f80) EXPECT_TRUE(std::isnan(other)) << each;
    else EXPECT_EQ(gpu::bfloat16_of(other), b);
  }
}

TEST(GpuElements, AreRoundedToTheNearestAndTheEvenOne) {
  constexpr float infinite = std::numeric_limits<float>::infinity();
  EXPECT_EQ(gpu::float16_of(0x1.002p0f), 0x3c00) << "halfway, and the lower one is even";
  EXPECT_EQ(gpu::float16_of(0x1.006p0f), 0x3c02) << "halfway, and the upper one is even";
  EXPECT_EQ(gpu::float16_of(0x1.002002p0f), 0x3c01);
  EXPECT_EQ(gpu::float16_of(65519.0f), 0x7bff);
  EXPECT_EQ(gpu::float16_of(65520.0f), 0x7c00);
  EXPECT_EQ(gpu::float16_of(-infinite), 0xfc00);
  EXPECT_EQ(gpu::float16_of(0x1p-25f), 0) << "halfway to the smallest";
  EXPECT_EQ(gpu::float16_of(0x1.8p-25f), 1);
  EXPECT_EQ(gpu::float16_of(0x1.ffep-15f), 0x0400) << "up to a normal one";
  EXPECT_EQ(gpu::bfloat16_of(0x1.01p0f), 0x3f80);
  EXPECT_EQ(gpu::bfloat16_of(0x1.03p0f), 0x3f82);
  EXPECT_EQ(gpu::bfloat16_of(0x1.010002p0f), 0x3f81);
  EXPECT_EQ(gpu::bfloat16_of(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_TRUE(std::isnan(gpu::of_float16(gpu::float16_of(std::nanf("")))));
  EXPECT_TRUE(std::isnan(gpu::of_bfloat16(gpu::bfloat16_of(std::nanf("")))));
#ifdef __FLT16_MANT_DIG__
  std::mt19937_64 random(17);
  for (int round = 0; round < 1'000'000; ++round) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (std::isnan(value)) continue;
    ASSERT_EQ(gpu::float16_of(value), std::bit_cast<std::uint16_t>(static_cast<_Float16>(value)))
        << value;
  }
#endif
}

struct gather_case {
  std::string name;
  element from, to;
  pooling how;
  std::size_t width;
  bool keys_in_slots = false, on_gpu = false;
};
void PrintTo(const gather_case& c, std::ostream* to) { *to << c.name; }

class GpuGather : public testing::TestWithParam<gather_case> {
 protected:
  void SetUp() override {
    std::unique_ptr<gpu::device> made = std::make_unique<lockstep_device>();
    if (GetParam().on_gpu) {
      auto found = gpu::cuda_device(0);
      if (!found && must_have_a_gpu()) FAIL() << found.failure().message;
      if (!found) GTEST_SKIP() << "no GPU: " << found.failure().message;
      made = std::move(*found);
    }
    device_ = made.get();
    options how;
    if (GetParam().keys_in_slots) how.settings = {{"key_bytes", 8}};
    auto opened = gpu::open_rows_on(std::move(made), folder_.file("a"), how, {});
    ASSERT_TRUE(opened) << opened.failure().message;
    table_ = std::make_unique<gpu::table>(std::move(*opened));
  }
  std::size_t row_bytes() const { return GetParam().width * gpu::bytes_of(GetParam().from); }

  scratch_folder folder_;
  gpu::device* device_ = nullptr;
  std::unique_ptr<gpu::table> table_;
};

/// Bags of several keys, of one and of none, beyond the keys, and with keys that are not there or
/// have rows of another length: each is what the processor adds up.
TEST_P(GpuGather, IsWhatTheProcessorAddsUp) {
  const gather_case& c = GetParam();
  std::mt19937_64 random(c.width);
  constexpr std::size_t rows = 40, n = 60;
  std::vector<std::uint64_t> keys_there(rows);
  std::vector<char> values(rows * row_bytes());
  for (std::size_t i = 0; i < rows; ++i) {
    keys_there[i] = i;
    for (std::size_t at = 0; at < c.width; ++at)
      gpu::set_element(c.from, values.data() + i * row_bytes(), at,
                       static_cast<float>(static_cast<int>(random() % 20001) - 10000) / 37.0f);
  }
  std::vector<status> done(rows);
  ASSERT_EQ(table_->put(rows, keys_there.data(), values.data(), row_bytes(), done.data()),
            status::ok);
  std::vector<char> longer(row_bytes() + 8);
  const std::uint64_t of_another_length = 1000;
  ASSERT_EQ(table_->put(1, &of_another_length, longer.data(), longer.size(), done.data()),
            status::ok);

  device_words keys(*device_, n), count(*device_, 1);
  for (std::size_t i = 0; i < n; ++i)
    keys[i] = random() % 6 == 0   ? 2000 + i
              : random() % 9 == 0 ? of_another_length
                                  : random() % rows;
  device_words offsets(*device_, std::vector<std::uint64_t>{0, 5, 5, 6, 30, 31, 59, 999, 12345});
  const std::size_t bags = offsets.size() - 1, made_bytes = c.width * gpu::bytes_of(c.to);
  shared_array<char> made(*device_, n * made_bytes);
  shared_answers answers(*device_, n);
  shared_array<std::uint32_t> indices(*device_, n);
  auto should = [&](std::size_t begin, std::size_t end) {
    std::vector<float> sums(c.width, 0.0f);
    std::size_t found = 0;
    for (std::size_t i = begin; i < end; ++i) {
      if (keys[i] >= rows) continue;
      ++found;
      for (std::size_t at = 0; at < c.width; ++at)
        sums[at] += gpu::element_at(c.from, values.data() + keys[i] * row_bytes(), at);
    }
    std::string row(made_bytes, '\0');
    for (std::size_t at = 0; at < c.width; ++at)
      gpu::set_element(
          c.to, row.data(), at,
          c.how == pooling::mean && found != 0 ? sums[at] / static_cast<float>(found) : sums[at]);
    return row;
  };
  for (bool in_bags : {true, false}) {
    std::fill(made.begin(), made.end(), '-');
    std::fill_n(answers.data(), n, status::damaged);
    gpu::gathering how{.width = c.width, .from = c.from, .to = c.to, .how = c.how};
    if (in_bags) how.bags = bags, how.offsets = offsets.data();
    ASSERT_EQ(table_->gather_async(n, keys.data(), how, made.data(), answers.data(), nullptr,
                                   {indices.data(), count.data()}),
              status::ok);
    ASSERT_EQ(table_->wait(), status::ok);
    std::set<std::uint32_t> missed;
    for (std::uint32_t i = 0; i < n; ++i) {
      ASSERT_EQ(answers[i], keys[i] < rows                 ? status::ok
                            : keys[i] == of_another_length ? status::mismatch
                                                           : status::not_found)
          << i;
      if (answers[i] == status::not_found) missed.insert(i);
    }
    EXPECT_EQ(std::set<std::uint32_t>(indices.data(), indices.data() + count[0]), missed);
    EXPECT_EQ(count[0], missed.size());
    for (std::size_t bag = 0; bag < (in_bags ? bags : n); ++bag) {
      std::size_t begin = in_bags ? std::min<std::size_t>(offsets[bag], n) : bag,
                  end = in_bags ? std::min<std::size_t>(offsets[bag + 1], n) : bag + 1;
      ASSERT_EQ(std::string(made.data() + bag * made_bytes, made_bytes), should(begin, end))
          << "bag " << bag;
    }
    for (std::size_t at = (in_bags ? bags : n) * made_bytes; at < made.size(); ++at)
      ASSERT_EQ(made[at], '-') << "beyond the last bag";
  }
}

/// Bags may have keys in common, which are missed more often than there are keys.
TEST_P(GpuGather, AKeyOfTwoBagsIsMissedTwice) {
  constexpr std::size_t n = 2;
  device_words keys(*device_, {5, 6}), count(*device_, 1),
      offsets(*device_, std::vector<std::uint64_t>{0, n, 0, n, 0, n});
  shared_answers answers(*device_, n);
  shared_array<std::uint32_t> indices(*device_, 8);
  std::fill(indices.begin(), indices.end(), 777u);
  const std::size_t bags = offsets.size() - 1;
  shared_array<char> made(*device_, bags * row_bytes());
  ASSERT_EQ(
      table_->gather_async(n, keys.data(),
                           {.width = GetParam().width,
                            .from = GetParam().from,
                            .to = GetParam().from,
                            .bags = bags,
                            .offsets = offsets.data()},
                           made.data(), answers.data(), nullptr, {indices.data(), count.data()}),
      status::ok);
  ASSERT_EQ(table_->wait(), status::ok);
  EXPECT_EQ(count[0], 3 * n);
  for (std::size_t i = 0; i < indices.size(); ++i)
    EXPECT_TRUE(i < n ? indices[i] < n : indices[i] == 777) << i << ": " << indices[i];
  for (char each : made) EXPECT_EQ(each, 0) << "of none the row is zero";
}

/// Where values are, without a copy of them: what lies there is the value.
TEST_P(GpuGather, OrTellsWhereRowsAre) {
  constexpr std::size_t n = 20;
  device_words keys(*device_, n);
  shared_array<const void*> places(*device_, n);
  shared_array<std::uint32_t> lengths(*device_, n);
  shared_answers answers(*device_, n);
  std::vector<char> values(n * row_bytes());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<char>(i * 7 + i / 256);
  for (std::size_t i = 0; i < n; ++i) keys[i] = i;
  ASSERT_EQ(table_->put(n / 2, keys.data(), values.data(), row_bytes(), answers.data()),
            status::ok);
  auto locate = [&](const void** into, std::uint32_t* long_as) {
    return table_->locate_async(n, keys.data(), into, long_as, answers.data());
  };
  EXPECT_EQ(locate(nullptr, lengths.data()), status::invalid_argument);
  EXPECT_EQ(locate(places.data(), nullptr), status::invalid_argument);
  ASSERT_EQ(locate(places.data(), lengths.data()), status::ok);
  ASSERT_EQ(table_->wait(), status::ok);
  for (std::size_t i = 0; i < n; ++i) {
    ASSERT_EQ(answers[i], i < n / 2 ? status::ok : status::not_found);
    if (i >= n / 2) {
      EXPECT_EQ(places[i], nullptr);
      continue;
    }
    ASSERT_EQ(lengths[i], row_bytes());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(places[i]) % 8, 0u);
    std::string there(row_bytes(), '-');
    ASSERT_EQ(device_->copy(there.data(), places[i], there.size()).code, status::ok);
    EXPECT_EQ(there, std::string(values.data() + i * row_bytes(), row_bytes()));
  }
}

TEST_P(GpuGather, RefusesWhatIsNoGathering) {
  device_words key(*device_, 1);
  shared_answers answer(*device_, 1);
  shared_array<float> row(*device_, GetParam().width);
  auto gather = [&](const gpu::gathering& how) {
    return table_->gather_async(1, key.data(), how, row.data(), answer.data());
  };
  EXPECT_EQ(gather({.width = 0}), status::invalid_argument);
  EXPECT_EQ(gather({.width = 4, .from = static_cast<element>(3)}), status::invalid_argument);
  EXPECT_EQ(gather({.width = 4, .to = static_cast<element>(3)}), status::invalid_argument);
  EXPECT_EQ(gather({.width = 4, .how = static_cast<pooling>(2)}), status::invalid_argument);
  EXPECT_EQ(gather({.width = GetParam().width, .bags = ~std::size_t{0} / 2, .offsets = key.data()}),
            status::invalid_argument)
      << "more than there is memory";
  auto* a_byte_off = reinterpret_cast<std::byte*>(row.data()) + 1;
  auto* no_key = reinterpret_cast<std::byte*>(key.data()) + 4;
  const gpu::gathering one{.width = 1, .to = element::float16};
  EXPECT_EQ(table_->gather_async(1, key.data(), one, a_byte_off, answer.data()),
            status::invalid_argument);
  EXPECT_EQ(table_->gather_async(1, no_key, one, row.data(), answer.data()),
            status::invalid_argument);
  EXPECT_EQ(table_->find_async(1, no_key, nullptr, 0, answer.data()), status::invalid_argument);
  ASSERT_EQ(table_->wait(), status::ok);
  ASSERT_EQ(table_->close(), status::ok);
  EXPECT_EQ(gather({.width = 4}), status::closed);
}

std::vector<gather_case> gather_cases() {
  using enum element;
  std::vector<gather_case> all = {
      {"float32_sums_of_1", float32, float32, pooling::sum, 1},
      {"float32_means_of_33", float32, float32, pooling::mean, 33},
      {"float32_sums_of_300_keys_in_slots", float32, float32, pooling::sum, 300, true},
      {"float16_means_of_64", float16, float16, pooling::mean, 64},
      {"float16_sums_of_520_to_float32", float16, float32, pooling::sum, 520},
      {"bfloat16_sums_of_31", bfloat16, bfloat16, pooling::sum, 31},
      {"bfloat16_means_of_128_to_float16_keys_in_slots", bfloat16, float16, pooling::mean, 128,
       true},
      {"float32_sums_of_16_to_bfloat16", float32, bfloat16, pooling::sum, 16}};
  for (std::size_t i = 0, count = all.size(); i < count; ++i) {
    gather_case on_gpu = all[i];
    on_gpu.name += "_gpu", on_gpu.on_gpu = true;
    all.push_back(on_gpu);
  }
  return all;
}
INSTANTIATE_TEST_SUITE_P(, GpuGather, testing::ValuesIn(gather_cases()),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace durahash::test
