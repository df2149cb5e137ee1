// A warp: 32 lanes, each at an instruction of its own. Lanes that are at the same one may go
// together, and need not: who schedules decides.
#pragma once

#include "test/ptx/arithmetic.hpp"
#include "test/ptx/counters.hpp"
#include "test/ptx/memory.hpp"
#include "test/ptx/weak_order.hpp"

namespace durahash::ptx {

/// A kernel with its parameters, and where it runs.
struct launched {
  const kernel* code = nullptr;
  std::vector<std::byte> parameters;
  std::uint32_t blocks = 0, threads = 0;
  std::uint64_t first_block = 0;  // as blocks are numbered through all launches
  counters* counted = nullptr;
  view begin;                         // what all its threads have seen
  std::uint32_t first_of_host = ~0u;  // blocks from here on are threads of the host's
};

struct surroundings {
  const memory& pieces;
  weak_order* weak;  // null: every store is seen at once
  choices& ways;
  std::vector<std::vector<lane_values>>& spare;  // registers of warps that are done
};

/// How lanes are scheduled.
enum class lane_order : std::uint8_t {
  together,  // who is behind first, so that lanes meet again
  apart      // any of them, one or some
};

class warp {
 public:
  warp(surroundings of, const launched& l, std::uint32_t block, std::uint32_t number_in_block);

  ~warp() { of_.spare.push_back(std::move(registers_)); }
  warp(const warp&) = delete;

  bool done() const { return alive_ == 0; }
  /// One instruction of some lanes. Returns whether it waits, as in a loop around a word.
  /// Throws   fault
  bool step(lane_order how) { return step_of(choose(how)); }
  /// Of all its lanes.
  void add_what_was_seen(view& to) const;

  // In a walk lanes that are at one instruction are a group, and go on as such.

  /// A step that others cannot tell the time of: arithmetic, fences, stores. A store's place
  /// among those of its word is a choice of its own. False: there is none.
  bool step_ahead();
  /// Groups that are in front of another step.
  std::size_t groups() const { return groups_.size(); }
  bool has_way(std::size_t at) const;
  void sleep(std::size_t at);
  void step_on(std::size_t at) { step_of(at); }

 private:
  struct group {
    std::uint32_t pc, mask;
  };

  std::size_t choose(lane_order how);
  bool step_of(std::size_t at);
  bool can_be_told(const group& g) const;
  unsigned lane_of(const group& g) const;
  void advance(std::size_t at, std::uint32_t pc);
  void branch(std::size_t at, const instruction& i, std::uint32_t on);
  void wait_for_lanes(std::size_t at, const instruction& i);
  void meet();
  void together(opcode what, std::uint32_t members);
  void shuffle(std::uint32_t members);
  void vote(std::uint32_t members);
  std::uint32_t guarded(const instruction& i, std::uint32_t mask) const;
  void execute(const instruction& i, std::uint32_t on);
  bool same_for_all(const instruction& i, std::uint32_t on);
  void access_memory(const instruction& i, std::uint32_t on);
  std::uint64_t one_access(const instruction& i, unsigned lane, std::uint64_t address,
                           std::size_t n);
  std::uint64_t atomically(const instruction& i, unsigned lane, std::uint64_t address);
  void in_own_memory(const instruction& i, unsigned lane, std::uint64_t address, std::size_t n);
  bool is_own(unsigned lane, std::uint64_t address, unsigned bytes) const;
  bool is_parameter(std::uint64_t address, unsigned bytes) const;
  void count(const instruction& i, std::uint32_t on);
  [[noreturn]] void fail(const instruction& i, unsigned lane, const std::string& what) const;

  surroundings of_;
  const launched& launch_;
  const kernel& code_;
  std::uint32_t block_, number_;
  std::vector<lane_values> registers_;
  std::vector<std::byte> local_;
  std::vector<group> groups_;
  std::uint32_t alive_ = all_lanes, waiting_ = 0;
  std::array<std::uint32_t, lanes> waits_at_{};
  std::vector<actor> actors_;  // by lane, where order is weak
};

}  // namespace durahash::ptx
