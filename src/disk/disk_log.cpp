#include "disk/disk_log.hpp"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "base/diagnostics.hpp"
#include "base/spin_lock.hpp"
#include "disk/planted.hpp"

namespace durahash {
namespace {

// The page of an entry is written whole: behind it stand neighbours that are not needed.
constexpr std::uint64_t slack = page_of_entries;
constexpr std::uint64_t max_lines_at_once = 64;
/// Threads that may be between their look at the file's limit and their places, all at once.
constexpr std::uint64_t max_hasty = 2048;
constexpr std::uint64_t max_group_bytes = 4 << 20;
constexpr std::uint64_t max_write_bytes = 1 << 20;
// what writers of the level power_buffered may be ahead of the disk
constexpr std::uint64_t min_ahead = min_slots / 2, first_ahead = 16 * min_slots;

std::uint64_t lines_at_once_for(std::uint64_t ring_slots) {
  return std::clamp<std::uint64_t>(ring_slots / max_hasty, 1, max_lines_at_once);
}

}  // namespace

/// In parts of 16 bytes: the processor reads each aligned word of them at once.
void copy_line(const std::byte* line, std::uint64_t* to) noexcept {
  using part = std::uint64_t __attribute__((vector_size(16), may_alias));
  constexpr std::size_t parts = line_bytes / sizeof(part);
  auto* from = reinterpret_cast<const volatile part*>(line);
  part copy[parts];
  for (std::size_t i = 0; i < parts; ++i) {
    disk_step("a part is read");
    copy[i] = from[i];
  }
  for (bool same = disk_bug("a-line-read-once");
       !same;) {  // ends: writers of a line are few, and store few words
    part changed{};
    for (std::size_t i = 0; i < parts; ++i) {
      const part again = from[i];
      changed |= copy[i] ^ again;
      copy[i] = again;
    }
    same = (changed[0] | changed[1]) == 0;
  }
  std::memcpy(to, copy, sizeof copy);
}

disk_log::disk_log(disk_file file, log_ring ring, const log_settings& how, checkpoints& make)
    : file_(std::move(file)),
      ring_(std::move(ring)),
      key_(how.key),
      delay_(how.delay),
      checkpoints_(make),
      ring_limit_(ring_.limit()),
      lines_at_once_(lines_at_once_for(ring_.slots())),
      max_ahead_(std::min(first_ahead, most_ahead())),
      from_(how.from),
      slots_(how.areas.slots()),
      areas_(how.areas),
      room_for_hasty_(ring_.slots()),
      first_(durable()) {
  set_limits();
  // Without a thread, who needs an entry on the disk waits for it.
  if (!waits() && !own_thread_.start([this] { write_in_time(); }))
    delay_ = std::chrono::milliseconds(0);
}

disk_log::~disk_log() {
  stopping_ = true;
  ++entries_came_;
  entries_came_.notify_all();
  if (own_thread_.joinable()) own_thread_.join();
}

log_counts disk_log::counts() const noexcept {
  return {head() - first_, bytes_.load(), groups_.load(), stalls_.load()};
}

void disk_log::fail(int error_number) noexcept {
  int none = 0;
  const int why = error_number == 0 ? EIO : error_number;
  char room[256];
  if (failure_.compare_exchange_strong(none, why))
    diagnose("the disk has failed under %s: %s; its pool acknowledges nothing any more",
             file_.path(room), std::strerror(why));
  for (auto& done : group_done_) ++done, done.notify_all();
  ++freed_;
  freed_.notify_all();
}

// --------------------------------------------------------------------------------------- appending

void disk_log::append(std::uint64_t number, const std::byte* lines, std::uint64_t count) noexcept {
  while (count != 0) {
    std::uint64_t n = std::min(count, lines_at_once_.load(std::memory_order_acquire));
    if (head() >= file_limit_.load(std::memory_order_acquire)) [[unlikely]]
      wait_for_file();
    [[maybe_unused]] std::uint64_t early[line_bytes / 8];
    if (disk_bug("a-copy-before-its-place")) copy_line(lines, early);
    disk_step("a place is to be taken");
    std::uint64_t place = ring_.head().fetch_add(n, std::memory_order_seq_cst);
    [[maybe_unused]] std::uint64_t before_copies = disk_bug("an-end-before-its-copy") ? head() : 0;
    disk_step("a place is taken");
    if (place + n > ring_limit_.load(std::memory_order_acquire)) [[unlikely]]
      wait_for_ring(place + n);
    if (failure() != 0) [[unlikely]] {
      // which never becomes durable
      if (!disk_bug("a-failed-append-needs-nothing")) needed() = std::max(needed(), place + n);
      return;
    }
    for (std::uint64_t i = 0; i < n; ++i) {
      log_entry& e = ring_.slot(place + i);
      copy_line(lines + i * line_bytes, e.line.data());
      if (disk_bug("a-copy-before-its-place") && i == 0)
        std::copy(std::begin(early), std::end(early), e.line.begin());
      disk_step("a line is copied");
      std::uint64_t end = disk_bug("an-end-before-its-copy") ? before_copies : head();
      e.head = (number + i) | (end - (place + i)) << log_entry::number_bits;
      __atomic_store_n(&e.seal, seal_of(e, place + i, key_, ring_.lap(place + i)),
                       __ATOMIC_RELEASE);
      needed() = std::max(needed(), disk_bug("a-wait-for-places-alone") ? place + n : end);
    }
    if (idle_.load(std::memory_order_seq_cst)) [[unlikely]]
      if (idle_.exchange(false)) ++entries_came_, entries_came_.notify_all();
    if (!waits() && place / page_of_entries != (place + n) / page_of_entries) [[unlikely]]
      wait_for_late_disk(place + n);
    number += n, lines += n * line_bytes, count -= n;
  }
}

/// With a place taken. The places before it are sealed without this thread, or wait for earlier
/// ones.
void disk_log::wait_for_ring(std::uint64_t end) noexcept {
  stalls_.fetch_add(1, std::memory_order_relaxed);
  for (int tries = 0; end > ring_limit_.load(std::memory_order_acquire) && failure() == 0; ++tries)
    if (!lead(false)) await_holder(tries);
}

/// With no place taken: the checkpoint waits for all that are.
void disk_log::wait_for_file() noexcept {
  stalls_.fetch_add(1, std::memory_order_relaxed);
  while (head() >= file_limit_.load(std::memory_order_acquire) && failure() == 0) {
    int seen = freed_.load();
    if (head() < file_limit_.load(std::memory_order_acquire) || failure() != 0) return;
    if (!asked_.exchange(true) && !checkpoints_.ask()) checkpoints_.make();
    freed_.wait(seen);
  }
}

/// Nobody gets further ahead of the disk than it writes in a quarter of the time.
void disk_log::wait_for_late_disk(std::uint64_t end) noexcept {
  std::uint64_t ahead = max_ahead_.load(std::memory_order_relaxed);
  if (end - durable() <= ahead || disk_bug("writers-run-away")) return;
  stalls_.fetch_add(1, std::memory_order_relaxed);
  wait_durable(end - ahead);
}

/// A batch of that many entries has taken the disk so long.
void disk_log::pace(std::uint64_t entries, std::chrono::nanoseconds took) noexcept {
  std::uint64_t ahead = max_ahead_.load(std::memory_order_relaxed);
  std::chrono::nanoseconds wanted = delay_ / 4;
  if (took > wanted)
    ahead = static_cast<std::uint64_t>(static_cast<double>(entries) * wanted / took);
  else if (entries > ahead / 2) ahead *= 2;
  ahead = std::clamp(ahead, std::min(min_ahead, most_ahead()), most_ahead());
  max_ahead_.store(ahead, std::memory_order_relaxed);
}

// -------------------------------------------------------------------------------- room in the file

log_areas disk_log::areas() const noexcept {
  std::scoped_lock unchanged(areas_lock_);
  return areas_;
}

/// Threads that have looked at the limit may take places behind it, each of them lines_at_once_.
void disk_log::set_limits() noexcept {
  std::uint64_t from = from_.load(std::memory_order_relaxed), end = areas_.end(from);
  file_limit_.store(end - room_for_hasty_ - slack, std::memory_order_release);
  ask_at_.store(from + (end - from) / 2, std::memory_order_relaxed);
  slots_.store(areas_.slots(), std::memory_order_relaxed);
  asked_ = false;
  ++freed_;
  freed_.notify_all();
}

void disk_log::checkpointed(std::uint64_t from) noexcept {
  std::scoped_lock mine(areas_lock_);
  from_.store(from, std::memory_order_release);
  areas_.forget_before(from);
  set_limits();
}

void disk_log::grown(const log_areas& areas) noexcept {
  std::scoped_lock mine(areas_lock_);
  areas_ = areas;
  set_limits();
}

bool disk_log::extend_file(std::uint64_t from_slots, std::uint64_t to_slots) noexcept {
  return file_.fill_with_zeros(log_entries_offset + from_slots * sizeof(log_entry),
                               log_entries_offset + to_slots * sizeof(log_entry));
}

void disk_log::cut_file(std::uint64_t slots) noexcept {
  file_.cut(log_entries_offset + slots * sizeof(log_entry));
}

/// Whoever leads the next groups has it grow. Hasty threads take more places at once then: the
/// room for them comes before that.
void disk_log::grow_ring(std::uint64_t slots) noexcept {
  if (slots <= ring_wanted_.load(std::memory_order_relaxed) || slots <= ring_.slots()) return;
  if (!ring_.provide(slots)) return;
  {
    std::scoped_lock mine(areas_lock_);
    room_for_hasty_ = slots;
    set_limits();
  }
  ring_wanted_.store(slots, std::memory_order_release);
  lines_at_once_.store(lines_at_once_for(slots), std::memory_order_release);
}

// ------------------------------------------------------------------------------------ group commit

/// The places [from, to), whose slots are sealed. A page at an end holds neighbours: those before
/// are as the disk has them, those behind count for nothing yet.
/// One write waits by itself; several are waited for together.
bool disk_log::write_places(std::uint64_t from, std::uint64_t to) noexcept {
  const log_areas areas = this->areas();
  for (std::uint64_t begin = from; from < to;) {
    std::uint64_t in_file = areas.slot_of(from);
    std::uint64_t end = std::min({to, from + ring_.run_from(from), from + areas.run_from(from)});
    std::uint64_t first = align_down(in_file * sizeof(log_entry), page_bytes);
    std::uint64_t last = align_up((in_file + (end - from)) * sizeof(log_entry), page_bytes);
    auto* memory = reinterpret_cast<const std::byte*>(&ring_.slot(from)) -
                   (in_file * sizeof(log_entry) - first);
    bool at_once = (from == begin || disk_bug("a-group-of-two-writes-waits-for-one")) &&
                   end == to && last - first <= max_write_bytes;
    for (std::uint64_t at = first; at < last; at += max_write_bytes) {
      std::uint64_t bytes = std::min(max_write_bytes, last - at);
      const std::byte* piece = memory + (at - first);
      bool written = at_once && !disk_bug("a-group-nobody-waits-for")
                         ? file_.write_through(log_entries_offset + at, piece, bytes)
                         : file_.write(log_entries_offset + at, piece, bytes);
      if (!written) return false;
      bytes_.fetch_add(bytes, std::memory_order_relaxed);
    }
    if (at_once) return true;
    from = end;
  }
  disk_step("a group is written");
  return file_.sync();
}

/// Writes what is sealed, up to the first hole. A hole at the very front is waited for: its owner
/// is between its place and its seal. Returns whether anything was written.
bool disk_log::write_group(bool wait_for_holes) noexcept {
  std::uint64_t from = durable(), top = head(), to = from;
  top = std::min(top, from + max_group_bytes / sizeof(log_entry));
  for (int tries = 0; to < top; ++tries) {
    while (to < top && ring_.is_written(to)) ++to;
    if (to != from || !wait_for_holes || failure() != 0) break;
    await_holder(tries);
  }
  if (to == from) return false;
  covered_.store(to);
  if (!write_places(from, to)) return fail(errno), false;
  groups_.fetch_add(1, std::memory_order_relaxed);
  ring_.durable().store(to, std::memory_order_release);
  std::uint64_t wanted = ring_wanted_.load(std::memory_order_acquire);
  if (wanted > ring_.slots() && ring_.may_grow()) ring_.grow(wanted);
  ring_limit_.store(ring_.limit(), std::memory_order_release);
  // a leader makes none itself: a checkpoint waits for groups
  if (to > ask_at_.load(std::memory_order_relaxed) && !asked_.exchange(true) &&
      !checkpoints_.ask()) {
    asked_ = false;
    ++freed_;  // who saw it asked waits for that
    freed_.notify_all();
  }
  return true;
}

/// Returns whether this thread has led a group that wrote something.
bool disk_log::lead(bool wait_for_holes) noexcept {
  bool nobody = false;
  if (leading_.load(std::memory_order_relaxed) || !leading_.compare_exchange_strong(nobody, true))
    return false;
  bool written = failure() == 0 && write_group(wait_for_holes);
  std::uint64_t mine = group_number_.load(std::memory_order_relaxed);
  group_number_.store(mine + 1);
  leading_.store(false);
  auto &done = group_done_[mine & 1], &next = group_done_[(mine + 1) & 1];
  ++done, ++next;
  next.notify_one();  // to lead the next
  done.notify_all();
  return written;
}

/// Those whom the group under way covers sleep on one word, the others on the word of the next
/// group, of whom one is woken to lead it.
bool disk_log::wait_durable(std::uint64_t end) noexcept {
  if (disk_bug("who-logs-nothing-waits-for-nothing") && needed() == 0) return true;
  std::atomic<int>* slept_on = nullptr;
  while (durable() < end && failure() == 0) {
    int seen[2] = {group_done_[0].load(), group_done_[1].load()};
    std::uint64_t under_way = group_number_.load();
    if (durable() >= end || failure() != 0) break;
    bool nobody_leads = !leading_.load();
    if (nobody_leads) {
      lead(true);
      continue;
    }
    std::uint64_t mine = end <= covered_.load() ? under_way : under_way + 1;
    slept_on = &group_done_[mine & 1];
    slept_on->wait(seen[mine & 1]);
  }
  // woken to lead, and without need to
  if (slept_on != nullptr && !leading_.load()) slept_on->notify_one();
  return durable() >= end;
}

/// The log's own thread, where nobody waits. An entry waits at most a quarter of the time for its
/// group to begin.
void disk_log::write_in_time() {
  while (!stopping_.load()) {
    int seen = entries_came_.load();
    if (durable() == head()) {
      idle_ = true;
      if (durable() == head() && !stopping_.load()) entries_came_.wait(seen);
      idle_ = false;
      if (stopping_.load()) return;
      std::this_thread::sleep_for(delay_ / 4);
    }
    if (failure() != 0) {
      entries_came_.wait(seen);
      continue;
    }
    std::uint64_t from = durable(), end = head();
    auto began = std::chrono::steady_clock::now();
    wait_durable(end);
    std::chrono::nanoseconds took = std::chrono::steady_clock::now() - began, most = delay_ / 4;
    pace(end - from, took);
    // what came meanwhile has waited for as long already
    if (took < most && head() - durable() < max_ahead_ / 2)
      std::this_thread::sleep_for(most - took);
  }
}

}  // namespace durahash
