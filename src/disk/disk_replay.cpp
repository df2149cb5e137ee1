// How an opening finds the log, brings the image to where it ends, and begins its own part of it.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <deque>

#include "base/random.hpp"
#include "disk/disk_mapping.hpp"
#include "disk/planted.hpp"
#include "media/file_room.hpp"

namespace durahash {
namespace {

constexpr std::uint64_t min_log_bytes = 64 << 20, max_log_bytes = 1 << 30;  // that it may grow to
constexpr std::uint64_t first_slots = 4 * min_slots;
constexpr std::uint64_t growth = 4;

error unusable(const std::string& path, const std::string& why) {
  return {status::unusable, "cannot use " + path + " as a pool: " + why};
}

/// All entries of a page.
constexpr std::uint64_t piece_bytes = page_of_entries * sizeof(log_entry);

std::uint64_t offset_of(std::uint64_t place, const log_areas& areas) {
  return log_entries_offset + areas.slot_of(place) * sizeof(log_entry);
}

/// Reads entries in the order of their places, a piece at a time.
class log_reader {
 public:
  log_reader(const disk_file& file, const log_areas& areas) : file_(file), areas_(areas) {}

  /// Null where the disk refuses.
  const log_entry* at(std::uint64_t place) {
    if (place < first_ || place >= end_) {
      first_ = align_down(place, page_of_entries);
      end_ = first_ + std::min(areas_.run_from(first_), per_read);
      std::uint64_t bytes = align_up((end_ - first_) * sizeof(log_entry), page_bytes);
      if (!file_.read(offset_of(first_, areas_), buffer_.at(), bytes)) return nullptr;
    }
    return reinterpret_cast<const log_entry*>(buffer_.at()) + (place - first_);
  }

 private:
  static constexpr std::uint64_t per_read = 4 * page_of_entries;
  const disk_file& file_;
  const log_areas& areas_;
  page_buffer buffer_{per_read * sizeof(log_entry)};
  std::uint64_t first_ = 0, end_ = 0;
};

}  // namespace

/// Puts entries onto the image in the order of their places, each once the log is known to reach
/// its end.
class disk_mapping::replay {
 public:
  explicit replay(disk_mapping& image) : image_(image) {}

  void take(std::uint64_t place, const log_entry& e) {
    waiting_.push_back({place, e});
    for (; !waiting_.empty() && is_reached(waiting_.front(), place + 1); waiting_.pop_front())
      put(waiting_.front().entry);
  }
  /// Entries whose end lies behind that of their opening say what nobody was told.
  void end_row(std::uint64_t end) {
    for (; !waiting_.empty(); waiting_.pop_front())
      if (is_reached(waiting_.front(), end)) put(waiting_.front().entry);
  }
  bool sound() const noexcept { return sound_; }

 private:
  struct placed {
    std::uint64_t place;
    log_entry entry;
  };
  static std::uint64_t end_of(const placed& p) { return p.entry.end(p.place); }
  static bool is_reached(const placed& p, std::uint64_t end) {
    return end_of(p) <= end || disk_bug("replay-of-what-refers-behind-the-end");
  }

  void put(const log_entry& e) {
    if (e.number() == log_entry::no_line) return;
    std::uint64_t offset = e.number() * line_bytes;
    // the file is as long as any root that was logged says (C4)
    if (offset + line_bytes > image_.backed_bytes()) return void(sound_ = false);
    image_.mark(image_.base_ + offset, line_bytes);
    std::memcpy(image_.base_ + offset, e.line.data(), line_bytes);
    ++image_.replayed_;
  }

