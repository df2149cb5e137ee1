// One thread runs at a time; at every access to the medium, and where a thread waits, another one may get the turn. Which one is decided by the caller,
// so that every run can be repeated, and all runs of small programs gone through.
#pragma once

#include <functional>
#include <memory>
#include <semaphore>
#include <string>
#include <vector>

#include "base/turns.hpp"
#include "crash/tracer.hpp"

namespace durahash::crash {

/// For runs of one thread: it waits for nobody, or for ever.
class solo final : public turns {
 public:
  void pass() override;
};

class baton final : public turns, public scheduler {
 public:
  /// Who goes on, of `ready`? If not `forced`, the first of them could, and has the turn.
  using decision = std::function<unsigned(const std::vector<unsigned>& ready, bool forced)>;

  /// Runs the bodies as threads 0, 1, ... to their end.
  void run(const std::vector<std::function<void()>>& bodies, decision decide);

  unsigned thread() override { return running_; }
  void yield() override;

  void pass() override;

 private:
  struct state {
    std::binary_semaphore turn{0};
    bool finished = false;
    bool waits = false;             // until another thread has got on: till then there is no use in its turn
  };
  void hand_to(unsigned next);
  void choose(bool may_go_on);
  void got_on();

  std::vector<std::unique_ptr<state>> threads_;
  decision decide_;
  unsigned running_ = 0;
  unsigned passes_ = 0;  // in a row, with nobody getting on
  bool active_ = false;
  std::binary_semaphore all_done_{0};
};

}  // namespace durahash::crash
