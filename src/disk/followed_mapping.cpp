#include "disk/followed_mapping.hpp"

#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <cstring>

#include "base/process_mark.hpp"
#include "disk/planted.hpp"
#include "media/file_lock.hpp"

namespace durahash {

/// Of which more are given back behind a look: what it needs again is read again.
#ifdef DURAHASH_PLANTED_DISK_BUGS
std::uint64_t most_followed_pages = (64 << 20) / page_bytes;  // a test makes it less
#else
constexpr std::uint64_t most_followed_pages = (64 << 20) / page_bytes;
#endif

namespace {

constexpr std::uint64_t patience = 1'000'000'000;

/// Of bits for the pages of so many bytes.
std::uint64_t words_for(std::uint64_t bytes) noexcept { return bytes / page_bytes / 64 + 1; }

std::uint64_t nanoseconds() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace

/// What the lock guards.
struct followed_mapping::follower final : followed_image {
  explicit follower(followed_mapping& i)
      : image(i),
        of_process(this_process_mark()),
        log(i.path_, i.descriptor(), i.judge_, [&i] { return i.writer_is_there(); }) {}

  void put(std::uint64_t number, const log_tail::line& words) noexcept override {
    const std::uint64_t page = number / log_tail::lines_per_page;
    if (page < image.reserved_pages_ && is_in(image.pages_, page))
      std::memcpy(image.base_ + number * line_bytes, words.data(), line_bytes);
  }
  void drop() noexcept override;

  followed_mapping& image;
  const volatile unsigned char* of_process;
  std::mutex lock;
  log_follower log;
  std::uint64_t there = 0, fresh = 0;  // pages
  bool lacked = false, failed = false;
};

void followed_mapping::follower::drop() noexcept {
  std::fill_n(&image.pages_[0], words_for(image.bytes()), 0);
  image.forget_fresh();
  ::madvise(image.base_, image.bytes(), MADV_DONTNEED);
  there = fresh = 0;
}

result<std::unique_ptr<followed_mapping>> followed_mapping::open(const std::string& path,
                                                                 log_follower::header_judge judge) {
  std::unique_ptr<followed_mapping> made(new followed_mapping);
  made->path_ = path;
  made->judge_ = std::move(judge);
  if (error e = made->open_file(path); e.code != status::ok) return e;
  made->reserved_pages_ = made->addresses() / page_bytes;
  made->pages_ = zeroed_array<std::uint64_t>(words_for(made->addresses()));
  made->fresh_ = zeroed_array<std::uint64_t>(words_for(made->addresses()));
  if (!made->make_room()) return system_error(status::unusable, "cannot map", path);
  return made;
}

/// That of a parent stays as it is.
followed_mapping::~followed_mapping() {
  follower* f = follower_.load();
  if (f != nullptr && *f->of_process != 0) delete f;
}

/// Memory comes with the pages.
bool followed_mapping::make_room() noexcept {
  const std::uint64_t has = bytes(), now = bytes_now();
  if (now <= has) return true;
  if (::mprotect(base_ + has, now - has, PROT_READ | PROT_WRITE) != 0) return false;
  set_bytes(now);
  return true;
}

bool followed_mapping::holds_now(std::uint64_t offset, std::uint64_t bytes) noexcept {
  if (!make_room()) return false;
  const std::uint64_t have = this->bytes();
  return bytes <= have && offset <= have - bytes;
}

void followed_mapping::forget_fresh() noexcept { std::fill_n(&fresh_[0], words_for(bytes()), 0); }

void followed_mapping::fetch(std::uint64_t page) noexcept {
  follower& f = *follower_.load(std::memory_order_relaxed);
  f.lacked = true;
  if (!f.log.read_page(page, base_ + page * page_bytes)) f.failed = true;
  const std::uint64_t bit = std::uint64_t{1} << page % 64;
  pages_[page / 64] |= bit;
  fresh_[page / 64] |= bit;
  ++f.there, ++f.fresh;
}

auto followed_mapping::mine() -> follower& {
  follower* f = follower_.load(std::memory_order_acquire);
  if (f != nullptr && *f->of_process != 0) return *f;
  auto made = std::make_unique<follower>(*this);
  // The parent's stays, and nobody looks at it: a thread that is not here may have its lock.
  if (follower_.compare_exchange_strong(f, made.get())) return *made.release();
  return *f;
}

error followed_mapping::refusal() try {
  turn now(*this);
  return mine().log.refusal();
} catch (const std::bad_alloc&) {
  return {status::out_of_memory, std::string(message(status::out_of_memory))};
}

// --------------------------------------------------------------------------------------- one look

followed_mapping::turn::turn(followed_mapping& image)
    : image_(image), f_(image.mine()), lock_(f_.lock), began_(nanoseconds()) {}

followed_mapping::turn::~turn() {
  if (f_.there > most_followed_pages) f_.drop();
}

bool followed_mapping::turn::writer_is_there() const noexcept { return image_.writer_is_there(); }

bool followed_mapping::turn::nobody_ends_that() const noexcept {
  constexpr unsigned some = 10;
  return round_ >= some && !writer_is_there();
}

auto followed_mapping::turn::follow() -> worth {
  f_.lacked = f_.failed = false;
  switch (f_.log.follow(f_)) {
    case log_follower::answer::stands: return worth::stands;
    case log_follower::answer::not_yet: return worth::not_yet;
    default: return worth::refused;
  }
}

auto followed_mapping::turn::judge() -> worth {
  if (f_.failed) return f_.drop(), worth::failed;
  if (f_.lacked && !disk_bug("a-page-that-nobody-followed")) {
    if (f_.there > most_there_) began_ = nanoseconds();  // it gets on
    most_there_ = std::max(most_there_, f_.there);
    return nanoseconds() - began_ > patience ? worth::not_yet : worth::lacked_pages;
  }
  const bool waits = f_.fresh != 0 && f_.log.awaits([&](std::uint64_t page) {
    return page < image_.reserved_pages_ && is_in(image_.fresh_, page);
  });
  if (waits && image_.writer_is_there() && !disk_bug("a-page-that-waits-for-nothing"))
    return worth::not_yet;
  if (!f_.log.make_durable(f_.fresh != 0)) return worth::failed;
  if (f_.fresh != 0) image_.forget_fresh();
  f_.fresh = 0;
  return worth::stands;
}

bool followed_mapping::turn::pause() noexcept {
  if (nanoseconds() - began_ > patience) return false;
  const timespec while_others_get_on{0, round_++ < 100 ? 20'000 : 1'000'000};
  ::nanosleep(&while_others_get_on, nullptr);
  return true;
}

}  // namespace durahash
