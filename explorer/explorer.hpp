// Explores one recorded run: crashes at every store and every fence, the images a crash may leave
// there, recovery from each, crashes of that.
#pragma once

#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "explorer/findings.hpp"
#include "explorer/images.hpp"
#include "explorer/judge.hpp"
#include "explorer/recording.hpp"

namespace durahash::crash {

/// What a machine keeps of what is in its caches when it stops.
enum class machine : std::uint8_t {
  adr,   // what was flushed and fenced, and any prefix of the rest
  eadr,  // all that was visible; the same as a kill of the process
};

struct plan {
  machine stops = machine::adr;
  effort images;
  effort nested_images{.all_up_to = 24, .options_per_line = 12, .lines_each = 6, .samples = 6};
  // of so many unique images one is gone on with and crashed again; 1: every one is
  std::size_t nested_every = 24;
  std::size_t deeper_every = 96;  // the same of images after a crash
  // at every so many-th crash point the process dies first, another one goes on, and then the power
  // goes
  std::size_t kill_every = 6;
  // of so many unique images one is written to until the table grows
  std::size_t go_on_every = 3;
  std::size_t nested_operations = 5;
  int depth = 3;
  std::size_t max_violations = 1;                // then stop
  std::uint64_t max_images = ~std::uint64_t{0};  // unique ones
  const elision* leave_out = nullptr;
};

class explorer {
 public:
  explorer(const subject_kind& kind, const maker& make, const plan& how, std::uint64_t seed);
  ~explorer();

  /// Records the program on a new pool, and explores it. Returns false when to stop.
  bool run(const program& what);

  /// Explores what was recorded elsewhere (threads). `model` and `promise` are as before the first
  /// event, and the same in all calls: of runs that begin in the same way, the beginning is
  /// explored once.
  bool explore(const recording& rec, cache_model model, oracle promise);

  region& memory() { return levels_[0]->memory; }
  tracer& listener() { return levels_[0]->listener; }
  places& sources() { return places_; }
  findings& found();

  /// What a report says before the crash itself.
  void tell(std::string report) { report_ = std::move(report); }

 private:
  struct level {
    explicit level(places& where) : listener(memory, where) {}
    region memory;
    tracer listener;
    std::unordered_set<std::uint64_t> seen;  // images, after so many crashes
  };
  struct prune_tree;
  struct crash_point;
  struct earlier;

  bool explore_level(std::size_t depth, const recording& rec, cache_model& model, oracle& promise,
                     const earlier* before);
  void happen(const event& e, const recording& rec, cache_model& model, oracle& promise);
  std::string record_watched(level& l, bool create, const program& what, recording& into);
  bool crash_here(crash_point& at);
  void catch_up(crash_point& at);
  bool is_new(std::size_t depth, std::uint64_t hash);
  bool is_gone_on_with(std::size_t depth);
  bool examine(crash_point& at, const image& chosen);
  bool go_on(crash_point& at, const image& chosen, const std::vector<present_value>& found);
  bool die_and_go_on(crash_point& at);
  bool die_and_go_on(crash_point& at, bool background_sleeps);
  bool crash_again(const earlier& crash, const std::vector<present_value>& before,
                   const program& more, cache_model& model, oracle& promise);
  program next_program(key_number keys);
  bool stores_were_put_back(crash_point& at);
  void put(level& l, cache_model& model, const image& chosen);
  void take_back(level& l, cache_model& model, const image& chosen);
  void report(const crash_point& at, const image& chosen, const std::string& what);
  level& level_at(std::size_t depth);

  const subject_kind& kind_;
  const maker& make_;
  plan how_;
  places places_;
  std::vector<std::unique_ptr<level>> levels_;
  std::unordered_set<std::uint64_t> explored_;  // beginnings of runs
  findings found_;
  std::string report_;
  /// What decides what is looked at next.
  struct draws {
    std::mt19937_64 random;
    std::size_t since_nested = 0, since_deeper = 0, since_kill = 0, since_go_on = 0;
    std::uint64_t images = 0;  // unique ones
  } draws_;
  std::size_t kills_ = 0;
};

}  // namespace durahash::crash
