// Kinds of operations, each many times: scripts/instructions.py counts them under callgrind.
//
//   durahash_instructions ENGINE words|bytes OPERATION,... POOL
//                         memory|process|power|power_buffered [repeat]
//
// The operations meet one table, in their order. `insert` and `steady` stand first, if anywhere,
// and fill it. Prints how many were done of each.
//
// With `repeat` the pool's seeds are those of every such run, and the program waits for a line of
// input when the pool is open: another may read it then. That is the OPERATION
//
//   read    reads the POOL beside its writer until its input ends; prints how many records it found
//
// memory: lines of a pool in memory are written back, as at the level power on persistent memory.
// At the levels power and power_buffered the pool lies on a disk.
#include <poll.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "durahash/emulated.hpp"
#include "durahash/map.hpp"
#include "durahash/table.hpp"
#include "measure.hpp"

namespace {

using namespace durahash;
using durahash::instructions::fills_the_table;
using durahash::instructions::for_each_named;
using durahash::instructions::measure;

constexpr std::size_t records = 200'000, operations = 100'000, batch = 64;

/// SplitMix64: keys as good as random, none twice.
std::uint64_t key_of(std::uint64_t n) {
  std::uint64_t key = (n + 1) * 0x9e3779b97f4a7c15;
  key = (key ^ key >> 30) * 0xbf58476d1ce4e5b9;
  key = (key ^ key >> 27) * 0x94d049bb133111eb;
  return key ^ key >> 31;
}

struct words {
  map<std::uint64_t, std::uint64_t> table;
  using key = std::uint64_t;
  using value = std::uint64_t;
  static key made_key(std::uint64_t n) { return key_of(n); }
  static value made_value(std::uint64_t n) { return n; }
  static auto open(const std::string& path, const options& how) {
    return map<std::uint64_t, std::uint64_t>::open(path, how);
  }
  bool get(const key& k) { return table.get(k).has_value(); }
  void get_many(std::span<const key> keys, std::span<status> answers) {
    value found[batch];
    table.get_many(keys, std::span(found, keys.size()), answers);
  }
};

struct bytes {
  durahash::table table;
  using key = std::string_view;
  using value = std::string_view;
  static std::vector<std::string>& texts() {
    static std::vector<std::string> all;
    return all;
  }
  static key made_key(std::uint64_t n) {                 // 16 bytes
    if (texts().size() == 4 * records) texts().clear();  // a reader goes on and on
    if (texts().capacity() == 0) texts().reserve(4 * records);
    std::uint64_t two[2] = {key_of(n), n};
    return texts().emplace_back(reinterpret_cast<const char*>(two), sizeof two);
  }
  static value made_value(std::uint64_t) {
    static const std::string hundred(100, '.');
    return hundred;
  }
  static auto open(const std::string& path, const options& how) {
    return durahash::table::open(path, how);
  }
  bool get(const key& k) {
    static std::string found;
    return table.get(k, found) == status::ok;
  }
  void get_many(std::span<const key> keys, std::span<status> answers) {
    static std::string found[batch];
    table.get_many(keys, std::span(found, keys.size()), answers);
  }
};

/// scan-LIMIT: calls with that limit; each: all records at once. Counts what is visited.
template <class Records>
void visit(const std::string& what, Records& on) {
  std::size_t visited = 0;
  const auto one = [&](const auto&, const auto&) { ++visited; };
  if (what == "each")
    return measure(1, visited, [&](std::size_t) { (void)on.table.for_each(one); });
  const std::size_t limit = std::stoul(what.substr(std::string_view("scan-").size()));
  cursor at;
  measure(records / 2 / limit, visited, [&](std::size_t) { (void)on.table.scan(at, limit, one); });
}

template <class Records>
class table_of_keys {
 public:
  using key = typename Records::key;
  using value = typename Records::value;

