#include "explorer/turn_scheduler.hpp"

#include <thread>

#include "explorer/last_words.hpp"

namespace durahash::crash {

void solo::pass() { last_words("the only thread waits for a lock, for ever"); }

void turn_scheduler::run(const std::vector<std::function<void()>>& bodies, decision decide) {
  decide_ = std::move(decide);
  threads_.clear();
  for (std::size_t i = 0; i <= bodies.size(); ++i) threads_.push_back(std::make_unique<state>());
  threads_.back()->idle = jobs_.empty();
  passes_ = 0;
  running_ = 0;
  active_ = true;
  std::vector<std::thread> started;
  for (unsigned i = 0; i < bodies.size(); ++i)
    started.emplace_back([this, i, &bodies] {
      threads_[i]->turn.acquire();
      bodies[i]();
      threads_[i]->finished = true;
      got_on();
      choose(false);
    });
  started.emplace_back([this] { do_jobs(); });
  std::vector<unsigned> all;
  for (unsigned i = 0; i < threads_.size(); ++i)
    if (!threads_[i]->idle) all.push_back(i);
  hand_to(all.size() == 1 ? 0 : decide_(all, true));
  all_done_.acquire();
  threads_.back()->finished = true;
  threads_.back()->turn.release();
  for (std::thread& t : started) t.join();
  active_ = false;
}

/// The thread of the jobs. It ends when it gets the turn from `run`, which nobody else has then.
void turn_scheduler::do_jobs() {
  state& me = *threads_.back();
  me.turn.acquire();
  while (!me.finished) {
    if (!jobs_.empty()) {
      next_job();
      got_on();
    }
    me.idle = jobs_.empty();
    if (me.idle) choose(false);
  }
}

void turn_scheduler::next_job() {
  auto [owner, work] = std::move(jobs_.front());
  jobs_.pop_front();
  busy_ = owner;
  work(*owner);
  busy_ = nullptr;
}

void turn_scheduler::submit(background& owner, job work) {
  jobs_.emplace_back(&owner, std::move(work));
  if (active_) threads_.back()->idle = false;
}

void turn_scheduler::drop_jobs(background& owner) {
  std::erase_if(jobs_, [&](const auto& j) { return j.first == &owner; });
  while (busy_ == &owner) pass();
}

void turn_scheduler::hand_to(unsigned next) {
  running_ = next;
  threads_[next]->waits = false;
  threads_[next]->turn.release();
}

/// Lets `decide` say who runs, of those that can.
void turn_scheduler::choose(bool may_go_on) {
  unsigned me = running_;
  std::vector<unsigned> ready;
  if (may_go_on) ready.push_back(me);
  auto add_others = [&] {
    for (unsigned i = 0; i < threads_.size(); ++i)
      if (i != me && !threads_[i]->finished && !threads_[i]->idle && !threads_[i]->waits)
        ready.push_back(i);
  };
  add_others();
  if (ready.empty()) {  // all wait: one may have let go of something since another one looked
    for (auto& t : threads_) t->waits = false;
    add_others();
  }
  if (ready.empty()) {
    if (threads_[me]->finished || threads_[me]->idle) {
      all_done_.release();
      if (threads_[me]->idle) threads_[me]->turn.acquire();
      return;
    }
    ready.push_back(me);  // alone: what it waits for must come from itself, or never
  }
  unsigned next = ready.size() == 1 ? ready.front() : decide_(ready, ready.front() != me);
  if (next == me) return;
  hand_to(next);
  if (!threads_[me]->finished) threads_[me]->turn.acquire();
}

void turn_scheduler::got_on() {
  passes_ = 0;
  for (auto& t : threads_) t->waits = false;
}

void turn_scheduler::yield() {
  if (!active_) return;
  got_on();
  choose(true);
}

void turn_scheduler::pass() {
  constexpr unsigned most = 10'000;
  if (!active_ || ++passes_ > most) last_words("every thread waits for another one, for ever");
  threads_[running_]->waits = true;
  choose(false);
}

}  // namespace durahash::crash
