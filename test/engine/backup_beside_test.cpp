// A copy is of one moment because writers are kept out while its last pages are copied. Here a
// writer comes in the middle of them: it waits; or, without that, the copy is of no moment.
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "media/image_copy.hpp"
#include "test/engine/engine_rig.hpp"

namespace durahash::test {
namespace backup_beside {

/// The mapping of another one, of which it tells each page that a copy looks at.
class watched_mapping final : public mapping {
 public:
  watched_mapping(mapping& other, std::function<void(std::uint64_t)> at_page)
      : at_page_(std::move(at_page)) {
    base_ = other.base();
  }
  bool take_change(std::uint64_t page) noexcept override { return at_page_(page), true; }
  status appear() override { return status::ok; }
  status write_to_disk(std::uint64_t, std::uint64_t) override { return status::ok; }

 protected:
  status extend(std::uint64_t, std::uint64_t) override { return status::no_space; }
  void release(std::uint64_t, std::uint64_t) override {}

 private:
  std::function<void(std::uint64_t)> at_page_;
};

/// Some keys have one version, all of them; a writer raises them one after the other. They come to
/// the table far from each other: those that come together lie in one page of turbo, whose small
/// shards get their places in turn.
template <class Engine>
class raised_table {
 public:
  static constexpr std::uint64_t raised = 16, records = 20'000, apart = records / raised;

  raised_table() {
    for (std::uint64_t n = 0; n < records; ++n)
      EXPECT_EQ(put(*r_, n, n % apart == 0 ? 0 : n), status::ok);
  }
  ~raised_table() { join(); }

  /// Whether a copy is of one moment, in the middle of whose last pages the keys are raised.
  bool is_of_one_moment(bool keeps_writers_out) {
    auto to = memory();
    std::uint64_t pages = r_->p->end() / page_bytes;
    watched_mapping watched(r_->p->memory(), [&](std::uint64_t page) {
      if (page % (pages / 16) == 0) raise();
    });
    image_copy copying(watched, *to);
    if (keeps_writers_out) {
      EXPECT_EQ(r_->t->backup(copying), status::ok);
    } else {
      EXPECT_EQ(copying.catch_up([this] { return r_->p->end(); }), status::ok);
      EXPECT_EQ(r_->p->copy_to(copying), status::ok);
    }
    join();
    std::vector<std::byte> image(to->base(), to->base() + to->backed_bytes());
    auto found = after_power_cut<plain_medium, word_records, Engine>(image);
    if (!found) return false;
    std::uint64_t before = ~std::uint64_t{0};
    for (std::uint64_t n = 0; n < raised; ++n) {
      auto now = get(*found, n * apart);
      if (!now || *now > before) return false;  // of a moment before, and one behind it
      before = *now;
    }
    check_report report;
    found->t->check(report);
    return report.ok && report.records == records;
  }

 private:
  /// Another thread, which has time for it where nothing keeps it out. Of one that is kept out the
  /// copy is not told to wait.
  void raise() {
    if (!done_) return;
    join();
    done_ = false;
    writer_ = std::thread([this, version = ++version_] {
      for (std::uint64_t n = 0; n < raised; ++n) put(*r_, n * apart, version);
      done_ = true;
    });
    auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
    while (!done_ && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  }
  /// Who was kept out goes on behind the copy.
  void join() {
    if (writer_.joinable()) writer_.join();
  }

  std::unique_ptr<rig<plain_medium, word_records, Engine>> r_ =
      make_rig<plain_medium, word_records, Engine>(options{});
  std::uint64_t version_ = 0;
  std::atomic<bool> done_{true};
  std::thread writer_;
};

template <class Engine>
void expect_writers_kept_out() {
  raised_table<Engine> table;
  for (int copies = 0; copies < 3; ++copies) EXPECT_TRUE(table.is_of_one_moment(true));
  bool seen = false;
  for (int copies = 0; copies < 5 && !seen; ++copies) seen = !table.is_of_one_moment(false);
  EXPECT_TRUE(seen) << "nothing shows that writers have to be kept out";
}

TEST(BackupBeside, TurboKeepsWritersOutOfTheLastPages) { expect_writers_kept_out<turbo_engine>(); }
TEST(BackupBeside, CcehKeepsWritersOutOfTheLastPages) { expect_writers_kept_out<cceh_engine>(); }
TEST(BackupBeside, LevelKeepsWritersOutOfTheLastPages) { expect_writers_kept_out<level_engine>(); }
TEST(BackupBeside, GphashKeepsWritersOutOfTheLastPages) {
  expect_writers_kept_out<gphash_engine>();
}

}  // namespace backup_beside
}  // namespace durahash::test
