// A line on stderr that says how far long work is; nothing at all where stderr is not a terminal.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

#include "numbers.hpp"

namespace durahash::tool {

/// loading  [=========>            ]  41 %   1.23 M records/s   3.2 s left
class progress {
 public:
  /// `total` is how far there is to go, in whatever `reach` is told; 0 if unknown. `unit` is what
  /// the rate counts.
  progress(std::string label, std::uint64_t total, std::string unit)
      : label_(std::move(label)),
        unit_(std::move(unit)),
        total_(total),
        visible_(::isatty(STDERR_FILENO) == 1) {}
  ~progress() { clear(); }
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;

  /// `done` of `total`, and `counted` units for the rate. Repaints at most ten times a second.
  void reach(std::uint64_t done, std::uint64_t counted) {
    if (!visible_) return;
    const auto now = clock::now();
    if (now < next_paint_) return;
    next_paint_ = now + std::chrono::milliseconds(100);
    paint(done, counted, std::chrono::duration<double>(now - start_).count());
  }
  void reach(std::uint64_t done) { reach(done, done); }

  /// Takes the line away, so that a message can stand there.
  void clear() {
    if (!painted_) return;
    std::fputs("\r\x1b[K", stderr);
    std::fflush(stderr);
    painted_ = false;
  }

 private:
  using clock = std::chrono::steady_clock;
  static constexpr std::size_t bar_width = 28;

  void paint(std::uint64_t done, std::uint64_t counted, double seconds) {
    std::string line = fmt::format("\r\x1b[K{}  ", label_);
    if (total_ > 0) {
      const double share = std::min(1.0, static_cast<double>(done) / static_cast<double>(total_));
      const auto full = static_cast<std::size_t>(share * bar_width);
      line += fmt::format("[{:<{}}]  {:3.0f} %  ",
                          std::string(full, '=') + (full < bar_width ? ">" : ""), bar_width,
                          share * 100);
      if (seconds > 1 && share > 0)
        left_ = fmt::format("   {} left", human_seconds(seconds / share - seconds));
    } else {
      line += fmt::format("{} {}  ", grouped(counted), unit_);
    }
    line += fmt::format(" {} {}/s{}",
                        human_rate(static_cast<double>(counted) / std::max(seconds, 1e-3)), unit_,
                        left_);
    std::fputs(line.c_str(), stderr);
    std::fflush(stderr);
    painted_ = true;
  }

  std::string label_;
  std::string unit_;
  std::uint64_t total_;
  bool visible_;
  bool painted_ = false;
  std::string left_;
  clock::time_point start_ = clock::now();
  // quick work shows nothing
  clock::time_point next_paint_ = start_ + std::chrono::milliseconds(200);
};

}  // namespace durahash::tool
