// The engines, in memory. Each operation's lines are written back, but at the level process.
#include <stdexcept>

#include "bench/peers/tables/table.hpp"
#include "durahash/map.hpp"

namespace durahash::peers {
namespace {

class durahash_table {
 public:
  explicit durahash_table(const options& how) : map_(opened(how)) {}
  bool insert(std::uint64_t key, std::uint64_t value) {
    return map_.insert(key, value) == status::ok;
  }
  bool get(std::uint64_t key, std::uint64_t& value) { return map_.get(key, value) == status::ok; }
  bool update(std::uint64_t key, std::uint64_t value) {
    return map_.update(key, value) == status::ok;
  }
  bool erase(std::uint64_t key) { return map_.erase(key) == status::ok; }
  std::uint64_t get_many(words keys, std::uint64_t* values) {
    std::array<status, batch> answers;
    map_.get_many(keys, std::span(values, keys.size()), std::span(answers.data(), keys.size()));
    return found(std::span(answers.data(), keys.size()));
  }
  std::uint64_t put_many(words keys, const std::uint64_t* values) {
    std::array<status, batch> answers;
    map_.put_many(keys, std::span(values, keys.size()), std::span(answers.data(), keys.size()));
    return found(std::span(answers.data(), keys.size()));
  }

 private:
  static std::uint64_t found(std::span<const status> answers) {
    return static_cast<std::uint64_t>(std::ranges::count(answers, status::ok));
  }
  static map<std::uint64_t, std::uint64_t> opened(const options& how) {
    auto made = map<std::uint64_t, std::uint64_t>::open("", how);
    if (!made) throw std::runtime_error(made.failure().message);
    return std::move(*made);
  }

  map<std::uint64_t, std::uint64_t> map_;
};

/// ENGINE, or ENGINE-process: nothing is written back there.
std::unique_ptr<any_table> make(const std::string& name) {
  const std::string_view end = "-process";
  const bool process = name.ends_with(end);
  options how;
  how.engine = engine_named(process ? name.substr(0, name.size() - end.size()) : name).value();
  how.medium = medium_kind::memory;
  how.durability = process ? durability_level::process : durability_level::power;
  how.mode = open_mode::create_new;
  return std::make_unique<looped<durahash_table>>(how);
}

}  // namespace

std::vector<entry> durahash_tables() {
  std::vector<entry> all;
  for (const char* end : {"", "-process"})
    for (engine_kind engine : all_engines())
      all.push_back({std::string(name_of(engine)) + end, entry::ours, make});
  return all;
}

}  // namespace durahash::peers
