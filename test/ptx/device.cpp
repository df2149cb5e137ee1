#include "test/ptx/device.hpp"

#include <cstring>
#include <iostream>
#include <thread>

namespace durahash::ptx {

device& device::the_one() {
  static auto* one = new device;  // outlives whoever frees memory at the end
  return *one;
}

void device::restart(const device_settings& s) {
  std::scoped_lock hold(lock);
  settings_ = s;
  s.walks == walk::none ? ways_.draw(s.seed) : ways_.take(s.walks);
  streams_.clear();
  weak_.settle();
  weak_.races.clear();
  counted_.clear();
  failure_.clear();
  seen_before_ = false;
  instructions_ = 0, next_stop_ = ~std::uint64_t{0};
  at_stop_ = nullptr, before_a_record = nullptr;
}

void device::forget_memory() {
  std::scoped_lock hold(lock);
  streams_.clear();
  weak_.settle();
  pieces = {};
}

void device::launch(const kernel& k, std::uint32_t blocks, std::uint32_t threads, void** arguments,
                    stream_name on) {
  work w;
  w.kernel = std::make_unique<launched>();
  launched& l = *w.kernel;
  l.code = &k, l.blocks = blocks, l.threads = threads;
  l.first_block = blocks_ += blocks;
  l.first_of_host = settings_.first_host_block;
  l.parameters.resize(k.parameter_bytes);
  for (std::size_t n = 0; n < k.parameters.size(); ++n)
    std::memcpy(l.parameters.data() + k.parameters[n].offset, arguments[n], k.parameters[n].bytes);
  l.counted = &counted_[k.name];
  ++l.counted->launches;
  if (settings_.weak) weak_.see_the_program();
  l.begin = weak_.host.seen;
  streams_[on].waiting.push_back(std::move(w));
}

void device::then(stream_name on, std::function<void()> what) {
  work w;
  w.call = std::move(what);
  streams_[on].waiting.push_back(std::move(w));
}

bool device::idle(stream_name on) { return streams_[on].waiting.empty(); }

void device::wait(stream_name on) {
  wait_until(on, [this, on] { return idle(on); });
}
void device::wait_until(stream_name on, const std::function<bool()>& reached) {
  std::unique_lock hold(lock);
  for (unsigned turns = 0; failure_.empty() && !reached(); ++turns) {
    turn();
    constexpr unsigned others_every = 64;
    if (turns % others_every != 0 || !lock.is_wanted()) continue;
    hold.unlock();  // threads of the program that call meanwhile
    std::this_thread::yield();
    hold.lock();
  }
  weak_.host.seen.join(streams_[on].seen);
  settle_if_idle();
}
/// Nothing runs: what was stored is seen by all that comes.
bool device::settle_if_idle() {
  for (auto& [name, s] : streams_)
    if (!s.waiting.empty()) return false;
  weak_.settle();
  for (auto& [name, s] : streams_) s.seen.clear();
  return true;
}

void device::wait_for_all() {
  std::scoped_lock hold(lock);
  while (failure_.empty() && turn()) continue;
  for (auto& [name, s] : streams_) weak_.host.seen.join(s.seen);
}

void device::get_on() {
  constexpr unsigned most = 8;
  for (std::uint64_t turns = ways_.below(most); turns != 0 && failure_.empty(); --turns) turn();
}

void device::at_instruction(std::uint64_t number, std::function<std::uint64_t()> what) {
  next_stop_ = number, at_stop_ = std::move(what);
}

/// A few instructions of one warp, or one copy. False: there is nothing to do.
bool device::turn() {
  if (settle_if_idle()) return false;
  std::size_t busy = 0;
  for (auto& [name, s] : streams_) busy += !s.waiting.empty();
  std::size_t chosen = ways_.below(busy);
  for (auto& [name, s] : streams_) {
    if (s.waiting.empty() || chosen-- != 0) continue;
    try {
      if (do_some(s, s.waiting.front())) finish(s);
    } catch (const fault& f) {
      failure_ = f.what();
      if (!settings_.quiet)
        std::cerr << "ptx: " << f.what() << " (seed " << settings_.seed << ")\n";
      streams_.clear();
    } catch (const seen_before&) {
      seen_before_ = true;
      streams_.clear();
    }
    break;
  }
  return true;
}

/// True: it is done.
bool device::do_some(stream& s, work& w) {
  if (w.call) return w.call(), true;
  launched& l = *w.kernel;
  if (w.next_warp == 0) l.begin.join(s.seen);
  fill(w);
  if (ways_.walks()) return walk_on(w);
  std::size_t at = ways_.below(w.resident.size());
  warp& chosen = *w.resident[at];
  constexpr std::uint64_t most = 48;
  auto how = ways_.below(100) < settings_.apart_percent ? lane_order::apart : lane_order::together;
  for (std::uint64_t left = 1 + ways_.below(most); left != 0 && !chosen.done(); --left) {
    bool waits = chosen.step(how);
    count_instruction(w);
    if (waits && left > 8) left = 8;  // around a loop: somebody else's turn soon
  }
  refuse_what_does_not_end(w);
  if (!chosen.done()) return false;
  if (settings_.weak) chosen.add_what_was_seen(s.seen);
  w.resident.erase(w.resident.begin() + static_cast<std::ptrdiff_t>(at));
  return w.resident.empty() && w.next_warp == l.blocks * std::uint64_t{l.threads / lanes};
}

void device::count_instruction(work& w) {
  ++instructions_, ++w.instructions;
  if (instructions_ >= next_stop_) next_stop_ = at_stop_();
}
void device::refuse_what_does_not_end(const work& w) const {
  if (w.instructions > settings_.max_instructions)
    throw fault("a launch that does not end: " + w.kernel->code->name);
  if (instructions_ > settings_.max_in_all)
    throw fault("a program that does not end: " + w.kernel->code->name);
}

/// A step that others can tell the time of, after all that they cannot. Who is passed over sleeps.
/// True: all is done.
bool device::walk_on(work& w) {
  bool done = true;
  std::vector<std::pair<warp*, std::size_t>> awake;
  for (auto& each : w.resident) {
    while (each->step_ahead()) count_instruction(w), refuse_what_does_not_end(w);
    done = done && each->done();
  }
  for (auto& each : w.resident)
    for (std::size_t n = 0; n < each->groups(); ++n)
      if (each->has_way(n)) awake.push_back({each.get(), n});
  if (done) return true;
  if (awake.empty()) throw seen_before();
  std::size_t chosen = ways_.below(awake.size());
  for (std::size_t n = 0; n < chosen; ++n) awake[n].first->sleep(awake[n].second);
  awake[chosen].first->step_on(awake[chosen].second);
  count_instruction(w);
  return false;
}

void device::fill(work& w) {
  launched& l = *w.kernel;
  std::uint32_t warps_per_block = l.threads / lanes;
  std::uint64_t warps = l.blocks * std::uint64_t{warps_per_block};
  while (w.next_warp < warps && w.resident.size() < settings_.max_resident_warps) {
    auto block = static_cast<std::uint32_t>(w.next_warp / warps_per_block);
    auto number = static_cast<std::uint32_t>(w.next_warp++ % warps_per_block);
    surroundings of{pieces, settings_.weak ? &weak_ : nullptr, ways_, spare_};
    w.resident.push_back(std::make_unique<warp>(of, l, block, number));
  }
}

void device::finish(stream& s) {
  s.waiting.pop_front();
  if (weak_.finds_races && !weak_.races.empty()) throw fault("a race: " + *weak_.races.begin());
}

}  // namespace durahash::ptx
