#include "demo_power.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>
#include <unordered_map>

#include "demo_pool.hpp"
#include "demo_process.hpp"
#include "failure.hpp"
#include "numbers.hpp"
#include "output.hpp"
#include "pool.hpp"
#include "power_cut/undo.hpp"

namespace durahash::tool {
namespace {

using clock = std::chrono::steady_clock;
using power_cut::undo_record;

/// In a build it lies beside the tool, and in a folder of its own where both are installed.
std::string forgetful_disk() {
  std::error_code ignored;
  const auto folder =
      std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path().lexically_normal();
  const auto built = folder / "durahash-power-cut.so";
  if (::access(built.c_str(), R_OK) == 0) return built.string();
  return (folder / DURAHASH_TOOL_TO_LIBEXEC / "durahash-power-cut.so").lexically_normal().string();
}

/// Puts back what the disk forgets of what nobody had waited for, the last change first.
class power_cut_of {
 public:
  power_cut_of(const std::string& undo, const std::vector<std::string>& paths,
               std::mt19937_64& random)
      : random_(random) {
    for (const std::string& path : paths) {
      struct stat facts {};
      if (::stat(path.c_str(), &facts) == 0) names_[facts.st_ino] = path;
    }
    const int file = ::open(undo.c_str(), O_RDONLY | O_CLOEXEC);
    for (char chunk[1 << 16];;) {
      const ssize_t got = file < 0 ? 0 : ::read(file, chunk, sizeof chunk);
      if (got <= 0) break;
      text_.append(chunk, static_cast<std::size_t>(got));
    }
    ::close(file);
  }

  /// Returns how many sectors were put back.
  std::uint64_t happen() {
    std::vector<std::size_t> unsettled;
    undo_record record;
    for (std::size_t at = 0; at + sizeof record <= text_.size();
         at += sizeof record + record.old_bytes) {
      std::memcpy(&record, text_.data() + at, sizeof record);
      // killed while it noted it: it has not begun to write
      if (text_.size() - at - sizeof record < record.old_bytes) break;
      if (record.settled == 0 && names_.contains(record.inode)) unsettled.push_back(at);
    }
    for (std::size_t i = unsettled.size(); i-- > 0;) put_back(unsettled[i]);
    return forgotten_;
  }

 private:
  void put_back(std::size_t at) {
    undo_record record;
    std::memcpy(&record, text_.data() + at, sizeof record);
    const int file = ::open(names_[record.inode].c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0) throw failure(exit_unusable, "cannot cut the power of " + names_[record.inode]);
    struct stat facts {};
    ::fstat(file, &facts);
    const bool grew = static_cast<std::uint64_t>(facts.st_size) > record.offset;
    bool done = true;
    if (record.what == undo_record::change::length) {
      if (grew && forgets()) done = ::ftruncate(file, static_cast<off_t>(record.offset)) == 0;
    } else {
      const char* old = text_.data() + at + sizeof record;
      for (std::uint64_t sector = 0; sector < record.old_bytes; sector += power_cut::sector_bytes) {
        const auto bytes = std::min(power_cut::sector_bytes, record.old_bytes - sector);
        if (!forgets()) continue;
        ++forgotten_;
        done = done &&
               ::pwrite(file, old + sector, bytes, static_cast<off_t>(record.offset + sector)) ==
                   static_cast<ssize_t>(bytes);
      }
    }
    ::close(file);
    if (!done) throw failure(exit_unusable, "cannot write to " + names_[record.inode]);
  }
  bool forgets() { return (random_() & 1) != 0; }

