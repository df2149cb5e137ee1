#include "demo_campaign.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "failure.hpp"
#include "numbers.hpp"
#include "output.hpp"
#include "pool.hpp"

namespace durahash::tool {
namespace {

void sleep_for(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

}  // namespace

void campaign::run(work_kind work, const std::vector<const file_entry*>& files, std::size_t kills,
                   double seconds) {
  ledger_.begin(work, files);
  targets_ = files.size();
  seconds_ = seconds;
  start_ = clock::now();
  const shared_list list(packed(files));
  const std::vector<double> due = moments(kills);
  progress bar(std::string(name_of(work)), targets_, "files");
  print("  kill   done and acknowledged   found in flight   lost or wrong   reopened in\n");
  for (std::size_t killed = 0;;) {
    worker_process worker(pool_path_, work, list);
    spawned_ = clock::now();
    const double next = killed < due.size() ? due[killed] : 2;  // 2: never
    const ending how = run_until(worker, next, bar);
    bar.clear();
    verify(how == ending::finished ? "done"
           : how == ending::killed ? std::to_string(++killed)
                                   : "time");
    if (how == ending::out_of_time)
      print(fmt::format("  the time for this is up: {} of {} files\n", grouped(ledger_.done()),
                        grouped(targets_)));
    if (how != ending::killed) return;
    if (random_between(0, 1) < 0.4) kill_while_opening(work, list);
  }
}

std::vector<double> campaign::moments(std::size_t kills) {
  std::vector<double> shares(std::min<std::size_t>(kills, targets_ / (2 * worker_batch)));
  for (double& share : shares) share = random_between(0, 0.97);
  std::sort(shares.begin(), shares.end());
  return shares;
}

double campaign::share_done() const {
  return std::max(static_cast<double>(ledger_.done()) /
                      static_cast<double>(std::max<std::uint64_t>(1, targets_)),
                  seconds_since(start_) / seconds_);
}

campaign::ending campaign::run_until(worker_process& worker, double share, progress& bar) {
  opened_ = false;
  while (worker.acks().wait(0.02)) {
    note_acks(worker);
    bar.reach(ledger_.done());
    const bool out_of_time = seconds_since(start_) > seconds_;
    if (!out_of_time && share_done() < share) continue;
    sleep_for(random_between(0, 0.001));  // anywhere inside its next steps
    kill(worker);
    if (worker.finish()) return ending::finished;  // it was faster
    return out_of_time ? ending::out_of_time : ending::killed;
  }
  note_acks(worker);
  if (worker.finish()) return ending::finished;
  ++kills_;  // by somebody else
  ++kills_unverified_;
  return ending::killed;
}

/// A successor that dies in the middle of recovery, if the moment is well chosen.
void campaign::kill_while_opening(work_kind work, const shared_list& list) {
  worker_process worker(pool_path_, work, list);
  spawned_ = clock::now();
  opened_ = false;
  sleep_for(random_between(0.3, 1.1) * open_seconds_);
  kill(worker);
  if (!opened_) ++kills_at_open_;
}

/// Kills it and reads what it still said.
void campaign::kill(worker_process& worker) {
  worker.kill();
  while (worker.acks().wait(1)) note_acks(worker);
  note_acks(worker);
  if (worker.finish()) return;
  ++kills_;
  ++kills_unverified_;
}

void campaign::note_acks(worker_process& worker) {
  while (const auto ack = worker.acks().next()) {
    if (!ack->key.empty()) {
      ledger_.note(*ack);
    } else if (!opened_) {
      opened_ = true;
      open_seconds_ = seconds_since(spawned_);
    }
  }
}

/// Opens the pool as the last worker left it, compares everything, prints a row.
void campaign::verify(std::string_view row_name) {
  const auto start = clock::now();
  table pool = open_pool(pool_path_, open_mode::open_existing);
  (void)pool.contains("");
  const double reopened = seconds_since(start);
  if (kills_unverified_ > 0) reopen_seconds_.push_back(reopened);
  const verdict result = ledger_.verify(pool, kills_unverified_);
  kills_unverified_ = 0;
  close_pool(pool);
  print(fmt::format("  {:>4} {:>23} {:>17} {:>15} {:>13}\n", row_name, grouped(ledger_.done()),
                    grouped(result.in_flight), grouped(result.broken), human_seconds(reopened)));
  settle(result);
}

void campaign::settle(const verdict& result) const {
  if (result.broken == 0) return;
  for (const std::string& complaint : result.complaints) tell("  " + complaint + "\n");
  throw failure(exit_not_found, counted(result.broken, "promise") + " broken");
}

}  // namespace durahash::tool
