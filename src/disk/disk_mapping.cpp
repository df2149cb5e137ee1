#include "disk/disk_mapping.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "disk/page_writers.hpp"
#include "disk/planted.hpp"
#include "media/addresses.hpp"
#include "media/file_room.hpp"

namespace durahash {
namespace {

constexpr std::uint8_t unseen_by_checkpoint = 1, unseen_by_copy = 2;
constexpr std::uint64_t max_copies = 512;  // pages; one more in the buffer is the record's
constexpr std::uint64_t max_run = 256;     // pages
/// Up to so many pages between two marked ones are written with them: one stretch costs a disk one
/// write.
constexpr std::uint64_t max_between = 2;
/// A log that is half full again so soon gets longer.
constexpr std::chrono::seconds min_between_checkpoints{1};

}  // namespace

disk_mapping::disk_mapping(locked_file file) : file_(std::move(file)) {}

result<std::unique_ptr<disk_mapping>> disk_mapping::open(const mapping_request& request) {
  auto file = locked_file::open(request);
  if (!file) return file.failure();
  std::unique_ptr<disk_mapping> made(new disk_mapping(std::move(*file)));
  if (!made->set_out(request, made->file_.bytes()))
    return system_error(status::unusable, "cannot reserve addresses for", request.path);
  made->marks_ = zeroed_array<std::atomic<std::uint8_t>>(made->reserved_bytes_ / page_bytes);
  if (!request.read_only) {
    made->direct_ = disk_file::of(made->file_.descriptor());
    if (!made->direct_.is_open())
      return system_error(status::unusable, "cannot write to", request.path);
    made->copies_ = std::make_unique<page_buffer>((max_copies + 1) * page_bytes);
  }
  if (made->backed_bytes() > 0 && !made->map_file(made->backed_bytes()))
    return system_error(status::unusable, "cannot map", request.path);
  return made;
}

disk_mapping::~disk_mapping() {
  stopping_ = true;
  ++asked_;
  asked_.notify_all();
  if (checkpointer_.joinable()) checkpointer_.join();
  log_.reset();
  if (base_ != nullptr) ::munmap(base_, reserved_bytes_);
  if (detached_ && cut_on_close_ &&
      ::ftruncate(file_.descriptor(), static_cast<off_t>(backed_bytes())) != 0) {
    // The file stays longer than needed, and is valid so.
  }
}

// ------------------------------------------------------------------------------------------- image

bool disk_mapping::map_file(std::uint64_t bytes) {
  void* at = ::mmap(base_, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE,
                    file_.descriptor(), 0);
  if (at == MAP_FAILED) return false;
  keep_from_children(base_, bytes);
  return true;
}

bool disk_mapping::map_memory(std::uint64_t from, std::uint64_t to) {
  void* at = ::mmap(base_ + from, to - from, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return false;
  keep_from_children(base_ + from, to - from);
  ::madvise(at, to - from, MADV_HUGEPAGE);
  return true;
}

status disk_mapping::extend(std::uint64_t from, std::uint64_t to) {
  if (!read_only_) {
    if (int failed = provide_blocks(file_.descriptor(), from, to); failed != 0)
      return refused(status::no_space, failed);
    // before a root that names the length may be replayed (C4)
    if (!disk_bug("a-file-longer-than-the-disk-knows") && !direct_.sync()) {
      int why = errno;
      // what else was to be synced is not known: it is not tried again
      if (log_ != nullptr) log_->fail(why);
      else write_failure_ = why;
      return refused(status::io_error, why);
    }
  }
  return map_memory(from, to) ? status::ok : refused(status::no_space, errno);
}

/// The file keeps its blocks until it is closed: a log that is replayed may still need them.
void disk_mapping::release(std::uint64_t from, std::uint64_t to) {
  map_memory(from, to);
  cut_on_close_ = true;
}

/// Behind the stores that it is about: a checkpoint that clears the mark sees them.
void disk_mapping::mark(const void* at, std::size_t bytes) noexcept {
  auto first = static_cast<std::uint64_t>(static_cast<const std::byte*>(at) - base_);
  for (std::uint64_t page = first / page_bytes; page <= (first + bytes - 1) / page_bytes; ++page)
    marks_[page].store(unseen_by_checkpoint | unseen_by_copy, std::memory_order_release);
}

bool disk_mapping::take_change(std::uint64_t page) noexcept {
  disk_step("a page is looked at for a copy");
  if ((marks_[page].load(std::memory_order_relaxed) & unseen_by_copy) == 0) return false;
  // before the copy: a store that it misses marks the page again
  return marks_[page].fetch_and(unseen_by_checkpoint), true;
}

void disk_mapping::flush(const void* at, std::size_t bytes) noexcept {
  if (bytes == 0) return;
  if (!disk_bug("a-mark-that-is-not-set-again") || log_ == nullptr) mark(at, bytes);
  if (log_ == nullptr) return;
  auto first = static_cast<std::uint64_t>(static_cast<const std::byte*>(at) - base_) / line_bytes;
  auto last = static_cast<std::uint64_t>(static_cast<const std::byte*>(at) + bytes - 1 - base_) /
              line_bytes;
  log_->append(first, base_ + first * line_bytes, last - first + 1);
}

// -------------------------------------------------------------------------------------- checkpoint

status disk_mapping::write_to_disk(std::uint64_t, std::uint64_t bytes) {
  if (bytes == 0) return status::ok;
  return checkpoint() ? status::ok
                      : refused(status::io_error, log_ ? log_->failure() : write_failure_);
}

/// It has a place in the log: what comes later is durable later. The operation waits at its end.
status disk_mapping::write_flushed_to_disk(std::uint64_t offset, std::uint64_t bytes) {
  if (log_ == nullptr) return write_to_disk(offset, bytes);
  return log_->failure() == 0 ? status::ok : refused(status::io_error, log_->failure());
}

/// Returns false, and the log takes no more, where the disk refuses: what it has of the pages is
/// not known then.
bool disk_mapping::checkpoint() noexcept {
  std::scoped_lock one_at_a_time(checkpointing_);
  if (log_ == nullptr) return write_all_pages();
  if (log_->failure() != 0) return false;
  std::uint64_t from = log_->head();
  // the entries before `from` are on the disk with that: the pages waited for them
  if (!write_marked_pages() || (!disk_bug("a-record-before-its-pages") && !direct_.sync()))
    return log_->fail(errno), false;
  log_record next = record_;
  next.from = from;
  // openings of which all entries are in the file now
  next.rows[0] = next.rows[next.row_count - 1];
  next.row_count = 1;
  next.areas.forget_before(from);
  if (!write_record(next, !disk_bug("a-checkpoint-before-its-record")))
    return log_->fail(errno), false;
  log_->checkpointed(from);
  ++checkpoints_made_;
  last_made_ = std::chrono::steady_clock::now();
  return true;
}

/// Instead of a checkpoint, where the one before was a moment ago. Returns false where the log is
/// as long as it may be, or the disk is full: then it goes round in what it has.
/// crash before the record: the file is longer than that says, and nothing stands there. crash
/// after: no place of the new area was taken.
bool disk_mapping::grow_log() noexcept {
  std::scoped_lock one_at_a_time(checkpointing_);
  if (log_->failure() != 0) return false;
  bool in_haste = std::chrono::steady_clock::now() - last_made_ < min_between_checkpoints;
  std::uint64_t has = record_.slots, gets = slots_after(has);
  if (!disk_log_is_in_haste(in_haste) || gets == has || !record_.areas.may_grow()) return false;
  if (!log_->extend_file(has, gets)) {
    int why = errno;
    log_->cut_file(has);
    // what else was to be synced is not known
    if (!is_lack_of_room(why) && why != ENOMEM) log_->fail(why);
    return false;
  }
  log_record next = record_;
  next.slots = gets;
  next.areas.grow(next.from, gets);
  if (!write_record(next, !disk_bug("a-log-that-grows-before-its-record")))
    return log_->fail(errno), false;
  log_->grown(next.areas);
  ++growths_;
  last_made_ = std::chrono::steady_clock::now();
  return true;
}

/// Where there is no log yet. Once that has failed, it fails.
bool disk_mapping::write_all_pages() noexcept {
  auto sync = [&] { return disk_bug("pages-of-a-given-up-log-are-not-synced") || direct_.sync(); };
  if (write_failure_ == 0 && (!write_marked_pages() || !sync())) write_failure_ = errno;
  return write_failure_ == 0;
}

/// Whether nothing has to be read from the disk to look at the pages.
bool disk_mapping::in_memory(std::uint64_t first, std::uint64_t last) const noexcept {
  unsigned char found[max_between];
  if (first == last) return true;
  if (::mincore(base_ + first * page_bytes, (last - first) * page_bytes, found) != 0) return false;
  return std::all_of(found, found + (last - first), [](unsigned char c) { return (c & 1) != 0; });
}

/// But the record's.
std::uint64_t disk_mapping::marked_pages() const noexcept {
  std::uint64_t marked = 0;
  for (std::uint64_t page = 0; page < backed_bytes() / page_bytes; ++page)
    marked += page != log_record_offset / page_bytes &&
              (marks_[page].load(std::memory_order_relaxed) & unseen_by_checkpoint) != 0;
  return marked;
}

/// Copies pages, and writes them when the log lets it (C2). Those between that nobody has marked
/// are as the file has them, or have been stored to since: the same holds for their copies.
bool disk_mapping::write_marked_pages() noexcept {
  std::uint64_t pages[max_copies];
  page_run runs[max_copies];
  std::size_t count = 0, count_marked = 0;
  page_writers writers(direct_);
  pages_to_write_ = marked_pages();
  pages_written_ = 0;
  auto write_copies = [&] {
    if (log_ != nullptr && !disk_bug("a-page-before-its-log")) {
      const std::uint64_t end = log_->head();
      disk_step("pages wait for the log");
      if (!log_->wait_durable(end)) return false;
    }
    std::size_t run_count = 0;
    for (std::size_t i = 0, run = 1; i < count; i += run, run = 1) {
      while (i + run < count && run < max_run && pages[i + run] == pages[i] + run) ++run;
      runs[run_count++] = {pages[i] * page_bytes, copies_->at(i * page_bytes), run * page_bytes};
    }
    page_bytes_written_ += count * page_bytes;
    std::size_t marked = std::exchange(count_marked, 0);
    count = 0;
    bool written = writers.write({runs, run_count});
    if (written) pages_written_ += marked;
    disk_step("pages are written");
    return written;
  };
  auto copy = [&](std::uint64_t page) {
    auto* to = reinterpret_cast<std::uint64_t*>(copies_->at(count * page_bytes));
    for (std::uint64_t line = 0; line < page_bytes; line += line_bytes, to += line_bytes / 8)
      copy_line(base_ + page * page_bytes + line, to);
    pages[count++] = page;
  };
  constexpr std::uint64_t record_page = log_record_offset / page_bytes;
  for (std::uint64_t page = 0; page < backed_bytes() / page_bytes; ++page) {
    if ((marks_[page].load(std::memory_order_relaxed) & unseen_by_checkpoint) == 0) continue;
    if (page == record_page) continue;
    if (std::uint64_t last = count == 0 ? 0 : pages[count - 1];
        last > record_page && page - last <= max_between + 1 && count + page - last < max_copies &&
        in_memory(last + 1, page))
      while (++last < page) copy(last);
    // before the copy: a store that it misses marks the page again
    bool after = disk_bug("a-mark-cleared-behind-its-copy");
    if (!after) marks_[page].fetch_and(unseen_by_copy);
    copy(page);
    if (after) marks_[page].fetch_and(unseen_by_copy);
    ++count_marked;
    if (count == max_copies && !write_copies()) return false;
  }
  return write_copies();
}

/// The other record stays: it is in force until this one is whole.
bool disk_mapping::write_record(const log_record& record, bool waits) noexcept {
  log_record next = record;
  next.sequence = record_.sequence + 1;
  next = sealed(next);
  std::byte* page = copies_->at(max_copies * page_bytes);
  auto put = [&](const log_record& r) {
    std::uint64_t turn = disk_bug("a-record-in-the-place-of-the-one-before") ? 0 : r.sequence % 2;
    std::memcpy(page + (log_record_offsets[turn] - log_record_offset), &r, sizeof r);
  };
  std::memset(page, 0, page_bytes);
  put(record_);
  put(next);
  bool written = waits ? direct_.write_through(log_record_offset, page, page_bytes)
                       : direct_.write(log_record_offset, page, page_bytes);
  if (!written) return false;
  record_ = next;
  return true;
}

bool disk_mapping::ask() noexcept {
  auto run = [this] {
    for (int seen = 0; !stopping_.load();) {
      int asked = asked_.load();
      if (asked == seen) asked_.wait(asked);
      else seen = asked, make();
    }
  };
  {
    std::scoped_lock one_at_a_time(starting_);
    if (!checkpointer_.joinable() && !checkpointer_.start(run)) return false;
  }
  ++asked_;
  asked_.notify_all();
  return true;
}

void disk_mapping::make() noexcept {
  if (stopping_.load()) return;
  if (!grow_log()) {
    checkpoint_under_way_ = true;
    checkpoint();
    checkpoint_under_way_ = false;
  }
  log_->grow_ring(ring_slots_for(log_->slots()));
}

// ------------------------------------------------------------------------- appearing and detaching

status disk_mapping::appear() {
  status s = file_.appear();
  return s == status::ok ? s : refused(s, errno);
}

/// The checkpoint brings the pool's file to where the log is; the record then says that the file
/// is whole by itself.
status disk_mapping::detach() {
  if (log_ == nullptr || read_only_) return status::ok;
  if (!checkpoint()) return refused(status::io_error, log_->failure());
  std::scoped_lock one_at_a_time(checkpointing_);
  log_record next = record_;
  next.state = log_state::idle;
  next.slots = std::min(record_.slots, slots_at_first());
  next.areas = log_areas::of(next.slots);
  if (!write_record(next, !disk_bug("a-close-before-its-record")))
    return refused(status::io_error, errno);
  log_->cut_file(next.slots);
  log_->remove_ring_at_end();
  detached_ = true;
  return status::ok;
}

}  // namespace durahash
