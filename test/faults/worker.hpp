// Draws operations of the public API, performs each with calls that fail, and holds the answers
// against the ledger.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "ledger.hpp"
#include "shim.hpp"
#include "store/random.hpp"

namespace durahash::test {

enum class operation {
  put,
  insert,
  update,
  erase,
  compare_and_set,
  fetch_add,
  put_many,
  erase_many,
  get,
  get_many,
  scan,
  for_each,
  size,
  info,
  stats,
  check,
  reserve,
  compact,
  sync,
};
const char* name_of(operation) noexcept;

inline constexpr operation single_writes[] = {
    operation::put,   operation::put,    operation::insert,          operation::insert,
    operation::erase, operation::update, operation::compare_and_set, operation::fetch_add};
inline constexpr operation group_writes[] = {operation::put_many, operation::put_many,
                                             operation::put_many, operation::erase_many};
inline constexpr operation reads[] = {operation::get,      operation::get_many, operation::scan,
                                      operation::for_each, operation::size,     operation::info,
                                      operation::stats,    operation::check};
inline constexpr operation whole_pool[] = {operation::reserve, operation::compact, operation::sync};

/// What a worker may be answered because of a fault. The table is unchanged then; on a disk with a
/// log, where io_error is the answer, nobody knows.
using excuses = std::vector<status>;

class worker {
 public:
  worker(numbered_pool& pool, ledger& known, std::uint64_t seed, excuses allowed);
  ~worker();

  /// One operation of these kinds, with everything that its call needs.
  void draw(std::span<const operation> kinds);
  /// The same operation on the same keys, as they stand now.
  void draw_again();
  /// The call. Nothing but the library allocates or makes a system call in it.
  void perform();
  /// Holds the answer against the ledger, and writes there what was acknowledged. `faults`: how
  /// many calls failed meanwhile. Returns   whether the answer was an excuse; the operation can be
  /// performed again.
  bool judge(std::uint64_t faults);
  /// Whether a write that the last verdict was on changed something, by its answer.
  bool acknowledged() const { return acknowledged_; }

  /// Draws, performs and judges where nothing is expected to fail, or what fails was armed by the
  /// caller.
  void work(std::span<const operation> kinds, std::uint64_t count);

  /// No lock is held: another thread writes the keys of the last operation and some others, or
  /// every key.
  void let_another_thread_write(bool every_key);

 private:
  struct drawn;
  struct other_writer;
  status natural_answer() const;
  void apply();
  bool judge_group(std::uint64_t faults);
  bool judge_whole(std::uint64_t faults);
  bool is_excused(status answer, std::uint64_t faults) const;
  void judge_doubted(status answer, std::uint64_t n, std::uint64_t version);
  void note_doubt(status answer, std::uint64_t n, std::uint64_t version);
  [[noreturn]] void complain_of(status answer, status natural, std::uint64_t n) const;

  numbered_pool& pool_;
  ledger& known_;
  random_stream random_;
  excuses allowed_;
  bool acknowledged_ = false;
  std::unique_ptr<drawn> now_;
  std::unique_ptr<other_writer> other_;
};

}  // namespace durahash::test
