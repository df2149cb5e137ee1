#include "open_check.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "damage.hpp"
#include "durahash/emulated.hpp"
#include "durahash/map.hpp"
#include "durahash/table.hpp"
#include "media/file_lock.hpp"
#include "sound_pool.hpp"

namespace durahash::fuzz {
namespace {

using word_map = map<std::uint64_t, std::uint64_t>;

/// A file without a name, so that a crash leaves nothing behind. Pages of zeros are not written.
class nameless_file {
 public:
  explicit nameless_file(std::string bytes)
      : descriptor_(::memfd_create("durahash-fuzz", MFD_CLOEXEC)) {
    if (descriptor_ < 0 || ::ftruncate(descriptor_, static_cast<off_t>(bytes.size())) != 0)
      throw std::runtime_error("cannot make a memory file");
    if (auto file = locked_file::open({.path = path()}))
      name_the_file(bytes, file->mark().value_or(0));
    for (std::size_t at = 0; at < bytes.size(); at += page)
      if (auto part = std::string_view(bytes).substr(at, page);
          part.find_first_not_of('\0') != part.npos)
        write(at, part);
  }
  ~nameless_file() { ::close(descriptor_); }
  nameless_file(const nameless_file&) = delete;
  nameless_file& operator=(const nameless_file&) = delete;

  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  static constexpr std::size_t page = 4096;
  void write(std::size_t at, std::string_view part) {
    if (::pwrite(descriptor_, part.data(), part.size(), static_cast<off_t>(at)) !=
        static_cast<ssize_t>(part.size()))
      throw std::runtime_error("cannot write a memory file");
  }
  int descriptor_;
};

#ifndef DURAHASH_SANITIZED  // there it would compile each engine once more
[[maybe_unused]] const bool counts_too = (use_emulated_medium(), true);
constexpr medium_kind counting_medium = medium_kind::emulated;
#else
constexpr medium_kind counting_medium = medium_kind::file;
#endif

options options_of(std::uint8_t how) {
  options chosen;
  chosen.mode = (how & 2) != 0 ? open_mode::read_only : open_mode::open_existing;
  chosen.salvage = (how & 4) != 0;
  chosen.medium = (how & 8) != 0 ? counting_medium : medium_kind::file;
  chosen.max_bytes = 128u << 20;
  chosen.address_space_bytes = 1u << 30;
  return chosen;
}

void use_batches(table& t, const std::vector<std::string>& keys,
                 const std::vector<std::string>& values) {
  std::vector<std::string_view> key_views(keys.begin(), keys.end()),
      value_views(values.begin(), values.end());
  std::vector<std::string> found(keys.size());
  std::vector<status> answers(keys.size());
  t.get_many(key_views, found, answers);
  t.put_many(key_views, value_views, answers);
  t.get_many(key_views, found, answers);
  t.erase_many(key_views, answers);
}

/// In a table that check called sound, what was just written is found.
void write_and_read_back(table& t, const std::string& key, const std::string& value, bool sound) {
  std::string found;
  if (t.put(key, value) == status::ok && sound &&
      (t.get(key, found) != status::ok || found != value))
    throw std::logic_error("a value that was just put is not there");
}

/// Of every key; 0: they have many lengths.
std::size_t key_bytes_of(table& t) {
  for (const auto& [name, figure] : t.stats().figures)
    if (name == "key_bytes") return static_cast<std::size_t>(figure);
  return 0;
}

void use(table& t, bool sound) {
  pool_info facts = t.info();
  std::size_t key_bytes = key_bytes_of(t);
  if (key_bytes < 16) key_bytes = 0;  // no pool of ours, and no room for our keys
  for (std::uint64_t n = 0; n < sound_records; n += 3) t.get(nth_key(facts.key, n, key_bytes));
  t.for_each([](std::string_view, std::string_view) {});
  std::vector<std::string> keys, values;
  for (std::uint64_t n = sound_records - 40; n < sound_records + 10; ++n) {
    std::string key = nth_key(facts.key, n, key_bytes), value = nth_value(facts.value, n + 1);
    write_and_read_back(t, key, value, sound);
    if (n % 3 == 0) t.insert(key, value);
    if (n % 3 == 1) t.update(key, nth_value(facts.value, n + 2));
    if (n % 4 == 0) t.erase(key);
    if (n % 5 == 0) t.compare_and_set(key, value, nth_value(facts.value, n));
    std::uint64_t previous;
    if (n % 7 == 0) t.fetch_add(key, 1, previous);
    keys.push_back(std::move(key));
    values.push_back(std::move(value));
  }
  use_batches(t, keys, values);
}

void use(word_map& m, bool) {
  std::vector<std::uint64_t> keys{0, 1, ~std::uint64_t{0}}, values{1, 2, 3};
  for (std::uint64_t n = 0; n < sound_records; n += 3)
    keys.push_back(n * 0x9e3779b97f4a7c15u), values.push_back(n);
  std::vector<status> answers(keys.size());
  m.get_many(keys, values, answers);
  m.for_each([](std::uint64_t, std::uint64_t) {});
  std::uint64_t previous;
  for (std::uint64_t key : keys) m.fetch_add(key, 1, previous);
  m.put_many(keys, values, answers);
  m.erase_many(keys, answers);
}

template <class Pool>
outcome open_and_use(const std::string& path, std::uint8_t how) {
  auto opened = Pool::open(path, options_of(how));
  if (!opened) {
    if (opened.failure().message.empty()) throw std::logic_error("a refusal without a sentence");
    return {false, opened.failure().message, false};
  }
  outcome seen{true, {}, !opened->check().ok};
  use(*opened, !seen.found_damage);
  opened->stats();
  if ((how & 16) != 0) {
    opened->reserve(500);
    opened->compact();
  }
  opened->sync();
  opened->check();
  opened->size();
  opened->close();
  return seen;
}

}  // namespace

outcome open_check_bytes(std::string_view bytes, std::uint8_t how) {
  nameless_file file{std::string(bytes)};
  return (how & 1) != 0 ? open_and_use<word_map>(file.path(), how)
                        : open_and_use<table>(file.path(), how);
}

outcome open_check(std::string_view input) {
  byte_source source(input);
  auto mode = source.take<std::uint8_t>() % 4;
  const auto& pools = sound_pools();
  const sound_pool& pool = pools[source.take<std::uint8_t>() % pools.size()];
  auto how = source.take<std::uint8_t>();
  if (mode == 0) return open_check_bytes(source.rest(), how);
  std::string bytes = damaged(pool, source);
  if (mode == 3) reseal(bytes);
  return open_check_bytes(bytes, how);
}

}  // namespace durahash::fuzz