  disk_mapping& image_;
  std::deque<placed> waiting_;
  bool sound_ = true;
};

std::string disk_mapping::ring_path(const log_record& record, std::uint64_t key) const {
  return log_ring::path_of(facts_, record.log_id, key);
}

/// Of the openings before this one: those that were killed have left them.
void disk_mapping::note_rings(const log_record& record, const log_header& header) {
  for (std::uint64_t key : {header.key, header.key_before})
    old_rings_.push_back(ring_path(record, key));
}

error disk_mapping::look_at_file() {
  if (::fstat(file_.descriptor(), &facts_) == 0) return {status::ok, {}};
  return unusable(file_.path(), std::strerror(errno));
}

/// Of what the log may grow to.
std::uint64_t disk_mapping::max_slots_now() const noexcept {
  std::uint64_t bytes = how_.log_bytes != 0
                            ? how_.log_bytes
                            : std::clamp(backed_bytes(), min_log_bytes, max_log_bytes);
  std::uint64_t slots = align_down(bytes / sizeof(log_entry), min_slots);
  return std::clamp(slots, disk_first_slots(first_slots), max_slots);
}

std::uint64_t disk_mapping::slots_at_first() const noexcept {
  return disk_first_slots(first_slots);
}

/// The last step may be a longer one, and is no short one: while entries of the area before are
/// needed, the new one alone has the room for the hasty, which is a quarter of all. Where the pool
/// has grown a little, so may its log, and that waits until it is worth a step.
std::uint64_t disk_mapping::slots_after(std::uint64_t slots) const noexcept {
  std::uint64_t most = max_slots_now(), next = growth * slots;
  if (most < slots + slots / 2 && !disk_bug("a-log-grows-by-short-steps")) return slots;
  return std::max(slots, next >= most / 2 ? most : next);
}

std::uint64_t disk_mapping::ring_slots_for(std::uint64_t slots) noexcept {
  return std::bit_floor(std::min(slots / 4, log_ring::max_slots));
}

error disk_mapping::recover(const disk_request& how, bool salvage) try {
  how_ = how;
  if (error e = look_at_file(); e.code != status::ok) return e;
  auto [newest, ever_written] = find_record(base_ + log_record_offset);
  record_ = newest;
  if (record_.sequence == 0 && ever_written && !salvage)
    return unusable(file_.path(), "what says which entries of its log " + log_path() +
                                      " count is damaged; `durahash check --salvage " +
                                      file_.path() + "` goes without them");
  if (record_.state == log_state::salvaging && !salvage)
    return unusable(file_.path(),
                    "a salvage of it has not come to its end; `durahash check "
                    "--salvage " +
                        file_.path() + "` begins anew");
  found_ = record_;
  bool used = record_.state == log_state::in_use || record_.state == log_state::salvaging;
  if (used) return replay_log(record_, salvage);
  if (record_.state == log_state::idle && !read_only_) find_idle_log();
  return {status::ok, {}};
} catch (const std::bad_alloc&) {
  return {status::out_of_memory, "cannot open " + file_.path() + ": no memory for its log"};
}

error disk_mapping::replay_log(const log_record& record, bool salvage) {
  auto lost = [&](const std::string& why) {
    if (salvage) return error{status::ok, {}};
    return unusable(file_.path(), why +
                                      "; it holds operations that were acknowledged, and `durahash "
                                      "check --salvage " +
                                      file_.path() + "` goes without them");
  };
  // which may be passing: not even salvage goes without what is there
  auto unreadable = [&] {
    return unusable(file_.path(), "its log " + log_path() + " cannot be read (" +
                                      std::strerror(errno) +
                                      "); where that lasts, move the log away, and salvage");
  };
  disk_file file = disk_file::open(
      log_path(), read_only_ ? disk_file::access::read_only : disk_file::access::read_write);
  if (!file.is_open() && errno == ENOENT)
    return lost("it was open when its machine or process ended, and its log " + log_path() +
                " is not there");
  if (!file.is_open()) return unreadable();
  page_buffer first_page(page_bytes);
  log_header header;
  if (!file.read(0, first_page.at(), page_bytes)) return unreadable();
  std::memcpy(&header, first_page.at(), sizeof header);
  const log_row& last = record.rows[record.row_count - 1];
  if (!is_whole(header) || header.log_id != record.log_id ||
      (header.key != last.key && header.key_before != last.key))
    return lost("the log " + log_path() + " is another pool's, or an older one of this pool");

  note_rings(record, header);

  log_reader entries(file, record.areas);
  const std::uint64_t log_end = record.areas.end(record.from);
  replay onto(*this);
  std::uint64_t reached = record.from;
  for (std::uint64_t i = 0; i < record.row_count; ++i) {
    const log_row& row = record.rows[i];
    std::uint64_t place = std::max(record.from, row.first);
    std::uint64_t most = std::min(row.end, log_end);
    for (; place < most; ++place) {
      const log_entry* e = entries.at(place);
      if (e == nullptr) return unreadable();
      bool believed = disk_bug("seals-are-believed") && e->seal != 0;
      if (!believed && !is_sealed(*e, place, row.key)) {
        if (disk_bug("replay-goes-past-a-hole") && place + page_of_entries < most) continue;
        break;
      }
      onto.take(place, *e);
    }
    if (row.end != log_row::no_end && place < row.end)
      return lost("its log " + log_path() + " is damaged at place " + std::to_string(place));
    reached = place;
    if (i + 1 == record.row_count) break;
    onto.end_row(row.end);
  }

  // What a killed process had not written to the disk yet. A hole: its thread had acknowledged
  // nothing that came behind it.
  auto found_ring =
      log_ring::left_behind(ring_path(record, last.key), facts_, record.log_id, last.key);
  if (!found_ring) return unusable(file_.path(), found_ring.failure().message);
  std::optional<log_ring>& ring = *found_ring;
  found_no_ring_ = !ring && !how_.waits;
  if (ring && ring->durable() > reached)
    return lost("its log " + log_path() + " is damaged at place " + std::to_string(reached));
  if (ring && ring->head() > reached) {
    // places beyond the ring's slots were taken, too, by threads that waited for room
    std::uint64_t end = std::min<std::uint64_t>(ring->head(), log_end);
    page_buffer piece(piece_bytes);
    for (std::uint64_t first = align_down(reached, page_of_entries); first < end;
         first += page_of_entries) {
      if (!file.read(offset_of(first, record.areas), piece.at(), piece_bytes))
        return unusable(log_path(), std::strerror(errno));
      auto* slots = reinterpret_cast<log_entry*>(piece.at());
      for (std::uint64_t place = std::max(first, reached);
           place < std::min(end, first + page_of_entries); ++place) {
        log_entry& e = slots[place - first];
        e = ring->slot(place);
        if (!ring->is_written(place) || !is_sealed(e, place, last.key)) {
          e = {0, log_entry::no_line, {}};
          e.seal = seal_of(e, place, last.key, ring->lap(place));
        }
        onto.take(place, e);
      }
      if (!read_only_ && !file.write(offset_of(first, record.areas), piece.at(), piece_bytes))
        return unusable(log_path(), std::strerror(errno));
    }
    reached = end;
  }
  onto.end_row(reached);
  if (!onto.sound()) return lost("its log " + log_path() + " is of a longer pool than the file is");
  if (read_only_) return {status::ok, {}};

  // A killed process may have written what it never waited for; what is built on it needs it.
  if (!disk_bug("the-log-of-a-killed-process-is-not-synced") && !file.sync())
    return unusable(log_path(), std::strerror(errno));
  if (!disk_bug("the-pool-of-a-killed-process-is-not-synced") && !direct_.sync())
    return unusable(file_.path(), std::strerror(errno));
  newest_key_ = last.key;
  found_.rows[found_.row_count - 1].end = reached;
  if (found_.row_count == log_record::max_rows) {
    if (!write_all_pages()) return unusable(file_.path(), std::strerror(write_failure_));
    found_.from = align_up(reached, page_of_entries);
    found_.areas.forget_before(found_.from);
    found_.row_count = 0;
  }
  log_file_ = std::move(file);
  return {status::ok, {}};
}

/// The log of a pool that was closed: empty, and as good as a new one.
bool disk_mapping::find_idle_log() {
  disk_file file = disk_file::open(log_path(), disk_file::access::read_write);
  page_buffer first_page(page_bytes);
  log_header header;
  if (!file.is_open() || !file.read(0, first_page.at(), page_bytes)) return false;
  std::memcpy(&header, first_page.at(), sizeof header);
  if (!is_whole(header) || header.log_id != record_.log_id) return false;
  note_rings(record_, header);
  std::uint64_t bytes = log_entries_offset + record_.slots * sizeof(log_entry);
  if (file.bytes() < bytes || record_.slots > max_slots_now()) return false;
  found_.areas = log_areas::of(record_.slots);
  found_.from = found_.row_count = 0;
  log_file_ = std::move(file);
  return true;
}

error disk_mapping::lock_log() {
  mapping_request request;
  request.path = log_path();
  auto locked = locked_file::open(request);
  if (!locked)
    return {locked.failure().code, unusable(file_.path(), locked.failure().message).message};
  log_lock_.emplace(std::move(*locked));
  return {status::ok, {}};
}

void disk_mapping::remove_new_log() noexcept {
  if (log_lock_) ::unlink((log_lock_->path()).c_str());
}

/// Under another name until it is whole. A log of that name may be that of a pool that was renamed
/// while it was open.
error disk_mapping::new_log(log_record& next) {
  if (struct stat facts{}; ::stat(log_path().c_str(), &facts) == 0) {
    if (error e = lock_log(); e.code != status::ok) return e;
    log_lock_.reset();
  }
  next.slots = slots_at_first();
  next.areas = log_areas::of(next.slots);
  next.from = next.row_count = 0;
  fill_random(next.log_id.data(), next.log_id.size());
  std::string draft = log_path() + ".new";
  ::unlink(draft.c_str());
  log_file_ = disk_file::create(draft);
  if (log_file_.is_open() &&
      log_file_.fill_with_zeros(0, log_entries_offset + next.slots * sizeof(log_entry)) &&
      ::rename(draft.c_str(), log_path().c_str()) == 0 &&
      name_to_disk(file_.descriptor(), log_path()))
    return {status::ok, {}};
  error e = {is_lack_of_room(errno) ? status::no_space : status::unusable,
             "cannot make the log " + log_path() + ": " + std::strerror(errno)};
  ::unlink(draft.c_str());
  return e;
}

/// In this order: a log of the pool's own; the log's header names the new key; the ring of that key
/// has its name; the record names the place from which on that counts; old rings go.
/// crash before the record: the header still names the key before, and its ring is there. crash
/// before the old rings go: the header names them.
error disk_mapping::begin(const disk_request& how, bool salvage) try {
  how_ = how;
  if (error e = look_at_file(); e.code != status::ok) return e;
  log_record next = found_;
  // what was put onto the image of a log that is given up now
  if (salvage && !write_all_pages()) return unusable(file_.path(), std::strerror(write_failure_));
  if (!log_file_.is_open())
    if (error e = new_log(next); e.code != status::ok) return e;
  log_file_.share_like(file_.descriptor());
  if (error e = lock_log(); e.code != status::ok) return e;
  std::uint64_t key = disk_bug("an-opening-without-a-key") ? 1 : random_word();
  page_buffer page(page_bytes);
  std::memset(page.at(), 0, page_bytes);
  log_header header =
      sealed(log_header{log_magic, log_version, next.log_id, next.slots, key, newest_key_, 0});
  std::memcpy(page.at(), &header, sizeof header);
  std::uint64_t first = next.row_count == 0
                            ? next.from
                            : align_up(next.rows[next.row_count - 1].end, page_of_entries);
  next.rows[next.row_count++] = {first, log_row::no_end, key};
  next.state = salvage ? log_state::salvaging : log_state::in_use;

  std::uint64_t ring_slots = ring_slots_for(next.slots);
  auto ring = how_.waits ? result<log_ring>(log_ring::in_memory(ring_slots, first))
                         : log_ring::on_tmpfs(ring_path(next, key), file_.descriptor(), ring_slots,
                                              next.log_id, key, first);
  auto no_ring = [&](const error& e) {
    return unusable(file_.path(), e.message + "; the level power needs no such file");
  };
  if (!ring) return no_ring(ring.failure());
  bool named = disk_bug("a-record-before-its-header")
                   ? log_file_.write(0, page.at(), page_bytes)
                   : log_file_.write_through(0, page.at(), page_bytes);
  if (named)
    if (error e = ring->appear(); e.code != status::ok) return no_ring(e);
  if (!named || !write_record(next, !disk_bug("places-before-their-record"))) {
    error e = {status::unusable,
               "cannot write to the log " + log_path() + ": " + std::strerror(errno)};
    ring->remove_at_end();
    return e;
  }
  for (const std::string& old : old_rings_) ::unlink(old.c_str());
  old_rings_.clear();
  auto delay = how_.waits ? std::chrono::milliseconds(0) : how_.delay;
  log_ = std::make_unique<disk_log>(std::move(log_file_), std::move(*ring),
                                    log_settings{key, next.areas, next.from, delay}, *this);
  last_made_ = std::chrono::steady_clock::now();
  return {status::ok, {}};
} catch (const std::bad_alloc&) {
  return {status::out_of_memory, "cannot open " + file_.path() + ": no memory for its log"};
}

error disk_mapping::end_salvage() {
  bool durable = disk_bug("a-salvage-ends-before-its-log") || log_->wait_durable(log_->head());
  std::scoped_lock one_at_a_time(checkpointing_);
  log_record next = record_;
  next.state = log_state::in_use;
  if (durable && write_record(next, !disk_bug("a-salvage-ends-before-its-record")))
    return {status::ok, {}};
  return unusable(file_.path(), std::strerror(durable ? errno : log_->failure()));
}

}  // namespace durahash
