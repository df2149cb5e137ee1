// Listens to a recording medium over a region: writes the trace, notices stores that bypass the
// verbs, remembers what must be put back, logs which lines are read, stops what does not end, and
// lets a scheduler run other threads before every access.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "explorer/region.hpp"
#include "explorer/trace.hpp"
#include "media/recording_medium.hpp"

namespace durahash::crash {

/// What the eliding medium leaves out: one kind of effect at one place.
struct elision {
  enum class what : std::uint8_t { flush, fence, order } kind;
  std::string place;  // as place::text() gives it
  std::string text() const;
  bool operator<(const elision& other) const {
    return kind != other.kind ? kind < other.kind : place < other.place;
  }
  bool operator==(const elision&) const = default;
};

/// Who runs: threads are told apart by number. With one thread, always 0.
class scheduler {
 public:
  virtual ~scheduler() = default;
  virtual unsigned thread() = 0;
  /// Another thread may run now.
  virtual void yield() = 0;
};

class tracer final : public recorder {
 public:
  tracer(region& r, places& where) : region_(r), places_(where) {}

  /// From here on events go to `out`, null: nowhere.
  void write_to(trace* out) { out_ = out; }
  void use(scheduler* s) { scheduler_ = s; }
  void leave_out(const elision* what) { elided_ = what, is_elided_.clear(); }
  std::uint64_t left_out() const { return left_out_; }  // how often

  /// Compares all of the region with what the stores made of it, at every fence; `complain` hears
  /// of the first difference.
  void watch_for_plain_stores(std::function<void(const std::string&)> complain);
  void compare_now();

  /// Which lines were stored to since `forget_touched`: what must be put back.
  const std::vector<std::uint32_t>& touched() const { return touched_; }
  void forget_touched();

  /// The lines among those marked in `interesting` that were read before they were written since
  /// `log_reads`, in order.
  void log_reads(const std::vector<bool>* interesting);
  const std::vector<std::uint32_t>& reads() const { return reads_; }

  /// After so many accesses `stuck` is called, which does not return.
  void limit(std::uint64_t accesses, std::function<void()> stuck) {
    left_ = accesses, stuck_ = std::move(stuck);
  }

  void begin(std::uint64_t call) { append({.kind = event::what::begin, .value = call}); }
  void end(std::uint64_t call) { append({.kind = event::what::end, .value = call}); }
  void length(std::uint64_t bytes);

  void entering(verb which, const site& where) override;
  void reading(const void* at, std::size_t bytes) override;
  void before_change() override { step(); }
  void stored(const void* at, std::size_t size) override;
  void stored_bytes(const void* at, std::size_t count) override;
  void exchanged(const void* at, std::size_t size, bool succeeded) override;
  void flushed(const void* at, std::size_t count) override;
  void fenced() override;

 private:
  static constexpr unsigned max_threads = 8;
  unsigned thread() const { return scheduler_ == nullptr ? 0 : scheduler_->thread(); }
  void step();
  void append(event e);
  void touch(std::uint64_t offset, std::uint64_t count);
  bool elides(elision::what kind);

  region& region_;
  places& places_;
  trace* out_ = nullptr;
  scheduler* scheduler_ = nullptr;
  const elision* elided_ = nullptr;
  std::vector<bool> is_elided_;  // by place, as far as known
  std::uint64_t left_out_ = 0;
  place_index now_[max_threads] = {};
  std::uint32_t next_group_ = 1;

  bytes shadow_;
  std::function<void(const std::string&)> complain_;

  std::vector<std::uint32_t> touched_;
  std::vector<bool> is_touched_ = std::vector<bool>(region::max_bytes / line_bytes);
  const std::vector<bool>* interesting_ = nullptr;
  std::vector<std::uint32_t> reads_;
  std::vector<bool> is_read_;

  std::uint64_t left_ = ~std::uint64_t{0};
  std::function<void()> stuck_;
};

}  // namespace durahash::crash