  std::mt19937_64& random_;
  std::unordered_map<std::uint64_t, std::string> names_;  // by inode
  std::string text_;
  std::uint64_t forgotten_ = 0;
};

/// The pool, its log and the undo file, which all go at the end.
struct disk_files {
  explicit disk_files(const std::string& folder)
      : pool(fmt::format("{}/durahash-demo-{}-disk.dh", folder, ::getpid())),
        undo(fmt::format("/dev/shm/durahash-demo-{}.undo", ::getpid())) {
    for (const std::string& path : {pool, pool + "-log", undo}) remove_when_interrupted(path);
  }
  ~disk_files() {
    for (const std::string& path : {pool, pool + "-log", undo}) ::unlink(path.c_str());
  }
  disk_files(const disk_files&) = delete;
  const std::string pool, undo;
};

/// Workers that are started while it lives run on a disk that forgets.
struct on_forgetful_disk {
  explicit on_forgetful_disk(const std::string& undo) {
    ::setenv("LD_PRELOAD", forgetful_disk().c_str(), 1);
    ::setenv(power_cut::undo_variable, undo.c_str(), 1);
  }
  ~on_forgetful_disk() {
    ::unsetenv("LD_PRELOAD");
    ::unsetenv(power_cut::undo_variable);
  }
};

class power_story {
 public:
  power_story(const std::vector<file_entry>& files, std::mt19937_64& random)
      : files_(files), random_(random), disk_("/var/tmp") {
    options how;
    how.mode = open_mode::create_new;
    how.durability = durability_level::power_buffered;
    how.log_bytes = 1 << 20;  // checkpoints come often
    auto pool = table::open(disk_.pool, how);
    if (!pool) throw failure(exit_unusable, pool.failure().message);
    close_pool(*pool);
    for (std::size_t i = 0; i < files.size(); ++i) numbers_.emplace(files[i].path, i);
    known_.resize(files.size());
  }

  void run(double seconds) {
    print(fmt::format(
        "\nThe same index on a disk, {}, durability power_buffered: no write waits.\n"
        "The power goes: the writer is killed, its memory with what the disk had not got is gone,\n"
        "and of what nobody had waited for the disk keeps some sectors, and forgets others.\n"
        "   cut   acknowledged   came back   the oldest that did not   sectors forgotten   "
        "reopened in\n",
        disk_.pool));
    const auto start = clock::now();
    for (int cut = 1; cut <= 8; ++cut) {
      const double left = seconds - std::chrono::duration<double>(clock::now() - start).count();
      if (left <= 0 || !run_once(cut, std::min(0.3, left))) break;
    }
    if (cuts_ == 0) print("  the index was done before the power went\n");
  }
  std::uint64_t cuts() const { return cuts_; }

 private:
  struct record {
    std::optional<std::string> acknowledged;
    clock::time_point when;
    bool settled = false;  // it came back before, and stays
  };

  /// Returns whether the power went before the work was done.
  bool run_once(int cut, double max_seconds) {
    std::vector<const file_entry*> all;
    for (const file_entry& file : files_) all.push_back(&file);
    const shared_list list(packed(all));
    std::uint64_t acknowledged = 0;
    clock::time_point went;
    {
      const on_forgetful_disk forgetful(disk_.undo);
      worker_process worker(disk_.pool, work_kind::index, list);
      auto due = clock::now() + std::chrono::hours(1);
      while (worker.acks().wait(0.001) && clock::now() < due)
        while (const auto ack = worker.acks().next()) acknowledged += note(*ack, due, max_seconds);
      went = clock::now();
      worker.kill();
      while (worker.acks().wait(1)) {}
      while (const auto ack = worker.acks().next()) acknowledged += note(*ack, due, max_seconds);
      if (worker.finish()) return false;
    }
    ++cuts_;
    remove_ring();
    const std::uint64_t forgotten =
        power_cut_of(disk_.undo, {disk_.pool, disk_.pool + "-log"}, random_).happen();
    const auto start = clock::now();
    table pool = open_pool(disk_.pool, open_mode::open_existing);
    (void)pool.contains("");
    const double reopened = std::chrono::duration<double>(clock::now() - start).count();
    const check_report report = pool.check();
    if (!report.ok) throw failure(exit_not_found, "the check failed: " + report.violations.front());
    print(row(cut, acknowledged, compare(pool, went), forgotten, reopened));
    close_pool(pool);
    return true;
  }

