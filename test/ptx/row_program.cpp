#include "test/ptx/row_program.hpp"

#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include "base/random.hpp"
#include "durahash/table.hpp"
#include "gpu/table.hpp"
#include "test/ptx/load.hpp"
#include "test/ptx/pool_image.hpp"

namespace durahash::ptx {
namespace {

using value = std::optional<std::string>;

class program {
 public:
  explicit program(const row_program_options& o) : o_(o), random_(o.seed), d_(device::the_one()) {}

  program_end run() {
    repeat_random(o_.seed);
    auto cuda = gpu::cuda_device(0);
    if (!cuda) return {cuda.failure().message, 0, 0};
    options how;
    how.settings = {{"levels", 1}, {"hashes", 1}, {"slots", 4}};
    if (o_.key_bytes != 0) how.settings["key_bytes"] = o_.key_bytes;
    if (o_.to_power) how.medium = medium_kind::memory, how.durability = durability_level::power;
    auto opened =
        gpu::open_rows_on(std::move(*cuda), path(), how,
                          {.place = gpu::table_place::pool, .cache_percent = o_.cache_percent});
    if (!opened) return {"open: " + opened.failure().message, 0, 0};
    table_ = &*opened;
    d_.at_instruction(next_kill(), [this] { return look_at_image(), next_kill(); });
    for (unsigned round = 0; round < o_.rounds && complaint_.empty(); ++round) one_batch(round);
    d_.at_instruction(~std::uint64_t{0}, [] { return ~std::uint64_t{0}; });
    if (complaint_.empty()) complaint_ = d_.failure();
    const std::uint64_t instructions = d_.instructions();
    const status closed = opened->close();
    if (closed != status::ok) complain("close: " + std::string(message(closed)));
    if (!o_.to_power) check_on_the_cpu(path(), "after the close");
    return {complaint_, images_, instructions};
  }

 private:
  std::string path() const { return o_.to_power ? "" : folder_.file("pool"); }
  std::size_t key_size() const { return o_.key_bytes == 0 ? 8 : o_.key_bytes; }
  std::uint64_t next_kill() { return d_.instructions() + 1 + random_() % 6'000; }
  void complain(const std::string& what) {
    if (complaint_.empty()) complaint_ = what + " (seed " + std::to_string(o_.seed) + ")";
  }
  std::string key(std::uint64_t number) const {
    std::string made(key_size(), 'k');
    std::memcpy(made.data(), &number, sizeof number);
    return made;
  }

  /// Keys come several times; what is to be there behind it is as if one came after another.
  void one_batch(unsigned round) {
    constexpr std::size_t lengths[] = {128, 8, 77, 24, 0};
    const std::size_t n = 32 + random_() % 60, length = lengths[random_() % std::size(lengths)];
    const std::uint64_t among = 20 + 30 * round;
    const unsigned what = round == 0 ? 0 : static_cast<unsigned>(random_() % 4);
    std::string keys, rows;
    after_ = before_;
    std::vector<status> wanted(n, status::ok), answers(n, status::damaged);
    for (std::size_t i = 0; i < n; ++i) {
      const std::string name = key(random_() % among);
      std::string row;
      while (row.size() < length) row += static_cast<char>(random_());
      keys += name, rows += row;
      const bool there = after_.contains(name);
      if (what == 1 && there) wanted[i] = status::exists;
      else if (what >= 2 && !there) wanted[i] = status::not_found;
      else if (what == 3) after_.erase(name);
      else after_[name] = row;
    }
    const status done =
        what == 0   ? table_->put(n, keys.data(), rows.data(), length, answers.data())
        : what == 1 ? table_->insert(n, keys.data(), rows.data(), length, answers.data())
        : what == 2 ? table_->update(n, keys.data(), rows.data(), length, answers.data())
                    : table_->erase(n, keys.data(), answers.data());
    if (done != status::ok)
      return complain("a batch: " + std::string(message(done)) + " " + d_.failure());
    if (answers != wanted) return complain("a batch has other answers than the model");
    before_ = after_;
    if (o_.cache_percent != 0 && table_->load_cache() != status::ok)
      complain("the copies could not be loaded: " + d_.failure());
    if (table_->size() != before_.size()) complain("size() is not that of the model");
  }

  void look_at_image() {
    if (!complaint_.empty()) return;
    const std::string bytes = image_of_the_pool(d_, path(), o_.weak);
    if (bytes.empty()) return;
    const std::string image = folder_.file("image");
    test::write_as_killed(image, bytes);
    check_on_the_cpu(image, "killed at instruction " + std::to_string(d_.instructions()));
    std::filesystem::remove(image);
    ++images_;
  }
  void check_on_the_cpu(const std::string& where, const std::string& when) {
    auto pool = table::open(where);
    if (!pool) return complain(when + ": " + pool.failure().message);
    check_report report = pool->check();
    if (!report.ok) return complain(when + ": " + report.violations.front());
    std::size_t there = 0;
    std::set<std::string> keys;
    for (const auto& [name, row] : before_) keys.insert(name);
    for (const auto& [name, row] : after_) keys.insert(name);
    for (const std::string& name : keys) {
      const value got = pool->get(name);
      there += got.has_value();
      if (got != in(before_, name) && got != in(after_, name))
        return complain(when + (got ? ": a row that nobody wrote" : ": a key is lost"));
    }
    if (pool->size() != there)
      complain(when + ": " + std::to_string(pool->size()) + " records, and keys for " +
               std::to_string(there));
  }
  static value in(const std::map<std::string, std::string>& model, const std::string& name) {
    auto at = model.find(name);
    return at == model.end() ? value() : value(at->second);
  }

  row_program_options o_;
  std::mt19937_64 random_;
  device& d_;
  test::scratch_folder folder_;
  gpu::table* table_ = nullptr;
  std::map<std::string, std::string> before_, after_;  // the batch under way
  std::string complaint_;
  unsigned images_ = 0;
};

}  // namespace

program_end run_row_program(const row_program_options& o) {
  device& d = device::the_one();
  if (!load_once(d)) return {why_not_loaded(), 0, 0};
  d.forget_memory();
  d.restart({.seed = o.seed,
             .weak = o.weak,
             .apart_percent = 30,
             .blocks_per_processor = 2,
             .max_instructions = 4'000'000u,
             .max_in_all = 20'000'000u});
  return program(o).run();
}

}  // namespace durahash::ptx