  explicit table_of_keys(Records on) : on_(std::move(on)) {
    for (std::uint64_t n = 0; n < 2 * records; ++n)
      keys_.push_back(Records::made_key(n)), values_.push_back(Records::made_value(n));
  }
  /// Returns false if there is none of that name.
  bool measures(const std::string& what) {
    const std::size_t absent = records;  // keys from there on
    const auto each = [&](auto&& once) { measure(operations, operations, once); };
    if (what == "insert" || what == "steady")
      measure(records, records,
              [&](std::size_t i) { (void)on_.table.insert(keys_[i], values_[i]); });
    else if (what == "hit") each([&](std::size_t i) { (void)on_.get(keys_[i]); });
    else if (what == "miss") each([&](std::size_t i) { (void)on_.get(keys_[absent + i]); });
    else if (what == "update")
      each([&](std::size_t i) { (void)on_.table.put(keys_[i], values_[i + 1]); });
    else if (what == "erase") each([&](std::size_t i) { (void)on_.table.erase(keys_[i]); });
    else if (what == "batch-hit") in_batches_of(batch, [&](std::size_t i) { get_many(i, batch); });
    else if (what == "batch-miss")
      in_batches_of(batch, [&](std::size_t i) { get_many(absent + i, batch); });
    else if (what == "batch-new")
      in_batches_of(batch, [&](std::size_t i) { put_many(absent + i, i, batch); });
    else if (what == "batch-update")
      in_batches_of(batch, [&](std::size_t i) { put_many(i, i + 1, batch); });
    else if (what == "few-hit") in_batches_of(4, [&](std::size_t i) { get_many(i, 4); });
    else if (what == "few-update") in_batches_of(4, [&](std::size_t i) { put_many(i, i + 1, 4); });
    else if (what == "same-update") {
      const std::vector<key> same(batch, keys_[0]);
      in_batches_of(batch, [&](std::size_t i) {
        on_.table.put_many(std::span<const key>(same), std::span<const value>(&values_[i], batch),
                           answers_);
      });
    } else if (what.starts_with("scan-") || what == "each") visit(what, on_);
    else return false;
    return true;
  }
  void fill() {
    for (std::size_t i = 0; i < records; ++i) (void)on_.table.put(keys_[i], values_[i]);
  }

 private:
  template <class One>
  void in_batches_of(std::size_t count, One&& one) {
    measure(operations / count, operations / count * count, [&](std::size_t i) { one(i * count); });
  }
  void get_many(std::size_t first, std::size_t count) {
    on_.get_many(std::span<const key>(&keys_[first], count), std::span(answers_, count));
  }
  void put_many(std::size_t first, std::size_t first_value, std::size_t count) {
    on_.table.put_many(std::span<const key>(&keys_[first], count),
                       std::span<const value>(&values_[first_value], count),
                       std::span(answers_, count));
  }

  Records on_;
  std::vector<key> keys_;
  std::vector<value> values_;
  status answers_[batch];
};

/// The operations of the list, one behind the other.
template <class Records>
int measure_all(const std::string& list, Records on) {
  table_of_keys<Records> table(std::move(on));
  if (!fills_the_table(list)) table.fill();
  return for_each_named(list, [&](const std::string& what) { return table.measures(what); }) ? 0
                                                                                             : 2;
}

/// Beside the writer, until the input ends.
template <class Records>
int read_beside(Records on) {
  std::size_t found = 0, n = 0;
  pollfd input{STDIN_FILENO, POLLIN, 0};
  std::puts("open");
  std::fflush(stdout);
  while (::poll(&input, 1, 0) == 0)
    for (int i = 0; i < 1000; ++i) {
      const auto key = Records::made_key(n++ % records);
      found += on.get(key) ? 1 : 0;
    }
  std::printf("%zu\n", found);
  return 0;
}

template <class Records>
int run(options how, const std::string& what, const std::string& path, bool repeat) {
  if (what.starts_with("steady")) how.capacity = 2 * records;  // nothing has to grow
  auto made = Records::open(path, how);
  if (!made) return std::fprintf(stderr, "%s\n", made.failure().message.c_str()), 1;
  if (what == "read") return read_beside(Records{std::move(*made)});
  (void)made->size();  // waits for the recount: until then cells of the heap take longer
  if (repeat) {
    std::puts("open");
    std::fflush(stdout);
    if (std::getchar() != '\n') return 2;
  }
  return measure_all(what, Records{std::move(*made)});
}

}  // namespace

int main(int argc, char** argv) {
  const bool repeat = argc == 7 && std::string_view(argv[6]) == "repeat";
  if (argc != 6 && !repeat)
    return std::fprintf(stderr, "see the head of this program's source\n"), 2;
  options how;
  auto engine = engine_named(argv[1]);
  if (!engine) return 2;
  how.engine = *engine;
  const std::string what = argv[3];
  how.mode = what == "read" ? open_mode::read_beside : open_mode::create_new;
  if (repeat) repeat_pool_seeds(20261125);
  const std::string_view level = argv[5];
  how.durability = level == "memory" ? durability_level::power : durability_named(level);
  if (!how.durability) return 2;
  if (level == "memory") how.medium = medium_kind::memory;
  else if (level != "process") how.medium = medium_kind::disk;
  return std::string_view(argv[2]) == "words" ? run<words>(how, what, argv[4], repeat)
                                              : run<bytes>(how, what, argv[4], repeat);
}
