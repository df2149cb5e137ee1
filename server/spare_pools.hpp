// Pools that are made ahead. To make one waits for the disk several times, and the event loop must
// not: a thread makes them, and a new table takes one that is there.
//
// Who takes many one after another is held back: the answer waits until another pool is made in the
// place of the one that was taken. So what a client does in turn, a pipeline as well, finds one
// each time. Where none is left, of clients that are more than the spares, or in MULTI, the event
// loop makes it.
//
// A spare belongs to no key: what a killed process leaves is removed at the next start.
//
// Threads: the event loop takes; a thread of its own makes.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "hosted_table.hpp"

namespace durahash::server {

class spare_pools {
 public:
  /// Looks whether pools wait for a disk in the folder, and makes the first ones if so.
  void start();
  /// Whether to make a pool does.
  bool waits_for_disk() const noexcept { return waits_for_disk_; }

  /// A pool of that kind that the disk has already, if there is one. More of that kind follow.
  table_ref take(const table_kind& kind);

  /// Whether the next one that takes such a pool will find one, though others take some, too.
  bool plenty(const table_kind& kind);
  /// Calls back once, from any thread: when a pool has been made in the place of one that was
  /// taken, or cannot be made.
  void when_made(const table_kind& kind, std::function<void()> call);

  /// How many lie there.
  std::size_t count();
  /// At the server's end: closes and removes them.
  void drop_all();

 private:
  /// Of one kind.
  struct shelf {
    std::optional<table_kind> kind;
    std::vector<table_ref> ready;
    std::size_t under_way = 0;  // jobs of the thread, each of which makes one
    std::deque<std::function<void()>> waiting;
  };
  shelf* shelf_of(const table_kind& kind);
  shelf& shelf_for(const table_kind& kind);
  void refill(shelf& s);
  void clear(shelf& s);
  void make(const table_kind& kind);

  bool waits_for_disk_ = false;
  std::mutex lock_;  // guards all below
  // The usual kind, and the one among the others that was asked for last.
  std::array<shelf, 2> shelves_;
  bool ended_ = false, failed_ = false;
};

}  // namespace durahash::server
