#include "disk/page_writers.hpp"

#include <algorithm>
#include <cerrno>

namespace durahash {

page_writers::~page_writers() {
  {
    std::scoped_lock mine(lock_);
    stopping_ = true;
  }
  more_.notify_all();
  for (std::size_t i = 0; i < started_; ++i) threads_[i].join();
}

bool page_writers::write(std::span<const page_run> runs) noexcept {
  start_threads(runs.size() / 2);
  {
    std::scoped_lock mine(lock_);
    runs_ = runs, next_ = 0, left_ = runs.size(), failure_ = 0;
  }
  more_.notify_all();
  while (const page_run* run = take()) finish(file_.write(run->offset, run->from, run->bytes));
  std::unique_lock mine(lock_);
  done_.wait(mine, [this] { return left_ == 0; });
  if (failure_ != 0) errno = failure_;
  return failure_ == 0;
}

void page_writers::start_threads(std::size_t wanted) noexcept {
  while (started_ < std::min(wanted, max_threads) &&
         threads_[started_].start([this] { work_till_stopped(); }))
    ++started_;
}

void page_writers::work_till_stopped() noexcept {
  for (;;) {
    {
      std::unique_lock mine(lock_);
      more_.wait(mine, [this] { return stopping_ || next_ < runs_.size(); });
      if (stopping_) return;
    }
    while (const page_run* run = take()) finish(file_.write(run->offset, run->from, run->bytes));
  }
}

const page_run* page_writers::take() noexcept {
  std::scoped_lock mine(lock_);
  return next_ < runs_.size() ? &runs_[next_++] : nullptr;
}

void page_writers::finish(bool written) noexcept {
  int why = errno;
  std::scoped_lock mine(lock_);
  if (!written && failure_ == 0) failure_ = why == 0 ? EIO : why;
  if (--left_ == 0) done_.notify_all();
}

}  // namespace durahash
