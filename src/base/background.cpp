#include "base/background.hpp"

#include <pthread.h>

#include <condition_variable>
#include <mutex>
#include <new>

#include "base/own_thread.hpp"
#include "base/turns.hpp"

namespace durahash {
class background_thread {
 public:
  static background_thread& of_process() noexcept;

  bool submit(background& owner, background::job work);
  void stop(background& owner) noexcept;

 private:
  background_thread() = default;
  bool start();
  void run(std::uint64_t generation);
  void append(background& owner) noexcept;
  void remove(background& owner) noexcept;
  background* take_first() noexcept;

  std::mutex lock_;  // guards all below
  std::condition_variable changed_;
  own_thread thread_;
  std::uint64_t generation_ = 0;  // of the thread; one of an earlier generation ends
  unsigned owners_ = 0;
  background* first_ = nullptr;  // of those that have jobs waiting
  background* last_ = nullptr;
  background* busy_ = nullptr;  // whose job runs
};

/// Never destroyed: pools may be closed while the process ends.
background_thread& background_thread::of_process() noexcept {
  alignas(background_thread) static unsigned char memory[sizeof(background_thread)];
  static background_thread& made = []() -> background_thread& {
    auto* first = new (memory) background_thread;
    pthread_atfork([] { of_process().lock_.lock(); }, [] { of_process().lock_.unlock(); },
                   [] { new (memory) background_thread; });
    return *first;
  }();
  return made;
}

bool background_thread::submit(background& owner, background::job work) {
  std::scoped_lock lock(lock_);
  if (owner.stopping_) return false;
  owner.waiting_.push_back(std::move(work));
  if (!thread_.joinable() && !start()) return owner.waiting_.pop_back(), false;
  if (!owner.enlisted_) owner.enlisted_ = true, ++owners_;
  if (owner.waiting_.size() == 1) append(owner);
  changed_.notify_all();
  return true;
}

bool background_thread::start() {
  return thread_.start([this, mine = ++generation_] { run(mine); });
}

void background_thread::run(std::uint64_t generation) {
  std::unique_lock lock(lock_);
  while (true) {
    changed_.wait(
        lock, [&] { return generation != generation_ || (first_ != nullptr && busy_ == nullptr); });
    if (generation != generation_) return;
    background& owner = *take_first();
    background::job work = std::move(owner.waiting_.front());
    owner.waiting_.pop_front();
    if (!owner.waiting_.empty()) append(owner);
    busy_ = &owner;
    lock.unlock();
    try {
      work(owner);
    } catch (const std::bad_alloc&) {
      // What nobody waits for is left out. A job that somebody waits for sees to that itself.
    }
    work = nullptr;
    lock.lock();
    busy_ = nullptr;
    changed_.notify_all();
  }
}

void background_thread::stop(background& owner) noexcept {
  std::unique_lock lock(lock_);
  owner.stopping_ = true;
  remove(owner);
  owner.waiting_.clear();
  changed_.wait(lock, [&] { return busy_ != &owner; });
  if (!owner.enlisted_) return;
  owner.enlisted_ = false;
  if (--owners_ != 0) return;
  own_thread ending = std::move(thread_);
  ++generation_;
  changed_.notify_all();
  lock.unlock();
  if (ending.joinable()) ending.join();
}

void background_thread::append(background& owner) noexcept {
  owner.next_ = nullptr;
  (last_ == nullptr ? first_ : last_->next_) = &owner;
  last_ = &owner;
}

void background_thread::remove(background& owner) noexcept {
  background* before = nullptr;
  for (background* b = first_; b != nullptr; before = b, b = b->next_) {
    if (b != &owner) continue;
    (before == nullptr ? first_ : before->next_) = owner.next_;
    if (last_ == &owner) last_ = before;
    return;
  }
}

background* background_thread::take_first() noexcept {
  background* taken = first_;
  first_ = taken->next_;
  if (first_ == nullptr) last_ = nullptr;
  return taken;
}

bool background::take(job work) {
  turns* t = turns::current();
  if (t == nullptr) return background_thread::of_process().submit(*this, std::move(work));
  if (stopping_) return false;
  t->has_background() ? t->submit(*this, std::move(work)) : work(*this);
  return true;
}

void background::stop() noexcept {
  turns* t = turns::current();
  if (t == nullptr) return background_thread::of_process().stop(*this);
  stopping_ = true;
  t->drop_jobs(*this);
}

bool worth_a_thread(std::uint64_t bytes, std::uint64_t least) noexcept {
  turns* t = turns::current();
  return bytes >= least || (t != nullptr && t->has_background());
}

}  // namespace durahash
