// Reading a pool beside a writer of another process: what the engines' readers share
// (docs/explanation/readers.md; R1 to R5 are there).
//
// An engine's reader offers
//   find(key, found)                one look; believed only if the pool's sequence is the same then
//   read_stretch(position, found)   the records of the stretch of hashes in which that one lies,
//                                   and where it ends, 0 at the end of all
//   slots()                         of the table, about
#pragma once

#include <sys/auxv.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/process_facts.hpp"
#include "base/processor.hpp"
#include "base/turns.hpp"
#include "engine/kinds.hpp"
#include "media/beside_mapping.hpp"
#include "media/looked.hpp"
#include "persist/format.hpp"
#include "persist/order.hpp"
#include "persist/owner.hpp"
#include "persist/readers_line.hpp"
#include "persist/record.hpp"

namespace durahash {

/// Key and value, copied out of the pool.
template <class Kind>
struct copied_record;
template <class Kind>
  requires(Kind::in_slot)
struct copied_record<Kind> {
  std::uint64_t hash = 0, key_word = 0, value_word = 0;
  std::uint64_t key() const noexcept { return key_word; }
  std::uint64_t value() const noexcept { return value_word; }
};
template <class Kind>
  requires(!Kind::in_slot)
struct copied_record<Kind> {
  std::uint64_t hash = 0;
  std::string bytes;  // the key's, then the value's
  std::size_t key_bytes = 0;
  std::string_view key() const noexcept { return std::string_view(bytes).substr(0, key_bytes); }
  std::string_view value() const noexcept { return std::string_view(bytes).substr(key_bytes); }
};

/// Two words that one load has read: processors with AVX make aligned loads of 16 bytes at once
/// (Intel SDM 3A 9.1.1, AMD APM 2 7.3.2), and so do those of Arm with LSE2 (Arm ARM B2.2.1).
struct word_pair {
  std::uint64_t first, second;
  friend bool operator==(word_pair, word_pair) = default;
};
inline bool has_atomic_pairs() noexcept {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx") != 0;
#else
  return (::getauxval(AT_HWCAP) & HWCAP_USCAT) != 0;
#endif
}
inline constexpr const char* what_reads_pairs =
#if defined(__x86_64__)
    "AVX";
#else
    "LSE2";
#endif

template <medium M>
word_pair load_pair(M& m, const pm<std::uint64_t>& first) noexcept {
  static_assert(std::is_base_of_v<direct_access, M>);
  m.will_read(first.raw(), sizeof(word_pair));
  if (M::planted("beside-pairs-are-two-reads")) {
    const std::uint64_t key = load(m, first);
    return {key, load(m, (&first)[1])};
  }
#if defined(__x86_64__)
  using vector = long long __attribute__((vector_size(16)));
  vector both;
  asm volatile("movdqa %1, %0"
               : "=x"(both)
               : "m"(*reinterpret_cast<const vector*>(first.raw()))
               : "memory");
  return {static_cast<std::uint64_t>(both[0]), static_cast<std::uint64_t>(both[1])};
#else
  word_pair both;
  asm volatile("ldp %0, %1, [%2]"
               : "=&r"(both.first), "=r"(both.second)
               : "r"(first.raw())
               : "memory");
  read_before_what_follows();
  return both;
#endif
}

/// The pool, as its readers beside a writer see it.
template <medium M>
class beside_pool {
 public:
  /// Its image follows the log of another process, and stays as it is during a look.
  static constexpr bool follows_a_log = requires(M & m) {
    m.look_at_one_moment([] { return looked::hit; });
  };

  /// `line`: the readers' line, if it is not in the header; then `versions` are the writer's.
  beside_pool(std::unique_ptr<beside_mapping> map, std::unique_ptr<M> medium,
              const superblock& block, const readers_line* line = nullptr,
              const std::byte* versions = nullptr)
      : map_(std::move(map)),
        medium_(std::move(medium)),
        block_(block),
        line_(line != nullptr ? *line : readers_line_at(map_->base())),
        is_apart_(line != nullptr),
        versions_here_(versions),
        first_checksum_(checksum_now()) {}
  ~beside_pool() {
    for (const shown* s = shown_.load(); s != nullptr;) delete std::exchange(s, s->before);
  }
  beside_pool(const beside_pool&) = delete;

  M& medium() const noexcept { return *medium_; }
  const superblock& block() const noexcept { return block_; }
  const std::byte* base() const noexcept { return map_->base(); }
  beside_mapping& map() const noexcept { return *map_; }

  /// Within a look.
  result<root_record> root() const {
    medium_->will_read(base(), engine_area_offset);
    return read_root(base(), ~std::uint64_t{0}, block_, {});
  }

