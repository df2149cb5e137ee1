// What a child does with a handle that it inherited never reaches the medium: no load, no store, no
// write-back, no fence. It has not even the pages of the pool. The explorer's world has engines and
// no handles, which stand above them. So this is one engine on a medium that tells all, under the
// handle of the public interface, forked.
#include <algorithm>
#include <cstring>

#include "engine/turbo/table.hpp"
#include "media/recording_medium.hpp"
#include "store/pool_adapter.hpp"
#include "world.hpp"

namespace durahash::test {
namespace {

class counter final : public recorder {
 public:
  void entering(verb, const site&) override { ++seen_; }
  void reading(const void*, std::size_t) override { ++seen_; }
  void before_change() override { ++seen_; }
  void stored(const void*, std::size_t) override { ++seen_; }
  void stored_bytes(const void*, std::size_t) override { ++seen_; }
  void exchanged(const void*, std::size_t, bool) override { ++seen_; }
  void flushed(const void*, std::size_t) override { ++seen_; }
  void fenced() override { ++seen_; }
  std::uint64_t seen() const { return seen_; }

 private:
  std::atomic<std::uint64_t> seen_{0};
};

using traced_medium = recording_medium<false>;

/// A handle as `table` and `map` are.
template <class Interface>
class traced : public handle {
 public:
  explicit traced(std::unique_ptr<Interface> opened) : handle(std::move(opened)) {}
  Interface& operations() const { return static_cast<Interface&>(table()); }
};

struct words {
  using engine = turbo::table<traced_medium, word_records>;
  using bound = word_adapter<engine, traced_medium>;
  using interface = detail::word_table;
  static constexpr data_kind kind = data_kind::u64;
  static std::uint64_t item(std::uint64_t n) { return n; }
};
struct strings_of_bytes {
  using engine = turbo::table<traced_medium, byte_records>;
  using bound = byte_adapter<engine, traced_medium>;
  using interface = detail::bytes_table;
  static constexpr data_kind kind = data_kind::bytes;
  static std::string item(std::uint64_t n) { return "record " + std::to_string(n); }
};

template <class Kind>
class ForkTraced : public testing::Test {
 protected:
  void SetUp() override {
    auto plan = Kind::engine::plan({});
    auto map = mapping::open(
        {.path = {}, .medium = medium_kind::memory, .address_space_bytes = std::uint64_t{1} << 30});
    ASSERT_TRUE(plan && map);
    superblock block = new_superblock(engine_kind::turbo, Kind::kind, Kind::kind,
                                      durability_level::power, plan->settings, plan->engine_bytes);
    block.seed_flip = 0x0123456789abcdef;
    block.seed_multiply = 0x9e3779b97f4a7c15;
    auto made =
        pool<traced_medium>::create(std::move(*map), std::make_unique<traced_medium>(told_), block);
    ASSERT_TRUE(made);
    storage_ = made->get();
    auto bound = std::make_unique<typename Kind::bound>(std::move(*made), medium_kind::memory);
    ASSERT_EQ(bound->open("a traced pool", false).code, status::ok);
    opened_.emplace(std::move(bound));
    for (std::uint64_t n = 0; n < 500; ++n)
      ASSERT_EQ(ops().write(detail::write_mode::put, Kind::item(n), Kind::item(n + 1)), status::ok);
  }
  typename Kind::interface& ops() const { return opened_->operations(); }
  std::vector<std::byte> content() const {
    return {storage_->at(std::uint64_t{0}), storage_->at(storage_->end())};
  }

  /// Each operation once, of a record that is there and of one that is not; what it answered.
  std::vector<status> every_operation() {
    std::vector<status> answers;
    for (std::uint64_t n : {1, 1'000'000}) {
      auto key = Kind::item(n);
      for (auto mode :
           {detail::write_mode::put, detail::write_mode::insert, detail::write_mode::update})
        answers.push_back(ops().write(mode, key, Kind::item(7)));
      answers.push_back(get(key));
      answers.push_back(ops().compare_and_set(key, Kind::item(7), Kind::item(8)));
      std::uint64_t previous;
      answers.push_back(ops().fetch_add(key, 1, previous));
      answers.push_back(ops().erase(key));
    }
    groups(answers);
    cursor at;
    answers.push_back(ops().scan(at, 10, [](auto, auto) {}));
    answers.push_back(opened_->reserve(5000));
    answers.push_back(opened_->compact());
    answers.push_back(opened_->sync());
    static_cast<void>(opened_->check().ok);
    static_cast<void>(opened_->size());
    static_cast<void>(opened_->info());
    static_cast<void>(opened_->stats());
    static_cast<void>(opened_->kinds());
    return answers;
  }

  counter told_;
  pool<traced_medium>* storage_ = nullptr;
  std::optional<traced<typename Kind::interface>> opened_;

 private:
  template <class Key>
  status get(const Key& key) {
    if constexpr (Kind::kind == data_kind::u64) {
      std::uint64_t value;
      return ops().get(key, value);
    } else {
      return ops().get(key, [](std::string_view) {});
    }
  }
  void groups(std::vector<status>& all) {
    constexpr std::size_t count = 3;
    using item_type = decltype(Kind::item(0));
    std::vector<item_type> items;
    for (std::uint64_t n = 0; n < count; ++n) items.push_back(Kind::item(n));
    using key_type = typename Kind::engine::key_type;
    std::vector<key_type> keys(items.begin(), items.end()), values = keys;
    status answers[count];
    auto add = [&] { all.insert(all.end(), answers, answers + count); };
    ops().put_many(keys, values.data(), answers), add();
    if constexpr (Kind::kind == data_kind::u64) ops().get_many(keys, values.data(), answers);
    else
      ops().get_many(
          keys, [](std::size_t, std::string_view) {}, answers);
    add();
    ops().erase_many(keys, answers), add();
  }
};
using both = testing::Types<words, strings_of_bytes>;
TYPED_TEST_SUITE(ForkTraced, both);

TYPED_TEST(ForkTraced, NothingThatAChildDoesReachesTheMedium) {
  const std::vector<std::byte> before = this->content();
  in_forked_child("a child that does everything", [&] {
    const std::uint64_t seen = this->told_.seen();
    for (status answer : this->every_operation())
      require(answer == status::forked, "every operation answers forked");
    require(this->opened_->close() == status::forked, "close answers forked");
    this->opened_.reset();
    require(this->told_.seen() == seen, "no call of a child reaches the medium");
  });
  EXPECT_TRUE(this->content() == before);
  // The same calls in the process that opened it: each kind of them is seen where it counts.
  const std::uint64_t seen = this->told_.seen();
  std::vector<status> answers = this->every_operation();
  EXPECT_EQ(std::count(answers.begin(), answers.end(), status::forked), 0);
  EXPECT_GT(this->told_.seen(), seen + 10 * answers.size());
}

}  // namespace
}  // namespace durahash::test
