// Records by a condition: handed out, visited and erased; and a table that is emptied.
#include "gpu/visits.hpp"
#include "test/gpu/map_rig.hpp"
#include "test/gpu/ref_kernel.hpp"

namespace durahash::test {
namespace {

/// 0 to n - 1, and what nobody may mistake for them.
void fill(gpu::map& m, gpu::device& d, std::size_t n, model& wanted) {
  device_words keys(d, n), values(d, n);
  shared_answers answers(d, n);
  for (std::size_t i = 0; i < n; ++i) wanted[keys[i] = i] = values[i] = i * 3;
  keys[n - 1] = ~std::uint64_t{0}, wanted.erase(n - 1), wanted[~std::uint64_t{0}] = values[n - 1];
  ASSERT_EQ(m.put(n, keys.data(), values.data(), answers.data()), status::ok);
}

struct named_selection {
  const char* name;
  gpu::selection which;
};
const std::vector<named_selection> selections = {
    {"all", {}},
    {"a range of keys", {.key_min = 100, .key_max = 199}},
    {"one key", {.key_min = 7, .key_max = 7}},
    {"the last key", {.key_min = ~std::uint64_t{0}}},
    {"a range of values", {.value_min = 300, .value_max = 330}},
    {"bits of the value", {.mask = 7, .bits = 5}},
    {"both ranges and bits",
     {.key_min = 50, .key_max = 500, .value_min = 300, .value_max = 900, .mask = 1, .bits = 1}},
    {"none: another range", {.key_min = 5, .key_max = 4}},
    {"none: bits outside of the mask", {.mask = 1, .bits = 2}},
};

TEST_P(GpuMap, HandsOutWhatIsSelected) {
  auto made = open();
  ASSERT_TRUE(made) << made.failure().message;
  model wanted;
  fill(*made, *device, 700, wanted);
  device_words keys(*device, 64), values(*device, 64);
  for (const named_selection& each : selections) {
    const gpu::selection& which = each.which;
    model found;
    std::size_t count = 0;
    for (gpu::map::export_cursor at; !at.done;) {
      ASSERT_EQ(made->export_batch_if(at, which, keys.size(), keys.data(), values.data(), count),
                status::ok);
      for (std::size_t i = 0; i < count; ++i)
        ASSERT_TRUE(found.emplace(keys[i], values[i]).second) << each.name << ": " << keys[i];
    }
    model should = wanted;
    std::erase_if(should,
                  [&](auto& record) { return !which.selects(record.first, record.second); });
    EXPECT_EQ(found, should) << each.name;
  }
  gpu::map::export_cursor at;
  std::size_t count = 0;
  ASSERT_EQ(made->export_batch_if(at, {}, keys.size(), keys.data(), nullptr, count), status::ok);
  EXPECT_GT(count, 0u) << "without an array for values";
}

TEST_P(GpuMap, ErasesWhatIsSelected) {
  auto made = open(2, 100);  // so that a mirror needs several commits
  ASSERT_TRUE(made) << made.failure().message;
  model wanted;
  fill(*made, *device, 700, wanted);
  for (std::size_t n = selections.size(); n-- != 0;) {  // all at last
    const gpu::selection& which = selections[n].which;
    const char* name = selections[n].name;
    std::uint64_t before = wanted.size(), erased = 99;
    std::erase_if(wanted, [&](auto& each) { return which.selects(each.first, each.second); });
    ASSERT_EQ(made->erase_if(which, &erased), status::ok) << name;
    EXPECT_EQ(erased, before - wanted.size()) << name;
    ASSERT_EQ(made->size(), wanted.size()) << name;
    if (!wanted.empty()) expect_found(*made, wanted);
  }
  EXPECT_TRUE(made->check().ok);
  ASSERT_EQ(made->close(), status::ok);
  expect_on_the_cpu(wanted);
}

TEST_P(GpuMap, ClearLeavesNothingAndRoomForAll) {
  auto made = open();
  ASSERT_TRUE(made) << made.failure().message;
  ASSERT_EQ(made->clear(), status::ok) << "of an empty one";
  model wanted;
  for (int round = 0; round < 2; ++round) {
    fill(*made, *device, 700, wanted);
    if (round == 0) {
      ASSERT_EQ(made->clear(), status::ok);
      EXPECT_EQ(made->size(), 0u);
      device_words key(*device, 1), value(*device, 1);
      shared_answers answer(*device, 1);
      key[0] = 5;
      ASSERT_EQ(made->find_async(1, key.data(), value.data(), answer.data()), status::ok);
      ASSERT_EQ(made->commit(), status::ok);
      EXPECT_EQ(answer[0], status::not_found);
    }
  }
  expect_found(*made, wanted);
  ASSERT_EQ(made->close(), status::ok);
  expect_on_the_cpu(wanted);
  EXPECT_EQ(made->clear(), status::closed);
}

/// Somebody writes at one of its loads, the one of that number.
struct disturbed_side : gpu::lockstep_side<process_medium> {
  using lockstep_side::lockstep_side;
  std::uint64_t load(const pm<std::uint64_t>& at) {
    if (loads++ == disturbed_at) disturb();
    return lockstep_side::load(at);
  }
  std::size_t loads = 0, disturbed_at = 0;
  std::function<void()> disturb;
};

/// A key goes, and another one gets its slot, at each moment that there is in a visit.
TEST(GpuVisits, SeeTheValueOfTheirKeyWhoeverWritesBeside) {
  scratch_folder folder;
  auto made = gpu::open_on(std::make_unique<lockstep_device>(), folder.file("a"),
                           {.settings = {{"levels", 1}, {"hashes", 1}, {"slots", 2}}}, {});
  ASSERT_TRUE(made) << made.failure().message;
  gpu::device_view view;
  made->view(view);
  const gpu::leased_table& table = view.table;
  process_medium medium;
  gpu::lockstep_turns turns;
  gpu::lockstep_side<process_medium> writer(medium, turns);
  gpu::operations<gpu::lockstep_side<process_medium>> writes(writer, table);
  auto bucket_of = [&](std::uint64_t key) {
    return table.bucket_for(table.where.form(), writes.hash_of(key), 0).index;
  };
  const std::uint64_t bucket = bucket_of(0);
  std::uint64_t other = 1;
  while (bucket_of(other) != bucket) ++other;
  auto write = [&](std::uint64_t key, bool comes) {
    status answer = status::damaged;
    std::int32_t records = 0;
    std::uint64_t hash = writes.hash_of(key);
    EXPECT_TRUE(
        comes ? writes.try_write(true, hash, decide_write(detail::write_mode::insert, 3 * key + 1),
                                 answer, records)
              : writes.try_write(true, hash, erase_decider<std::uint64_t>(), answer, records));
    EXPECT_EQ(answer, status::ok);
  };
  std::uint64_t there = 0, next = other;
  write(there, true);
  std::size_t visits = 0, seen = 0;
  for (bool disturbed = true; disturbed; ++visits) {
    disturbed_side side(medium, turns);
    side.disturbed_at = visits;
    disturbed = false;
    side.disturb = [&] {
      write(there, false);
      write(next, true);
      std::swap(there, next);
      disturbed = true;
    };
    auto here = gpu::visits(side, table).of_bucket(bucket);
    for (unsigned lane = 0; lane < 2; ++lane) {
      if ((here.there >> lane & 1) == 0) continue;
      ++seen;
      EXPECT_TRUE(here.keys[lane] == 0 || here.keys[lane] == other) << here.keys[lane];
      EXPECT_EQ(here.values[lane], 3 * here.keys[lane] + 1) << "disturbed at load " << visits;
    }
  }
  EXPECT_GT(visits, 5u);
  EXPECT_EQ(seen, visits) << "one of both is always there";
  write(there, false);
}

#ifdef DURAHASH_HAS_CUDA
class opened {
 public:
  std::unique_ptr<gpu::device> device;
  std::string why;
  opened() {
    auto found = gpu::cuda_device(0);
    if (found) device = std::move(*found);
    else why = found.failure().message;
  }
};

TEST(GpuRef, VisitsAndErasesInAKernelOfOnesOwn) {
  opened gpu;
  if (!gpu.device && must_have_a_gpu()) FAIL() << gpu.why;
  if (!gpu.device) GTEST_SKIP() << "no GPU: " << gpu.why;
  scratch_folder folder;
  gpu::device& d = *gpu.device;
  auto made =
      gpu::open_on(std::move(gpu.device), folder.file("a"), {}, {.place = gpu::table_place::pool});
  ASSERT_TRUE(made) << made.failure().message;
  constexpr std::size_t n = 500;
  device_words keys(d, n), values(d, n), visits(d, n), counts(d, std::vector<std::uint64_t>(2, 0));
  shared_answers answers(d, n);
  for (std::size_t i = 0; i < n; ++i) keys[i] = i, values[i] = i % 5 == 0 ? 8 : 3 * i;
  ASSERT_EQ(made->put(n, keys.data(), values.data(), answers.data()), status::ok);
  auto visit = [&] {
    std::fill(values.begin(), values.end(), 0);
    std::fill(visits.begin(), visits.end(), 0);
    answers[0] = status::damaged;
    run_visit(*made, n, values.data(), visits.data(), counts.data(), answers.data());
    ASSERT_EQ(made->commit(), status::ok);
    ASSERT_EQ(answers[0], status::ok);
  };
  visit();
  for (std::size_t i = 0; i < n; ++i)
    EXPECT_TRUE(visits[i] == 1 && values[i] == (i % 5 == 0 ? 8 : 3 * i)) << "key " << i;
  run_erase_odd(*made, counts.data() + 1, answers.data());
  ASSERT_EQ(made->commit(), status::ok);
  ASSERT_EQ(answers[0], status::ok);
  EXPECT_EQ(counts[1], n / 2 - n / 10) << "odd, and no multiples of 5";
  EXPECT_EQ(made->size(), n - counts[1]);
  visit();
  for (std::size_t i = 0; i < n; ++i)
    EXPECT_EQ(visits[i], i % 2 == 1 && i % 5 != 0 ? 0u : 1u) << "key " << i;
  EXPECT_EQ(counts[0], 0u);
  EXPECT_TRUE(made->check().ok);
}

TEST(GpuRef, ErasesNothingInAMirror) {
  opened gpu;
  if (!gpu.device && must_have_a_gpu()) FAIL() << gpu.why;
  if (!gpu.device) GTEST_SKIP() << "no GPU: " << gpu.why;
  scratch_folder folder;
  gpu::device& d = *gpu.device;
  auto made = gpu::open_on(std::move(gpu.device), folder.file("a"), {},
                           {.place = gpu::table_place::device_mirror});
  ASSERT_TRUE(made) << made.failure().message;
  device_words key(d, std::vector<std::uint64_t>(1, 1)), value(d, std::vector<std::uint64_t>(1, 3)),
      erased(d, std::vector<std::uint64_t>(1, 0));
  shared_answers answers(d, 1);
  ASSERT_EQ(made->put(1, key.data(), value.data(), answers.data()), status::ok);
  run_erase_odd(*made, erased.data(), answers.data());
  ASSERT_EQ(made->commit(), status::ok);
  EXPECT_EQ(answers[0], status::read_only);
  EXPECT_EQ(made->size(), 1u);
}

/// Slots go from key to key beside the visits: none sees the value of another key.
TEST(GpuRef, VisitsBesideWrites) {
  opened gpu;
  if (!gpu.device && must_have_a_gpu()) FAIL() << gpu.why;
  if (!gpu.device) GTEST_SKIP() << "no GPU: " << gpu.why;
  scratch_folder folder;
  gpu::device& d = *gpu.device;
  gpu::stream beside = d.stream_for_copies();
  auto made = gpu::open_on(std::move(gpu.device), folder.file("a"),
                           {.settings = {{"levels", 1}, {"hashes", 1}, {"slots", 2}}},
                           {.place = gpu::table_place::pool});
  ASSERT_TRUE(made) << made.failure().message;
  constexpr std::size_t n = 64, most = 4 * n;
  device_words keys(d, n), others(d, n), values(d, n), more(d, n), seen(d, most), visits(d, most),
      strange(d, std::vector<std::uint64_t>(1, 0));
  shared_answers answers(d, n), answers_of_others(d, n), answer(d, 1);
  std::uint64_t visited = 0;
  for (std::uint64_t round = 0; round < 30; ++round) {
    for (std::size_t i = 0; i < n; ++i) {
      keys[i] = round % 4 * n + i, values[i] = 3 * keys[i];
      others[i] = (round + 1) % 4 * n + i, more[i] = 3 * others[i];
    }
    std::fill(visits.begin(), visits.end(), 0);
    ASSERT_EQ(made->insert_async(n, keys.data(), values.data(), answers.data(), beside),
              status::ok);
    run_visit(*made, most, seen.data(), visits.data(), strange.data(), answer.data());
    ASSERT_EQ(made->erase_async(n, keys.data(), answers.data(), beside), status::ok);
    ASSERT_EQ(made->insert_async(n, others.data(), more.data(), answers_of_others.data(), beside),
              status::ok);
    ASSERT_EQ(made->commit(), status::ok);
    ASSERT_EQ(made->commit(beside), status::ok);
    for (std::size_t key = 0; key < most; ++key) {
      if (visits[key] == 0) continue;
      ++visited;
      ASSERT_EQ(seen[key], 3 * key) << "round " << round;
    }
  }
  EXPECT_EQ(strange[0], 0u);
  EXPECT_GT(visited, 100u);
}
#endif

}  // namespace
}  // namespace durahash::test