  /// An array or record there (R1).
  bool holds(std::uint64_t offset, std::uint64_t bytes) const noexcept {
    return offset >= block_.heap_offset && map_->holds(offset, bytes);
  }
  /// Of what it holds, or of the engine's root.
  template <class T>
  const T* at(std::uint64_t offset) const noexcept {
    return reinterpret_cast<const T*>(map_->base() + offset);
  }

  /// Calls look(versions) until it was not disturbed. `versions`: of the writer's stripes, null
  /// where nobody writes; asked for where `needs_versions`.
  /// Returns   ok, not_found, damaged; busy after a second of disturbances; unusable where the
  ///           writer's memory is not to be seen, or the pool has been converted.
  template <class Look>
  status look_until_undisturbed(bool needs_versions, Look&& look);

  /// The writer's versions; nothing where this process may not see them.
  std::optional<const std::byte*> versions();

 private:
  /// What an incarnation's writer shows.
  struct shown {
    std::uint64_t incarnation;
    std::unique_ptr<shown_memory> memory;
    const std::byte* versions;  // null: nobody writes
    const shown* before;
  };
  const shown* look_at_writer(std::uint64_t incarnation);

  /// A conversion writes the pool's first superblock last. What a writer does from then on may not
  /// be seen here.
  std::uint64_t checksum_now() const noexcept {
    const std::byte* at = map_->base() + superblock_offsets[0] + offsetof(superblock, checksum);
    if constexpr (follows_a_log) return 0;
    else return __atomic_load_n(reinterpret_cast<const std::uint64_t*>(at), __ATOMIC_ACQUIRE);
  }

