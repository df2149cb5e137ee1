// A copy is of one moment because writers are kept out while its last pages are copied: beside
// them, without that, it holds what was never there at once.
#include <atomic>
#include <thread>

#include "media/image_copy.hpp"
#include "test/engine/engine_rig.hpp"

namespace durahash::test {
namespace {

/// Key 0 is raised; what it says is noted at the keys behind it. In no moment is a note ahead.
template <class Engine>
class noted_table {
 public:
  static constexpr std::uint64_t notes = 16, records = 20'000;
  using rig_type = rig<plain_medium, word_records, Engine>;

  noted_table() {
    for (std::uint64_t n = 0; n < records; ++n)
      EXPECT_EQ(put(*r_, n, n <= notes ? 0 : n), status::ok);
    threads_[0] = std::thread([this] {
      for (std::uint64_t n = 1; !over_; ++n) put(*r_, 0, n);
    });
    threads_[1] = std::thread([this] {
      for (std::uint64_t n = 0; !over_; ++n) put(*r_, 1 + n % notes, get(*r_, 0).value_or(0));
    });
  }
  ~noted_table() {
    over_ = true;
    for (std::thread& t : threads_) t.join();
  }

  /// Whether the copy is of one moment.
  bool copy(bool keeps_writers_out) {
    auto to = memory();
    image_copy copying(r_->p->memory(), *to);
    if (keeps_writers_out) {
      EXPECT_EQ(r_->t->backup(copying), status::ok);
    } else {
      EXPECT_EQ(copying.catch_up([this] { return r_->p->end(); }), status::ok);
      EXPECT_EQ(r_->p->copy_to(copying), status::ok);
    }
    std::vector<std::byte> image(to->base(), to->base() + to->backed_bytes());
    auto found = after_power_cut<plain_medium, word_records, Engine>(image);
    if (!found) return false;
    const auto raised = get(*found, 0);
    for (std::uint64_t n = 1; raised && n <= notes; ++n)
      if (auto note = get(*found, n); !note || *note > *raised) return false;
    check_report report;
    found->t->check(report);
    return raised && report.ok && report.records == records;
  }

 private:
  std::unique_ptr<rig_type> r_ = make_rig<plain_medium, word_records, Engine>(options{});
  std::atomic<bool> over_{false};
  std::thread threads_[2];
};

template <class Engine>
void expect_writers_kept_out() {
  noted_table<Engine> noted;
  for (int copies = 0; copies < 20; ++copies) EXPECT_TRUE(noted.copy(true)) << "copy " << copies;
  bool seen = false;
  for (int copies = 0; copies < 2000 && !seen; ++copies) seen = !noted.copy(false);
  EXPECT_TRUE(seen) << "nothing shows that writers have to be kept out";
}

TEST(BackupBeside, TurboKeepsWritersOutOfTheLastPages) { expect_writers_kept_out<turbo_engine>(); }
TEST(BackupBeside, CcehKeepsWritersOutOfTheLastPages) { expect_writers_kept_out<cceh_engine>(); }
TEST(BackupBeside, LevelKeepsWritersOutOfTheLastPages) { expect_writers_kept_out<level_engine>(); }
TEST(BackupBeside, GphashKeepsWritersOutOfTheLastPages) {
  expect_writers_kept_out<gphash_engine>();
}

}  // namespace
}  // namespace durahash::test
