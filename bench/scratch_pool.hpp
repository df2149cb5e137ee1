// The pools a benchmark makes: new ones, that leave nothing behind.
#pragma once

#include <unistd.h>

#include <stdexcept>
#include <string>

#include "bench/request.hpp"
#include "durahash/options.hpp"
#include "durahash/status.hpp"

namespace durahash::bench {

/// The benchmark cannot go on. `code` is why, what() a sentence for people.
struct failure : std::runtime_error {
  failure(status why, const std::string& sentence) : std::runtime_error(sentence), code(why) {}
  status code;
};

/// Where a pool goes when the user names no place: /dev/shm, else $TMPDIR, else /tmp.
std::string default_path();

options options_of(const request& asked, engine_kind engine);

template <class Table>
result<Table> open_table(const request& asked, const options& how) {
  return Table::open(asked.path, how);
}

/// Removes the file of a pool that the benchmark has made, and its log.
inline void remove_scratch(const request& asked) {
  if (asked.medium != medium_kind::memory) ::unlink(asked.path.c_str());
  if (asked.medium == medium_kind::disk) ::unlink((asked.path + "-log").c_str());
}

enum class pool_names { lost_at_once, kept };

/// Opens a new pool. Its file loses its name at once and lives as long as the pool is open, so that
/// nothing is left behind even when the process is killed.
template <class Table>
Table open_scratch(const request& asked, engine_kind engine,
                   pool_names names = pool_names::lost_at_once) {
  auto opened = open_table<Table>(asked, options_of(asked, engine));
  if (!opened) throw failure(opened.failure().code, opened.failure().message);
  if (names == pool_names::lost_at_once) remove_scratch(asked);
  return std::move(*opened);
}

}  // namespace durahash::bench