  static std::uint64_t coarse_nanoseconds() noexcept {
    if (turns::current() != nullptr) return 0;  // their time is no clock's
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
           static_cast<std::uint64_t>(now.tv_nsec);
  }
  static void pause_before(unsigned round) {
    constexpr unsigned at_once = 3;
    if (turns* t = turns::current()) return round < at_once ? void() : t->pass();
    if (round < 64) return pause_briefly();
    const timespec while_others_get_on{0, round < 1024 ? 20'000 : 1'000'000};
    ::nanosleep(&while_others_get_on, nullptr);
  }

  std::unique_ptr<beside_mapping> map_;
  std::unique_ptr<M> medium_;
  superblock block_;
  const readers_line& line_;
  bool is_apart_;
  const std::byte* versions_here_;
  std::uint64_t first_checksum_;
  std::atomic<const shown*> shown_{nullptr};
};

template <medium M>
auto beside_pool<M>::look_at_writer(std::uint64_t incarnation) -> const shown* {
  const std::uint64_t writer = __atomic_load_n(&line_.writer, __ATOMIC_ACQUIRE),
                      descriptor = __atomic_load_n(&line_.versions, __ATOMIC_ACQUIRE);
  auto made = std::make_unique<shown>();
  made->incarnation = incarnation, made->versions = nullptr;
  if (writer != 0 && map_->writer_is_there()) {
    if (descriptor == 0) return nullptr;
    made->memory = std::make_unique<shown_memory>(writer, static_cast<int>(descriptor - 1));
    versions_header header{};
    if (made->memory->at() != nullptr && made->memory->bytes() > page_bytes) {
      std::memcpy(&header, made->memory->at(), sizeof header);
      if (header.magic == versions_magic && header.bytes == made->memory->bytes() &&
          header.pool == block_.uuid)
        made->versions = made->memory->at() + page_bytes;
    }
    // One that is not to be seen may be on its way out, or the line may be that of one before it.
    if (made->versions == nullptr) return nullptr;
  }
  made->before = shown_.load(std::memory_order_acquire);
  while (!shown_.compare_exchange_weak(made->before, made.get())) {}  // ends: some thread gets on
  return made.release();
}

template <medium M>
std::optional<const std::byte*> beside_pool<M>::versions() {
  if (is_apart_) return versions_here_;
  const std::uint64_t now = __atomic_load_n(&line_.incarnation, __ATOMIC_ACQUIRE);
  const shown* s = shown_.load(std::memory_order_acquire);
  if (s == nullptr || s->incarnation != now) s = look_at_writer(now);
  return s == nullptr ? std::nullopt : std::optional(s->versions);
}

template <medium M>
template <class Look>
status beside_pool<M>::look_until_undisturbed(bool needs_versions, Look&& look) {
  // an image that nobody stores to while it is looked at
  if constexpr (follows_a_log) return medium_->look_at_one_moment([&] { return look(nullptr); });
  constexpr std::uint64_t patience = 1'000'000'000;  // of one attempt, too (R5)
  const std::uint64_t& sequence = line_.sequence;
  const std::uint64_t began = coarse_nanoseconds();
  looked last = looked::again;
  bool sees_versions = true;
  for (unsigned round = 0;; ++round) {  // ends: with patience
    const std::uint64_t start = round == 0 ? began : coarse_nanoseconds();
    if (start - began > patience)
      return !sees_versions            ? status::unusable
             : last == looked::suspect ? status::damaged
                                       : status::busy;
    const std::uint64_t before = __atomic_load_n(&sequence, __ATOMIC_ACQUIRE);
    if (before % 2 == 0) {
      const std::byte* versions = nullptr;
      if (needs_versions) {
        const auto seen = this->versions();
        sees_versions = seen.has_value();
        if (!sees_versions) {
          pause_before(round);
          continue;
        }
        versions = *seen;
      }
      last = look(versions);
      std::atomic_thread_fence(std::memory_order_acquire);
      if (checksum_now() != first_checksum_) return status::unusable;
      if (__atomic_load_n(&sequence, __ATOMIC_ACQUIRE) != before ||
          coarse_nanoseconds() - start > patience)
        last = looked::again;  // what was seen there says nothing
      if (last <= looked::miss) return last == looked::hit ? status::ok : status::not_found;
    } else {
      last = looked::again, sees_versions = true;
    }
    pause_before(round);
  }
}

/// Of what may change meanwhile.
template <medium M>
void read_bytes(M& m, void* to, const std::byte* from, std::size_t bytes) noexcept {
  // where others get a turn at each read, one for each line
  const std::size_t piece = reads_plainly<M> ? std::max<std::size_t>(bytes, 1) : line_bytes;
  for (std::size_t done = 0; done < bytes; done += piece) {
    const std::size_t now = std::min(piece, bytes - done);
    m.will_read(from + done, now);
    std::memcpy(static_cast<std::byte*>(to) + done, from + done, now);
  }
}

/// Copies the record at `offset`, whose key, where the record lacks it, is `key_in_slot`. `stays`:
/// whether the slot still names it, asked before much memory is taken.
/// Returns   hit: it is whole (R4).
template <medium M, class Kind, class Stays>
looked copy_record(const beside_pool<M>& p, std::uint64_t offset, std::string_view key_in_slot,
                   copied_record<Kind>& into, Stays&& stays) {
  record_header header;
  if (offset % 16 != 0 || !p.holds(offset, sizeof header)) return looked::suspect;
  read_bytes(p.medium(), &header, p.template at<std::byte>(offset), sizeof header);
  const record_shape shape = header.shape();
  if (shape.key_bytes > max_key_bytes || (Kind::fixed_key && shape.key_bytes != 0) ||
      !p.holds(offset, shape.bytes()))
    return looked::suspect;
  const std::uint64_t payload = std::uint64_t{shape.key_bytes} + shape.value_bytes;
  constexpr std::uint64_t much = 64 << 10;
  if (payload > much && !stays()) return looked::again;
  into.key_bytes = Kind::fixed_key ? key_in_slot.size() : shape.key_bytes;
  const std::size_t in_front = Kind::fixed_key ? key_in_slot.size() : 0;
  into.bytes.resize(in_front + payload);
  std::memcpy(into.bytes.data(), key_in_slot.data(), in_front);
  read_bytes(p.medium(), into.bytes.data() + in_front,
             p.template at<std::byte>(offset + shape.header_bytes), payload);
  std::atomic_thread_fence(std::memory_order_acquire);
  return header.vouches_for(into.key(), into.value()) ? looked::hit : looked::suspect;
}

/// What a look has read. Written back behind the last read of it, where visible is not durable: a
/// line that is written back first may hold a later store when it is read (R6).
template <medium M>
class looked_at {
 public:
  explicit looked_at(M& m) noexcept : m_(m), is_needed_(writes_back(m)) {}
  void add(const void* at, std::size_t bytes) {
    if (!is_needed_) return;
    if (M::planted("beside-lines-are-written-back-before-they-are-read")) write_back({at, bytes});
    else lines_.push_back({at, bytes});
  }
  void make_durable() {
    if (!is_needed_) return;
    for (const extent& each : lines_) write_back(each);
    [[maybe_unused]] durable done = fence(m_, std::move(started_), "beside.all");
  }

 private:
  void write_back(const extent& lines) { started_ += flush(m_, lines, "beside.lines"); }

  M& m_;
  bool is_needed_;
  std::vector<extent> lines_;
  flushed started_;
};

}  // namespace durahash
