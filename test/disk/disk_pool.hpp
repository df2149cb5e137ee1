// Pools on a disk, and a history of what was done to one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "durahash/table.hpp"
#include "store/random.hpp"
#include "store/scratch.hpp"

namespace durahash::test {

struct disk_setup {
  engine_kind engine;
  data_kind value;
  durability_level durability;
  std::uint64_t log_bytes = 512 << 10;  // a small log: it goes round, and checkpoints come often

  std::string name() const;
  options how() const;
  /// Whether the engine's pools are read beside a writer.
  bool has_reader_beside() const;
};
std::ostream& operator<<(std::ostream&, const disk_setup&);
std::vector<disk_setup> disk_setups();
/// Of every engine, kind and level some, drawn by the seed; all with DURAHASH_LONG=1.
std::vector<disk_setup> tried_disk_setups();

struct disk_setup_name {
  template <class Info>
  std::string operator()(const Info& info) const {
    return info.param.name();
  }
};

/// A figure of stats(); -1 where it has none of this name.
double figure_of(table& pool, std::string_view name);

/// Memory that is the process's own, and no file's.
std::uint64_t own_bytes();

/// A folder on a disk: DURAHASH_DISK_DIR, or /var/tmp.
std::string disk_folder();

std::string key_of(std::uint64_t n);
std::string value_of(const disk_setup& with, std::uint64_t version);

/// What is in the pool: the version of each key that is there.
using pool_state = std::map<std::uint64_t, std::string>;
pool_state state_of(table& pool, std::uint64_t first_key, std::uint64_t keys);

/// One acknowledged operation, or a batch of them that was acknowledged at once.
struct step {
  std::vector<std::pair<std::uint64_t, std::optional<std::string>>> changes;  // none: erased
  std::uint64_t began = 0, ended = 0;                                         // moments
};

/// Draws a step on the keys [first_key, first_key + keys), and does it.
step do_step(table& pool, const disk_setup& with, std::uint64_t first_key, std::uint64_t keys,
             std::uint64_t version, random_stream& draw);
void apply_to(pool_state& to, const step& s);

}  // namespace durahash::test
