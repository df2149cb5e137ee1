#include "disk_pool.hpp"
#include "store/registry.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <ostream>

namespace durahash::test {

std::string disk_setup::name() const {
  return std::string(name_of(engine)) + "_" + std::string(name_of(value)) + "_" +
         std::string(name_of(durability));
}

std::ostream& operator<<(std::ostream& out, const disk_setup& s) { return out << s.name(); }

bool disk_setup::has_reader_beside() const { return find_engine(engine)->beside != nullptr; }

options disk_setup::how() const {
  options how;
  how.engine = engine;
  how.key = data_kind::u64;
  how.value = value;
  how.durability = durability;
  how.medium = medium_kind::disk;
  how.log_bytes = log_bytes;
  return how;
}

std::vector<disk_setup> disk_setups() {
  std::vector<disk_setup> all;
  for (engine_kind engine : all_engines())
    for (data_kind value : {data_kind::u64, data_kind::bytes})
      for (durability_level durability :
           {durability_level::power, durability_level::power_buffered})
        all.push_back({engine, value, durability});
  return all;
}

std::vector<disk_setup> tried_disk_setups() {
  if (long_run()) return disk_setups();
  std::vector<disk_setup> tried;
  for (const disk_setup& s : disk_setups()) {
    unsigned sum = static_cast<unsigned>(s.engine) + static_cast<unsigned>(s.value) +
                   static_cast<unsigned>(s.durability);
    if ((sum + run_seed()) % 2 == 0) tried.push_back(s);
  }
  return tried;
}

double figure_of(table& pool, std::string_view name) {
  for (const auto& [known, figure] : pool.stats().figures)
    if (known == name) return figure;
  return -1;
}

std::uint64_t own_bytes() {
  std::FILE* status = std::fopen("/proc/self/status", "r");
  unsigned long kib = 0;
  char line[256];
  while (std::fgets(line, sizeof line, status) != nullptr)
    if (std::sscanf(line, "RssAnon: %lu kB", &kib) == 1) break;
  std::fclose(status);
  return kib * 1024;
}

std::string disk_folder() {
  const char* named = std::getenv("DURAHASH_DISK_DIR");
  return named != nullptr && *named != 0 ? named : "/var/tmp";
}

std::string key_of(std::uint64_t n) {
  std::string key(8, 0);
  std::memcpy(key.data(), &n, 8);
  return key;
}

std::string value_of(const disk_setup& with, std::uint64_t version) {
  std::string value(8, 0);
  std::memcpy(value.data(), &version, 8);
  if (with.value == data_kind::bytes)
    value.append(mixed(version) % 200, static_cast<char>('a' + version % 26));
  return value;
}

pool_state state_of(table& pool, std::uint64_t first_key, std::uint64_t keys) {
  pool_state state;
  std::string value;
  for (std::uint64_t n = first_key; n < first_key + keys; ++n)
    if (pool.get(key_of(n), value) == status::ok) state[n] = value;
  return state;
}

void apply_to(pool_state& to, const step& s) {
  for (const auto& [key, value] : s.changes)
    if (value) to[key] = *value;
    else to.erase(key);
}

step do_step(table& pool, const disk_setup& with, std::uint64_t first_key, std::uint64_t keys,
             std::uint64_t version, random_stream& draw) {
  step s;
  auto done = [&](status answer, bool or_absent = false) {
    EXPECT_TRUE(answer == status::ok || (or_absent && answer == status::not_found))
        << message(answer);
  };
  if (draw.one_in(8)) {
    std::vector<std::string> names, values;
    for (std::uint64_t i = 0; i < 20; ++i) {
      std::uint64_t n = first_key + (version * 20 + i) % keys;
      names.push_back(key_of(n)), values.push_back(value_of(with, version));
      s.changes.push_back({n, values.back()});
    }
    std::vector<std::string_view> k(names.begin(), names.end()), v(values.begin(), values.end());
    std::vector<status> answers(k.size());
    pool.put_many(k, v, answers);
    for (status answer : answers) done(answer);
  } else if (draw.one_in(4)) {
    std::uint64_t n = first_key + draw.below(keys);
    s.changes.push_back({n, std::nullopt});
    done(pool.erase(key_of(n)), true);
  } else {
    std::uint64_t n = first_key + draw.below(keys);
    s.changes.push_back({n, value_of(with, version)});
    done(pool.put(key_of(n), *s.changes.back().second));
  }
  return s;
}

}  // namespace durahash::test
