#include "explorer/program.hpp"

#include <algorithm>
#include <unordered_map>

#include "engine/gphash/format.hpp"

namespace durahash::crash {

const char* name_of(act a) {
  constexpr const char* names[] = {
      "put",     "insert",   "update",     "erase",          "compare_and_set", "fetch_add",
      "get",     "put_many", "erase_many", "get_many",       "get beside",      "reserve",
      "compact", "sync",     "scan",       "close and open", "scan beside"};
  return names[static_cast<int>(a)];
}

bool takes_keys(act a) { return a <= act::get_beside; }

threaded_program counted_and_crowded(key_number crowd) {
  threaded_program made{{{}, static_cast<key_number>(crowd + 3u)}, {{}}, true};
  for (key_number k = 0; k < crowd; ++k) made.first.operations.push_back({act::put, {k}, 100u + k});
  for (key_number k = crowd; k < crowd + 3u; ++k)
    made.threads.front().push_back({act::insert, {k}, 600u + k});
  return made;
}

std::string text_of(const operation& o) {
  std::string text = name_of(o.what);
  for (key_number k : o.keys) text += (k == o.keys.front() ? " " : ",") + std::to_string(k);
  bool writes = o.what <= act::update || o.what == act::exchange || o.what == act::add ||
                o.what == act::put_many;
  if (writes) text += " #" + std::to_string(o.version);
  return text;
}

program random_program(const mix& how, std::mt19937_64& random) {
  struct share {
    act what;
    unsigned weight;
  };
  constexpr share shares[] = {{act::put, 30},     {act::insert, 12},  {act::update, 12},
                              {act::erase, 18},   {act::exchange, 4}, {act::add, 4},
                              {act::get, 4},      {act::put_many, 7}, {act::erase_many, 4},
                              {act::get_many, 2}, {act::reserve, 1},  {act::compact, 2},
                              {act::sync, 1},     {act::reopen, 1}};
  unsigned sum = 0;
  for (share s : shares) sum += s.weight;
  program made;
  made.keys = how.keys;
  for (std::size_t n = 0; n < how.operations; ++n) {
    operation o;
    auto drawn = static_cast<unsigned>(random() % sum);
    for (share s : shares) {
      o.what = s.what;
      if (drawn < s.weight) break;
      drawn -= s.weight;
    }
    if (o.what == act::reopen && !how.reopens) o.what = act::put;
    bool many = o.what == act::put_many || o.what == act::erase_many || o.what == act::get_many;
    std::size_t count = many ? 2 + random() % 6 : takes_keys(o.what) ? 1 : 0;
    while (o.keys.size() < count) o.keys.push_back(static_cast<key_number>(random() % how.keys));
    // what a group does with one key twice is tested elsewhere: here each call has one effect on a
    // key
    if (many) {
      std::sort(o.keys.begin(), o.keys.end());
      o.keys.erase(std::unique(o.keys.begin(), o.keys.end()), o.keys.end());
      std::shuffle(o.keys.begin(), o.keys.end(), random);
    }
    o.version = static_cast<std::uint32_t>(n + 1);
    constexpr unsigned seldom = 80;
    if (random() % seldom == 0) {  // an empty table, and what it gives back
      operation all{act::erase_many, {}, o.version};
      for (key_number k = 0; k < how.keys; ++k) all.keys.push_back(k);
      made.operations.push_back(std::move(all));
      made.operations.push_back({act::compact, {}, 0});
      ++n;
      continue;
    }
    made.operations.push_back(std::move(o));
  }
  return made;
}

std::uint64_t word_key(key_number n) {
  if (n == 0) return 0;
  if (n == 1) return ~std::uint64_t{0};
  static const gphash::mixer mixture(explored_seeds);
  if (n < 4) return mixture.key_of(n - 2);
  return n % 2 == 0 ? n : n * 0x9e3779b97f4a7c15u;
}

std::string bytes_key(key_number n) {
  if (n == 0) return {};
  if (n == 1) return std::string(8, '\0');
  std::string key = "key " + std::to_string(n);
  if (n % 5 == 0) key.append(n * 3, 'k');
  return key;
}

std::string fixed_key(key_number n, std::size_t length) {
  if (n == 0) return std::string(length, '\0');
  if (n == 1) return std::string(length, '\xff');
  std::string key;
  for (std::uint64_t word = 0; key.size() < length; ++word) {
    std::uint64_t told = n | word << 16;
    key.append(reinterpret_cast<const char*>(&told), sizeof told);
  }
  return key;
}

value_id value_of(key_number key, std::uint32_t version, bool words) {
  if (!words && version % 11 == 0) version = 0;  // the empty value: one for all
  value_id id = std::uint64_t{version} << 16 | key;
  if (!words) return id;
  if (version % 13 == 5) return 0;
  if (version % 13 == 8) return ~std::uint64_t{0};
  return id;
}

namespace {

std::string make_text(value_id id) {
  constexpr std::size_t lengths[] = {20, 30, 8, 100, 41, 260, 17, 700, 3, 64, 2000};
  std::uint64_t version = id >> 16;
  if (version == 0) return {};
  std::size_t length = version % 97 == 50 ? 40'000 : lengths[version % std::size(lengths)];
  std::string text = "v" + std::to_string(version) + " of " + std::to_string(id & 0xffff) + ":";
  while (text.size() < length) text += static_cast<char>('a' + (text.size() * 7 + id) % 26);
  return text;
}

}  // namespace

const std::string& text_of_value(value_id id) {
  static std::unordered_map<value_id, std::string> made;  // one thread runs at a time
  auto [at, is_new] = made.try_emplace(id);
  if (is_new) at->second = make_text(id);
  return at->second;
}

}  // namespace durahash::crash
