#include "disk/log_follower.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "disk/planted.hpp"

namespace durahash {
namespace {

constexpr std::uint64_t few_entries = 16, many_entries = 16 * page_of_entries;
constexpr std::uint64_t ahead = 8;  // so many entries before it is taken a line is asked for

/// The compiler compares arrays of bytes one by one.
bool is_same_page(const std::array<std::byte, page_bytes>& a,
                  const std::array<std::byte, page_bytes>& b) noexcept {
  return std::memcmp(a.data(), b.data(), page_bytes) == 0;
}

}  // namespace

log_follower::log_follower(std::string path, int pool, header_judge judge, question writer_is_there)
    : path_(std::move(path)),
      pool_(disk_file::sharing(pool)),
      judge_(std::move(judge)),
      writer_is_there_(std::move(writer_is_there)),
      entries_(many_entries) {}

auto log_follower::refuse(const std::string& why) -> answer {
  refusal_ = {status::unusable, "cannot read " + path_ + " beside its writer: " + why};
  return answer::refused;
}

/// What was found amiss may be what the writer was about to change.
auto log_follower::unless_it_changed(const std::string& why) -> answer {
  begun_ = false;
  refuse(why);
  return read_record(page_now_.data()) && is_same_page(page_now_, record_page_) ? answer::refused
                                                                                : answer::not_yet;
}

bool log_follower::read_record(std::byte* to) const noexcept {
  return pool_.read(log_record_offset, to, page_bytes);
}

auto log_follower::follow(followed_image& image) -> answer {
  constexpr int tries = 20;  // each time the writer has been faster
  for (int n = 0; n < tries; ++n) {
    if (!begun_)
      if (answer a = begin(image); a != answer::stands) return a;
    if (record_.state == log_state::in_use && read_on(image) == end::lost) {
      begun_ = false;
      continue;
    }
    if (record_is_the_same()) return answer::stands;
  }
  return refuse("its writer is too fast for it"), answer::not_yet;
}

// --------------------------------------------------------------------------------------- beginning

auto log_follower::begin(followed_image& image) -> answer {
  image.drop();
  tail_.clear();
  holes_.clear();
  ring_.reset();
  durable_.reset();
  alignas(8) std::byte header[2 * page_bytes];
  if (!read_record(record_page_.data()) || !pool_.read(0, header, sizeof header))
    return refuse(std::strerror(errno));
  result<bool> waits = judge_(header);
  if (!waits) return unless_it_changed(waits.failure().message);
  waits_ = *waits;
  auto [newest, ever_written] = find_record(record_page_.data());
  record_ = newest;
  if (record_.sequence == 0 && ever_written)
    return unless_it_changed("what says which entries of its log count is damaged");
  if (record_.state == log_state::salvaging)
    return refuse("a salvage of it has not come to its end"), answer::not_yet;
  if (record_.state == log_state::in_use)
    if (answer a = begin_log(image); a != answer::stands) return a;
  begun_ = true;
  return answer::stands;
}

/// As a replay does: all of the openings before the last, and where that one begins.
auto log_follower::begin_log(followed_image& image) -> answer {
  const std::string name = path_ + "-log";
  log_ = disk_file::open(name, disk_file::access::through_cache);
  alignas(8) std::byte first_page[page_bytes];
  if (!log_.is_open() || !log_.read(0, first_page, sizeof first_page))
    return unless_it_changed("its log " + name + " cannot be read (" + std::strerror(errno) + ")");
  log_header header;
  std::memcpy(&header, first_page, sizeof header);
  const std::uint64_t key = last_row().key;
  if (!is_whole(header) || header.log_id != record_.log_id ||
      (header.key != key && header.key_before != key))
    return unless_it_changed("the log " + name +
                             " is another pool's, or an older one of this pool");
  for (std::uint64_t i = 0; i + 1 < record_.row_count; ++i) {
    const log_row& row = record_.rows[i];
    const std::uint64_t from = std::min(std::max(record_.from, row.first), row.end);
    if (from + take_from_file(from, row.end, row.key, row.end, image) != row.end)
      return unless_it_changed("its log " + name + " is damaged");
    tail_.forget_waiting();
  }
  next_ = std::max(record_.from, last_row().first);
  if (waits_) return answer::stands;

  struct stat facts {};
  if (!pool_.facts(facts)) return refuse(std::strerror(errno));
  auto ring = log_ring::of_a_writer(log_ring::path_of(facts, record_.log_id, key), facts,
                                    record_.log_id, key);
  if (!ring) return unless_it_changed(ring.failure().message);
  ring_.reset();
  if (*ring) ring_.emplace(std::move(**ring));
  else if (writer_is_there_())
    return unless_it_changed(
        "what its disk does not have yet, in /dev/shm, is not to be seen by this process");
  return answer::stands;
}

// ----------------------------------------------------------------------------------------- reading

std::uint64_t log_follower::take_from_file(std::uint64_t from, std::uint64_t to, std::uint64_t key,
                                           std::uint64_t reached, followed_image& image) {
  std::uint64_t place = from, at_once = few_entries;
  auto put = [&](std::uint64_t number, const log_tail::line& words) { image.put(number, words); };
  while (place < to) {
    const std::uint64_t count = std::min({at_once, to - place, record_.areas.run_from(place)});
    const std::uint64_t offset =
        log_entries_offset + record_.areas.slot_of(place) * sizeof(log_entry);
    if (!log_.read(offset, entries_.data(), count * sizeof(log_entry))) return place - from;
    for (std::uint64_t n = 0; n < count; ++n, ++place) {
      if (n + 2 * ahead < count) tail_.ask_for_index(entries_[n + 2 * ahead].number());
      if (n + ahead < count) tail_.ask_for_line(entries_[n + ahead].number());
      if (!is_sealed(entries_[n], place, key)) return place - from;
      tail_.take(place, entries_[n], std::max(reached, place + 1), put);
    }
    tail_.reaches(std::max(reached, place), put);
    at_once = std::min(4 * at_once, many_entries);
  }
  return place - from;
}

auto log_follower::read_on(followed_image& image) -> end {
  if (ring_ && read_ring(image) == end::lost) return end::lost;
  if (!ring_) {
    constexpr std::uint64_t all = log_row::no_end;
    next_ += take_from_file(next_, all, last_row().key, 0, image);
    tail_.reaches(next_, [&](auto number, const auto& words) { image.put(number, words); });
  }
  if (next_ < record_.from && !disk_bug("a-follower-that-was-left-behind")) return end::lost;
  tail_.forget_before(record_.from);
  return end::reached;
}

bool log_follower::take_from_ring(std::uint64_t place, std::uint64_t reached,
                                  followed_image& image) {
  disk_step("a place of the ring is looked at");
  if (!ring_->is_written(place)) return false;
  const log_entry& slot = ring_->slot(place);
  log_entry e;
  e.seal = __atomic_load_n(&slot.seal, __ATOMIC_ACQUIRE);
  e.head = __atomic_load_n(&slot.head, __ATOMIC_RELAXED);
  for (std::size_t n = 0; n < e.line.size(); ++n)
    e.line[n] = __atomic_load_n(&slot.line[n], __ATOMIC_RELAXED);
  if (!is_sealed(e, place, last_row().key)) return false;
  tail_.take(place, e, reached, [&](auto number, const auto& words) { image.put(number, words); });
  return true;
}

/// A slot of the ring is taken again when the disk has its entry: what is not in the one is in the
/// other.
auto log_follower::read_ring(followed_image& image) -> end {
  if (!ring_->has_its_slots()) return end::lost;
  const std::uint64_t reached = ring_->head().load(std::memory_order_acquire);
  const bool holes_first = disk_bug("holes-are-looked-at-first");
  if (holes_first && look_at_holes_again(reached, image) == end::lost) return end::lost;
  auto number_at = [&](std::uint64_t place) {  // a hint: it may not be sealed
    return __atomic_load_n(&ring_->slot(place).head, __ATOMIC_RELAXED) & log_entry::no_line;
  };
  while (next_ < reached) {
    if (next_ + 2 * ahead < reached) {
      tail_.ask_for_index(number_at(next_ + 2 * ahead));
      tail_.ask_for_line(number_at(next_ + ahead));
    }
    if (take_from_ring(next_, reached, image)) {
      ++next_;
      continue;
    }
    const std::uint64_t on_disk =
        std::min(ring_->durable().load(std::memory_order_acquire), reached);
    if (next_ < on_disk) {
      const std::uint64_t read = take_from_file(next_, on_disk, last_row().key, reached, image);
      next_ += read;
      if (read == 0) return end::lost;
    } else {
      holes_.push_back(next_++);
    }
  }
  if (!holes_first && look_at_holes_again(reached, image) == end::lost) return end::lost;
  tail_.reaches(reached, [&](auto number, const auto& words) { image.put(number, words); });
  return end::reached;
}

/// Until none of them is sealed (F4).
auto log_follower::look_at_holes_again(std::uint64_t reached, followed_image& image) -> end {
  for (bool changed = !holes_.empty(); changed;) {  // ends: they get fewer
    changed = false;
    bool lost = false;
    std::erase_if(holes_, [&](std::uint64_t place) {
      bool taken = take_from_ring(place, reached, image);
      if (!taken && place < ring_->durable().load(std::memory_order_acquire)) {
        taken = take_from_file(place, place + 1, last_row().key, reached, image) == 1;
        lost = lost || !taken;
      }
      changed = changed || taken;
      return taken;
    });
    if (lost) return end::lost;
  }
  return end::reached;
}

/// Else notes what it says now, or has all begin anew.
bool log_follower::record_is_the_same() {
  if (disk_bug("a-follower-that-knows-one-record")) return true;
  if (!read_record(page_now_.data())) return false;
  if (is_same_page(page_now_, record_page_)) {
    // a conversion takes the record away, and then the log
    if (record_.sequence != 0) return true;
    alignas(8) std::byte header[2 * page_bytes];
    begun_ = pool_.read(0, header, sizeof header) && judge_(header);
    return begun_;
  }
  const log_record now = find_record(page_now_.data()).newest;
  if (now.sequence == record_.sequence && now.sequence != 0) return true;  // the next is on its way
  const bool same_opening = now.state == log_state::in_use && record_.state == log_state::in_use &&
                            now.log_id == record_.log_id &&
                            now.rows[now.row_count - 1].key == last_row().key &&
                            now.rows[now.row_count - 1].first == last_row().first;
  begun_ = same_opening;
  record_ = now;
  record_page_ = page_now_;
  return false;
}

// ------------------------------------------------------------------------------- the pool's pages

/// Until two readings agree: a checkpoint may be writing it. A sector is old or new then.
bool log_follower::read_page(std::uint64_t page, std::byte* at) const noexcept {
  std::byte again[page_bytes];
  const std::uint64_t offset = page * page_bytes;
  if (!pool_.read(offset, at, page_bytes)) return false;
  while (true) {  // ends: a page is not written all the time
    if (!pool_.read(offset, again, page_bytes)) return false;
    if (std::memcmp(at, again, page_bytes) == 0) break;
    std::memcpy(at, again, page_bytes);
  }
  tail_.put_onto(page, at);
  return true;
}

bool log_follower::make_durable(bool pool_too) noexcept {
  if (!waits_) return true;
  if (record_.state == log_state::in_use && durable_ != next_) {
    if (!disk_bug("a-follower-that-answers-at-once") && !log_.sync()) return false;
    durable_ = next_;
  }
  return !pool_too || disk_bug("a-follower-that-believes-pages") || pool_.sync();
}

}  // namespace durahash
