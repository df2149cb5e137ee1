#include "setup.hpp"

#include <cstdlib>
#include <ostream>
#include <stdexcept>

#include "durahash/emulated.hpp"
#include "random.hpp"

namespace durahash::test {

namespace {

#ifndef DURAHASH_SANITIZED
[[maybe_unused]] const bool has_emulated = (use_emulated_medium(), true);
#endif

constexpr api_kind apis[] = {api_kind::words, api_kind::words_as_bytes, api_kind::bytes,
                             api_kind::words_to_bytes, api_kind::bytes_to_words};

/// Of gphash, with keys in the slots: lengths whose buckets have other lines and blocks, on each
/// place.
const setup fixed_keys[] = {
    {engine_kind::gphash, place_kind::memory, api_kind::bytes, durability_level::process, 128},
    {engine_kind::gphash, place_kind::shm, api_kind::bytes, durability_level::process, 8},
    {engine_kind::gphash, place_kind::shm, api_kind::bytes_to_words, durability_level::process, 24},
    {engine_kind::gphash, place_kind::disk, api_kind::bytes, durability_level::process, 32},
    {engine_kind::gphash, place_kind::emulated, api_kind::bytes, durability_level::power, 32},
    {engine_kind::gphash, place_kind::pmem, api_kind::bytes, durability_level::power, 32},
};

struct placed_durability {
  place_kind place;
  durability_level durability;
};

constexpr placed_durability placed_durabilities[] = {
    {place_kind::memory, durability_level::none},
    {place_kind::memory, durability_level::process},
    {place_kind::shm, durability_level::none},
    {place_kind::shm, durability_level::process},
    {place_kind::disk, durability_level::process},
#ifdef DURAHASH_SANITIZED  // the same code on the medium pmem: it spares each engine once more
    {place_kind::memory, durability_level::power},
#else
    {place_kind::emulated, durability_level::power},
    {place_kind::emulated, durability_level::process},
#endif
    {place_kind::pmem, durability_level::power},
    {place_kind::logged, durability_level::power},
    {place_kind::logged, durability_level::power_buffered},
};

std::string environment_or(const char* name, std::string otherwise) {
  const char* value = std::getenv(name);
  return value && *value ? value : otherwise;
}

std::string_view name_of_place(place_kind place) {
  switch (place) {
    case place_kind::memory: return "memory";
    case place_kind::shm: return "shm";
    case place_kind::disk: return "disk";
    case place_kind::emulated: return "emulated";
    case place_kind::pmem: return "pmem";
    case place_kind::logged: return "logged";
  }
  return "?";
}

std::string_view name_of_api(api_kind api) {
  switch (api) {
    case api_kind::words: return "words";
    case api_kind::words_as_bytes: return "words_as_bytes";
    case api_kind::bytes: return "bytes";
    case api_kind::words_to_bytes: return "words_to_bytes";
    case api_kind::bytes_to_words: return "bytes_to_words";
  }
  return "?";
}

}  // namespace

std::string pmem_folder() { return environment_or("DURAHASH_PMEM_DIR", ""); }

std::string setup::name() const {
  std::string text(name_of(engine));
  for (std::string_view part : {name_of_place(place), name_of_api(api), name_of(durability)})
    text.append("_").append(part);
  return key_bytes == 0 ? text : text + "_keys_of_" + std::to_string(key_bytes);
}

data_kind setup::key() const {
  return api == api_kind::bytes || api == api_kind::bytes_to_words ? data_kind::bytes
                                                                   : data_kind::u64;
}

data_kind setup::value() const {
  return api == api_kind::bytes || api == api_kind::words_to_bytes ? data_kind::bytes
                                                                   : data_kind::u64;
}

medium_kind setup::medium() const {
  switch (place) {
    case place_kind::memory: return medium_kind::memory;
    case place_kind::emulated: return medium_kind::emulated;
    case place_kind::pmem: return medium_kind::pmem;
    case place_kind::logged: return medium_kind::disk;
    default: return medium_kind::file;
  }
}

std::filesystem::path setup::folder() const {
  switch (place) {
    case place_kind::disk:
    case place_kind::logged: return environment_or("DURAHASH_DISK_DIR", "/var/tmp");
    case place_kind::pmem: return pmem_folder();
    default: return environment_or("DURAHASH_SHM_DIR", "/dev/shm");
  }
}

options setup::create_options() const {
  options how;
  how.engine = engine;
  how.key = key();
  how.value = value();
  how.durability = durability;
  how.medium = medium();
  // So that every suite sees copies of buckets.
  if (engine == engine_kind::gphash && place == place_kind::emulated && key() == data_kind::u64 &&
      value() == data_kind::u64)
    how.settings["cache"] = 30;
  // And shards that are split.
  if (engine == engine_kind::turbo && place == place_kind::shm)
    how.settings.insert({{"shards", 2}, {"shard_buckets", 4}});
  if (engine == engine_kind::turbo && place == place_kind::emulated)
    how.settings.insert({{"shards", 4}, {"shard_buckets", 8}});
  // And other configurations of one-shot probing than the default.
  if (engine == engine_kind::gphash && place == place_kind::shm)
    how.settings.insert({{"levels", 1}, {"hashes", 2}, {"slots", 16}});
  if (engine == engine_kind::gphash && place == place_kind::disk)
    how.settings.insert({{"levels", 4}, {"hashes", 4}, {"slots", 2}});
  if (place == place_kind::logged) how.log_bytes = 1 << 20;
  if (key_bytes != 0) how.settings["key_bytes"] = key_bytes;
  return how;
}

std::ostream& operator<<(std::ostream& out, const setup& s) { return out << s.name(); }

/// What a pool in such a place has if nobody asks for another.
bool is_usual(place_kind place, durability_level durability) {
  bool flushes =
      place == place_kind::emulated || place == place_kind::pmem || place == place_kind::logged;
#ifdef DURAHASH_SANITIZED
  flushes = flushes || (place == place_kind::memory && durability == durability_level::power);
#endif
  return durability == (flushes ? durability_level::power : durability_level::process);
}

/// A sixth of all in each run, drawn by its seed; of every engine and API some. All with
/// DURAHASH_LONG=1. Instrumented builds are ten times slower: there an eighth, of what is usual.
/// Of an engine that is not shipped a quarter of that.
/// Suites of all places have every engine there; those of one place may have three.
/// Where each write waits for a disk, long tests take too long: test/disk has its own.
bool is_tried(const setup& s) {
  if (long_run()) return true;
  if (s.place == place_kind::logged && s.durability == durability_level::power) return false;
#ifdef DURAHASH_SANITIZED
  constexpr unsigned one_in = 8;
  if (!is_usual(s.place, s.durability)) return false;
#else
  constexpr unsigned one_in = 6;
#endif
  auto sum = static_cast<unsigned>(s.engine) + static_cast<unsigned>(s.api) +
             static_cast<unsigned>(s.place) + static_cast<unsigned>(s.durability);
  return (sum + run_seed()) % (is_shipped(s.engine) ? one_in : 4 * one_in) == 0;
}

std::vector<setup> all_setups() {
  auto is_there = [](place_kind place) {
#ifdef DURAHASH_SANITIZED
    if (place == place_kind::emulated) return false;
#endif
    return place != place_kind::pmem || !pmem_folder().empty();
  };
  std::vector<setup> all;
  for (engine_kind engine : all_engines())
    for (auto [place, durability] : placed_durabilities)
      for (api_kind api : apis)
        if (is_there(place)) all.push_back({engine, place, api, durability});
  for (const setup& s : fixed_keys)
    if (is_there(s.place)) all.push_back(s);
  return all;
}

std::vector<setup> tried_setups() {
  return setups_where([](const setup&) { return true; });
}

std::vector<setup> setups_where(const std::function<bool(const setup&)>& wanted) {
  std::vector<setup> all = all_setups();
  std::erase_if(all, [&](const setup& s) { return !wanted(s) || !is_tried(s); });
  return all;
}

std::vector<setup> setups_that_reopen() {
  return setups_where([](const setup& s) { return s.outlives_handle(); });
}

std::vector<setup> setups_for_long_tests() {
  return setups_where([](const setup& s) {
    return is_usual(s.place, s.durability) && s.place != place_kind::disk;
  });
}

setup setup_named(const std::string& name) {
  for (const setup& s : all_setups())
    if (s.name() == name) return s;
  throw std::invalid_argument("no setup is named " + name);
}

}  // namespace durahash::test
