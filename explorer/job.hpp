// One exploration: a kind of table, and programs for it, repeatable from its name alone.
#pragma once

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "explorer/campaign.hpp"
#include "explorer/explorer.hpp"
#include "explorer/subject.hpp"

namespace durahash::crash {

enum class flavour : std::uint8_t {
  one_thread,
  threads,
  // a short program: every image is gone on with and crashed again, and at every crash point the
  // process dies first
  twice,
  salvage,  // of what lay in the pool at moments of a program (moments.hpp)
  readers,  // of several threads, whose reads are those of processes of their own
};
inline bool is_threaded(flavour f) { return f == flavour::threads || f == flavour::readers; }

struct job {
  subject_kind kind;
  maker make;
  const explored_variant* variant;
  machine stops = machine::adr;
  crash::flavour flavour = flavour::one_thread;
  std::uint64_t seed = 0;
  std::optional<std::size_t> program = {};  // of those of several threads, this one alone
  std::string text() const;                 // "turbo/u64/power/threads"
  std::string name() const;  // and the seed, and the program: "turbo/u64/power/threads#17.3"
};

/// What a run has that the engine has not: an effect left out, or a bug planted.
struct alteration {
  std::optional<elision> left_out;
  std::uint64_t planted = 0;  // mutant::id_of
};

/// As the matrices name it. Nothing: no elision has such a name, and no bug is called so.
std::optional<alteration> alteration_named(const std::string& text);

const explored_engine& explored(engine_kind engine);

/// The jobs of one round: every kind of record, level, machine and variant of an engine.
std::vector<job> jobs_of(const campaign& what);
job job_of(const campaign& what, const std::vector<job>& round, std::size_t number);
std::optional<job> job_named(const campaign& what, const std::string& name);

/// The program of a job of one thread.
program program_of(const campaign& what, const job& j, pace speed, std::mt19937_64& random);

findings explore(const campaign& what, const job& j, const alteration* altered = nullptr);

/// More than any job takes: what hangs is stopped much earlier, where it hangs.
unsigned seconds_per_job(pace speed);

}  // namespace durahash::crash
