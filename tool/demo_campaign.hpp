// Work done by processes that are killed at random moments, and verified after each kill.
#pragma once

#include <chrono>
#include <random>
#include <string>
#include <vector>

#include "demo_ledger.hpp"
#include "demo_process.hpp"
#include "progress.hpp"

namespace durahash::tool {

class campaign {
 public:
  campaign(const std::string& pool_path, ledger& known, std::mt19937_64& random)
      : pool_path_(pool_path), ledger_(known), random_(random) {}

  /// Does `work` to `files` with about `kills` interruptions; stops early, with one more, when
  /// `seconds` are over. Throws `failure` when anything acknowledged is lost or wrong.
  void run(work_kind work, const std::vector<const file_entry*>& files, std::size_t kills,
           double seconds);

  /// Throws `failure` if a promise is broken, after its complaints went to stderr.
  void settle(const verdict& result) const;

  std::uint64_t kills() const { return kills_; }
  std::uint64_t kills_at_open() const { return kills_at_open_; }
  const std::vector<double>& reopen_seconds() const { return reopen_seconds_; }

 private:
  using clock = std::chrono::steady_clock;
  enum class ending { finished, killed, out_of_time };

  /// The shares of the work at which kills are due, in order.
  std::vector<double> moments(std::size_t kills);
  /// How much is done: of the files or of the time, whichever is more.
  double share_done() const;

  ending run_until(worker_process& worker, double share, progress& bar);
  void kill_while_opening(work_kind work, const shared_list& list);
  void kill(worker_process& worker);
  void note_acks(worker_process& worker);
  void verify(std::string_view row_name);

  double random_between(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random_);
  }

  const std::string& pool_path_;
  ledger& ledger_;
  std::mt19937_64& random_;

  // The present run.
  std::uint64_t targets_ = 0;
  double seconds_ = 0;
  clock::time_point start_;

  // The present worker.
  clock::time_point spawned_;
  bool opened_ = false;         // it said so
  double open_seconds_ = 0.01;  // from its start until it said so, as last seen

  std::uint64_t kills_ = 0;
  std::uint64_t kills_at_open_ = 0;
  std::uint64_t kills_unverified_ = 0;
  std::vector<double> reopen_seconds_;
};

}  // namespace durahash::tool
