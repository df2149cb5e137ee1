// The background's thread, which is the process's, kept busy until a test lets it go.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <future>

#include "base/background.hpp"

namespace durahash::test {

class held_thread {
 public:
  held_thread() {
    EXPECT_TRUE(others_.submit([this](const background&) { go_on_.get_future().wait(); }));
  }
  ~held_thread() {
    if (!gone_on_) go_on_.set_value();
    others_.stop();
  }

  /// Lets it go. Whether it does all that was asked for, with nobody's help.
  bool gets_through() {
    std::future<void> done = came_.get_future();
    EXPECT_TRUE(others_.submit([this](const background&) { came_.set_value(); }));
    gone_on_ = true;
    go_on_.set_value();
    return done.wait_for(std::chrono::seconds(20)) == std::future_status::ready;
  }

 private:
  background others_;
  std::promise<void> go_on_, came_;
  bool gone_on_ = false;
};

}  // namespace durahash::test
