// What the suites run over: engine x medium x key and value kind x durability. A new engine joins
// by being listed (src/store/engine_list.hpp).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "durahash/options.hpp"

namespace durahash::test {

/// Which class of the public API holds the pool, and with which kinds.
enum class api_kind {
  words,           ///< map<u64, u64>
  words_as_bytes,  ///< a u64/u64 pool through `table`
  bytes,           ///< bytes to bytes
  words_to_bytes,  ///< u64 to bytes
  bytes_to_words,  ///< bytes to u64
};

/// Engines of the tests alone (test/linear) show that the suites run over any; they are tried less.
constexpr bool is_shipped(engine_kind engine) { return engine <= engine_kind::gphash; }

/// Where the pool lies.
enum class place_kind { memory, shm, disk, emulated, pmem, logged };

struct setup {
  engine_kind engine{};
  place_kind place{};
  api_kind api{};
  durability_level durability{};
  std::uint64_t key_bytes = 0;  // of every key, which then lies in its slot; 0: keys of all lengths

  std::string name() const;  ///< for example turbo_shm_bytes_process: a legal test name
  data_kind key() const;
  data_kind value() const;
  medium_kind medium() const;
  bool outlives_handle() const { return place != place_kind::memory; }
  std::filesystem::path folder() const;  ///< a folder that exists, on the medium of this setup
  options create_options() const;        ///< everything named, so that nothing rests on a default
};

std::ostream& operator<<(std::ostream&, const setup&);

/// Of the combinations that the library promises to open those that this run tries
/// (DURAHASH_LONG=1: all).
std::vector<setup> tried_setups();
/// Those for which `wanted` holds.
std::vector<setup> setups_where(const std::function<bool(const setup&)>& wanted);
/// Those whose pools can be reopened.
std::vector<setup> setups_that_reopen();
/// One durability per place: for long tests, where the durability level changes nothing that is
/// tested.
std::vector<setup> setups_for_long_tests();
/// The setup of that name(); throws where there is none.
setup setup_named(const std::string& name);

/// Names the instances of a parameterised suite.
struct setup_name {
  template <class Info>
  std::string operator()(const Info& info) const {
    return info.param.name();
  }
};

/// `count` records, or a quarter: instrumented builds are ten times slower, and see as much in
/// fewer.
constexpr std::uint64_t many(std::uint64_t count) {
#ifdef DURAHASH_SANITIZED
  return count / 4;
#else
  return count;
#endif
}

/// The folder of a DAX file system, from DURAHASH_PMEM_DIR, or empty.
std::string pmem_folder();

}  // namespace durahash::test