  bool note(const acknowledgement& ack, clock::time_point& due, double max_seconds) {
    if (ack.key.empty()) {
      const double after = std::uniform_real_distribution<double>(0, max_seconds)(random_);
      due = clock::now() +
            std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(after));
      return false;
    }
    record& known = known_[numbers_.at(ack.key)];
    known.acknowledged = ack.value;
    known.when = clock::now();
    return true;
  }

  struct outcome {
    std::uint64_t came_back = 0, lost = 0;
    double oldest = 0;  // seconds before the cut
  };

  /// The worker goes through the files in order, a batch after another: those that came back are
  /// the first, and of one batch any.
  outcome compare(const table& pool, clock::time_point went) {
    outcome result;
    std::size_t first_lost = files_.size(), last_new = 0;
    for (std::size_t i = 0; i < files_.size(); ++i) {
      record& known = known_[i];
      const auto found = pool.get(files_[i].path);
      if (known.settled && (!found || *found != *known.acknowledged))
        throw failure(exit_not_found, files_[i].path + " came back once, and is gone now");
      if (known.settled) continue;
      if (found && known.acknowledged && *found != *known.acknowledged)
        throw failure(exit_not_found, files_[i].path + " came back with another value");
      if (found) {
        ++result.came_back;
        last_new = i;
        known.settled = true;
        known.acknowledged = found;
      } else if (known.acknowledged) {
        if (first_lost == files_.size()) first_lost = i;
        ++result.lost;
        result.oldest =
            std::max(result.oldest, std::chrono::duration<double>(went - known.when).count());
        known.acknowledged.reset();
      }
    }
    if (last_new / worker_batch > first_lost / worker_batch)
      throw failure(exit_not_found, files_[first_lost].path + " is lost, and came before " +
                                        files_[last_new].path + ", which is there");
    return result;
  }

  static std::string row(int cut, std::uint64_t acknowledged, const outcome& o,
                         std::uint64_t forgotten, double reopened) {
    const std::string oldest =
        o.lost == 0
            ? "-"
            : fmt::format("{} before the cut", o.oldest > 0 ? human_seconds(o.oldest) : "0 ms");
    return fmt::format("  {:>4} {:>14} {:>11} {:>25} {:>19} {:>13}\n", cut, grouped(acknowledged),
                       grouped(o.came_back), oldest, grouped(forgotten), human_seconds(reopened));
  }

  /// It was memory.
  void remove_ring() const {
    struct stat facts {};
    if (::stat(disk_.pool.c_str(), &facts) != 0) return;
    const std::string begins =
        fmt::format("durahash-{}-{:x}-{:x}-", ::geteuid(), facts.st_dev, facts.st_ino);
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator("/dev/shm", none))
      if (entry.path().filename().string().starts_with(begins))
        std::filesystem::remove(entry.path(), none);
  }

  const std::vector<file_entry>& files_;
  std::mt19937_64& random_;
  disk_files disk_;
  std::unordered_map<std::string_view, std::size_t> numbers_;
  std::vector<record> known_;
  std::uint64_t cuts_ = 0;
};

}  // namespace

void show_power_cuts(const std::vector<file_entry>& files, double seconds,
                     std::mt19937_64& random) {
  if (::access(forgetful_disk().c_str(), R_OK) != 0)
    return print("\nPower cuts are not shown: " + forgetful_disk() + " is not there.\n");
  struct statfs facts {};
  constexpr long tmpfs = 0x01021994;
  if (::statfs("/var/tmp", &facts) != 0 || facts.f_type == tmpfs)
    return print("\nPower cuts are not shown: /var/tmp is not on a disk.\n");
  power_story story(files, random);
  story.run(seconds);
}

}  // namespace durahash::tool
