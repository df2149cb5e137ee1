// What `table` and `map` share: everything that does not mention a key.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "durahash/detail/any_table.hpp"
#include "durahash/info.hpp"
#include "durahash/options.hpp"
#include "durahash/status.hpp"

namespace durahash {

namespace detail {
/// What answers `forked` in the place of a table that another process opened.
any_table& of_another_process(const any_table&);

/// Thrown where a caller's function, called within an operation, returned in a child that it had
/// made. It ends the operation: locks of threads that the child lacks are never let go there.
struct returned_in_a_child {};
inline void end_in_a_child(const any_table& t) {
  if (!t.opened_here()) [[unlikely]]
    throw returned_in_a_child();
}
}  // namespace detail

/// An open pool. Movable, not copyable; a handle that was moved from answers `closed`. The
/// destructor closes. Every operation may be called from several threads at once, `close` and the
/// destructor excepted.
///
/// A handle belongs to the process that opened it. In a child (fork) every operation answers
/// `forked`, finds nothing and changes nothing; `close` and the destructor leave the pool alone.
/// The child may open the pool anew when its parent has closed it, or is dead. Where a visitor or a
/// reader forks and returns in the child, too, the operation around it ends there with `forked`.
/// A handle that was opened with read_beside works in children as well.
///
/// The pool is its file's pages: nobody else may write to an open one or shorten it. Where another
/// program has cut it (`truncate`, `>`, `cp` onto it) the next look behind the end is SIGBUS, and
/// the records there are lost. Removing or renaming the file does no harm; but of a pool with a log
/// (medium disk) both files keep their names until it is closed.
class handle {
 public:
  /// What the pool is. Never waits.
  pool_kinds kinds() const { return table().kinds(); }

  /// Facts of the pool. After a crash waits for the recount, which runs in the background since
  /// open.
  pool_info info() const { return table().info(); }

  /// Counters and engine figures. Cost: reads every bucket's first line.
  table_stats stats() const { return table().stats(); }

  /// Verifies everything: format, every bucket, every record by its checksum, that each key is
  /// found exactly once, that every byte of the pool is either reachable or free. Words have no
  /// checksums: those of a pool that was closed, and not changed since, by the digest that the
  /// close saved. Writers wait while their part is read.
  check_report check() const { return table().check(); }

  /// Records in the table. After a crash waits for the recount.
  std::uint64_t size() const { return table().size(); }

  /// Makes room for `records` records in all, so that they go in with few resizes.
  /// Returns   ok or no_space.
  status reserve(std::uint64_t records) { return table().reserve(records); }

  /// Rebuilds the table at its tightest, moves records to the front of the pool and gives the rest
  /// back to the file system.
  /// Threads   operations go on; each part is locked for writers while it is rebuilt.
  /// Crash     at any point: every record is present; unfinished work is repeated by the next
  ///           compact.
  status compact() { return table().compact(); }

  /// Everything that returned before this call is on the medium: until the next write a power cut
  /// leaves the pool whole, and it opens, on every medium that outlives one.
  /// Crash     a power cut after a later write: at the level power nothing is lost; a plain file
  ///           may be torn then, open refuses it, and salvage keeps the records that are whole,
  ///           which need not be all that were synced.
  /// Threads   with every other operation; writers wait for the end of it.
  status sync() { return table().sync(); }

  /// Makes a new pool at `path`, closed cleanly: the table as it is at one moment between call and
  /// return; with read_beside each record so. Its level is this pool's; `process` on tmpfs.
  ///
  /// Returns   nothing (code ok), or what is wrong: there is something at the path, no room for the
  ///           copy, a disk that refuses.
  /// Cost      the pool is copied while operations go on; then writers wait until what has changed
  ///           is copied, too: on the medium disk the pages written to in the meantime, on others
  ///           about a second for 5 GiB, which are compared.
  /// Durable   when it returns: the copy, and with a log the pool as far as the copy knows it.
  /// Threads   with every other operation; copies of one pool are made one after another.
  /// Crash     at any point: nothing at the path, or the copy. A file system without nameless files
  ///           may keep a part of one, which is refused.
  error backup(const std::string& path) { return table().backup(path); }

  /// Where the pool's log ends: what every operation that has returned, in any thread, left in it
  /// lies before. 0 where the pool has no log. Never waits.
  std::uint64_t position() const { return table().position(); }

  /// Waits until what lies before `position` survives whatever the pool's level names; at the level
  /// power_buffered, a loss of power.
  /// Returns ok, at once where the pool has no log; io_error when the disk has refused a write: it
  ///           may be lost then.
  status wait_durable(std::uint64_t position) { return table().wait_durable(position); }

  /// Saves the allocation state and marks the pool clean. Later calls of anything answer `closed`.
  /// Cost      of a changed table of words: reads all records, for the digest that check compares;
  ///           of others: the heap's state. All dirty bytes go to the disk, where there is one.
  status close();

  /// Up to where the log is durable: wait_durable of a position before it returns at once. 0 where
  /// the pool has no log. Never waits.
  std::uint64_t durable_position() const { return table().durable(); }

  /// Calls `call` once, when what lies before `position` survives whatever the pool's level names:
  /// with ok; or, when the disk has refused a write, with io_error. At once, where that is known;
  /// else from a thread of the pool, which serves all such calls, one after another, in the order
  /// of their positions. `call` must not throw, close the pool, or wait for the log.
  /// Returns   ok; out_of_memory, closed or forked: `call` is not called then.
  /// Threads   with every operation. `close` calls all that are left before it returns.
  status when_durable(std::uint64_t position, std::function<void(status)> call) {
    return table().when_durable(position, std::move(call));
  }

  /// What opening with `options::salvage` kept and dropped; empty otherwise.
  const std::vector<std::string>& salvage_report() const { return table().salvage_report(); }

  handle(handle&&) noexcept;
  handle& operator=(handle&&) noexcept;
  ~handle();

 protected:
  /// Of what open has made.
  explicit handle(std::unique_ptr<detail::any_table> table) : table_(table.release()) {}
  /// What answers: that, or in a child what says so.
  detail::any_table& table() const {
    if (!table_->opened_here()) [[unlikely]]
      return detail::of_another_process(*table_);
    return *table_;
  }

  /// An operation that calls a function of the caller's.
  template <class Operation>
  static status ending_in_a_child(cursor& at, Operation&& run) {
    try {
      return run();
    } catch (const detail::returned_in_a_child&) {
      at.done = true;  // who goes on until it is done comes to an end
      return status::forked;
    }
  }
  /// An operation that calls `make` under a key's lock: `run(called)`, where `called` is to be
  /// called in its place. What `make` throws passes no lock: the record stays as it is, and it is
  /// thrown again when the lock is released. In a child nothing of the table is touched any more.
  template <class Table, class Make, class Operation>
  static status under_lock(Table& all, Make&& make, Operation&& run) {
    std::exception_ptr thrown;
    auto called = [&](auto&&... given) {
      status answer = status::invalid_argument;
      try {
        answer = make(given...);
      } catch (...) {
        thrown = std::current_exception();
      }
      detail::end_in_a_child(all);
      return answer;
    };
    cursor none;
    const status done = ending_in_a_child(none, [&] { return run(called); });
    if (thrown) [[unlikely]]
      std::rethrow_exception(thrown);
    return done;
  }

 private:
  friend class deferred_wait;
  const void* log() const noexcept { return table().log(); }

  detail::table_owner table_;
};

}  // namespace durahash
