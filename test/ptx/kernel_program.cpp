#include "test/ptx/kernel_program.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include "base/random.hpp"
#include "durahash/gpu_memory.hpp"
#include "durahash/map.hpp"
#include "gpu/map.hpp"
#include "test/ptx/load.hpp"
#include "test/ptx/pool_image.hpp"

namespace durahash::ptx {
namespace {

using value = std::optional<std::uint64_t>;

class program {
 public:
  explicit program(const program_options& o) : o_(o), random_(o.seed), d_(device::the_one()) {}

  program_end run() {
    repeat_random(o_.seed);  // of the pool's hashes: which keys meet is a part of the program
    auto cuda = gpu::cuda_device(0);
    if (!cuda) return {cuda.failure().message, 0, 0};
    gpu_ = cuda->get();
    keys_ = shared<std::uint64_t>(max_batch), values_ = shared<std::uint64_t>(max_batch);
    found_ = shared<std::uint64_t>(max_batch), answers_ = shared<status>(max_batch);
    looks_ = shared<status>(max_batch), looked_for_ = shared<std::uint64_t>(max_batch);
    if (looks_ == nullptr) return {"no memory: " + d_.failure(), 0, 0};
    options how;
    if (o_.exchanges) how.settings = {{"levels", 1}, {"hashes", 1}, {"slots", 2}};
    if (o_.to_power) how.medium = medium_kind::memory, how.durability = durability_level::power;
    auto opened = gpu::open_on(
        std::move(*cuda), o_.to_power ? "" : path(), how,
        {.place = o_.place, .cache_percent = o_.cache_percent, .max_staged = max_batch});
    if (!opened) return {"open: " + opened.failure().message, 0, 0};
    map_ = &*opened;
    if (o_.killed) d_.at_instruction(next_kill(), [this] { return look_at_image(), next_kill(); });
    for (unsigned round = 0; round < o_.rounds && complaint_.empty(); ++round) one_round(round);
    if (complaint_.empty()) expect_all("at the end");
    if (complaint_.empty() && !d_.failure().empty()) complaint_ = d_.failure();
    d_.at_instruction(~std::uint64_t{0}, [] { return ~std::uint64_t{0}; });
    std::uint64_t instructions = d_.instructions();
    status closed = opened->close();
    if (complaint_.empty() && closed != status::ok)
      complaint_ = "close: " + std::string(message(closed));
    if (complaint_.empty() && !o_.to_power) check_on_the_cpu(path(), "after the close");
    return {complaint_, images_, instructions};
  }

 private:
  static constexpr std::size_t max_batch = 2048;

  template <class T>
  T* shared(std::size_t count) {
    return static_cast<T*>(gpu::allocate_shared(count * sizeof(T)));
  }
  std::string path() const { return folder_.file("pool"); }
  std::uint64_t next_kill() {
    return d_.instructions() + 1 + random_() % (o_.grows ? 25'000 : 3'500);
  }
  void complain(const std::string& what) {
    if (complaint_.empty()) complaint_ = what + " (seed " + std::to_string(o_.seed) + ")";
  }

  enum action { put, insert, update, erase };

  void one_round(unsigned round) {
    if (o_.exchanges) return exchange();
    bool large = o_.grows && round == 1;
    bool again = round % 3 == 2;  // few keys, each several times
    std::size_t n = large ? 1'600 : 40;
    action what = large ? put : again ? insert : static_cast<action>(random_() % 4);
    if (again) clear_hot();
    if (round % 3 == 1 && !large) return swap_keys(round);
    std::set<std::uint64_t> used;
    for (std::size_t i = 0; i < n; ++i) {
      std::uint64_t key = again ? 1'000'000 + random_() % 4 : large ? 5'000 + i : random_() % 90;
      while (!again && !used.insert(key).second) key = random_() % 90;
      keys_[i] = key, values_[i] = random_() | 1;
    }
    do_batch(what, n, again);
    if (complaint_.empty() && o_.cache_percent != 0 && map_->load_cache() != status::ok)
      complain("the copies could not be loaded: " + d_.failure());
    if (complaint_.empty() && round % 2 == 1) expect_all("after round " + std::to_string(round));
  }
  void clear_hot() {
    for (std::size_t i = 0; i < 4; ++i) keys_[i] = 1'000'000 + i;
    do_batch(erase, 4, false);
  }

  /// Keys go and others come, in one go: slots are used again beside finds of who was there.
  void swap_keys(unsigned round) {
    std::vector<std::uint64_t> gone;
    for (auto [key, v] : model_)
      if (key < 1'000'000 && gone.size() < 40) gone.push_back(key);
    std::size_t n = gone.size();
    if (n == 0) return;
    for (std::size_t i = 0; i < n; ++i) {
      std::uint64_t fresh = 2'000'000 + round * 1'000 + i;
      keys_[i] = gone[i], keys_[n + i] = fresh, values_[n + i] = random_() | 1;
      pending_[gone[i]] = {value()};
      pending_[fresh] = {values_[n + i]};
    }
    gpu::stream beside = gpu_->stream_for_copies();
    std::copy_n(keys_, n, looked_for_);
    std::copy_n(keys_, n, looked_for_ + n);
    std::fill_n(looks_, 2 * n, status::damaged);
    status asked = map_->find_async(2 * n, looked_for_, found_, looks_, beside);
    if (asked == status::ok) asked = map_->erase_async(n, keys_, answers_);
    if (asked == status::ok) asked = map_->insert_async(n, keys_ + n, values_ + n, answers_ + n);
    if (asked == status::ok) asked = map_->commit();
    if (asked != status::ok) return complain("keys are exchanged: " + d_.failure());
    if (error e = gpu_->wait(beside); e.code != status::ok) return complain("a wait: " + e.message);
    check_looks(2 * n);
    for (std::size_t i = 0; i < n; ++i) {
      if (answers_[i] != status::ok) complain("a key that was there is not erased");
      model_.erase(keys_[i]);
      if (answers_[n + i] == status::ok) model_[keys_[n + i]] = values_[n + i];
      else if (answers_[n + i] != status::no_space) complain("a new key is not inserted");
    }
    pending_.clear();
  }

  /// A key goes, and its slot to whichever of others gets there first, with finds of the one that
  /// goes beside it.
  void exchange() {
    constexpr std::size_t others = 8, looks = 24;
    std::optional<std::uint64_t> gone;
    if (model_.size() > 4)
      gone =
          std::next(model_.begin(), static_cast<std::ptrdiff_t>(random_() % model_.size()))->first;
    for (std::size_t i = 0; i < others; ++i) {
      keys_[i] = random_(), values_[i] = random_() | 1;
      pending_[keys_[i]] = {values_[i]};
    }
    gpu::stream beside = gpu_->stream_for_copies();
    status asked = status::ok;
    if (gone) {
      keys_[others] = *gone;
      pending_[*gone] = {value()};
      std::fill_n(looked_for_, looks, *gone);
      std::fill_n(looks_, looks, status::damaged);
      // inserts wait for the removal, or do not
      gpu::stream removal = random_() % 2 == 0 ? nullptr : looks_;
      asked = map_->erase_async(1, keys_ + others, answers_ + others, removal);
      if (asked == status::ok) asked = map_->find_async(looks, looked_for_, found_, looks_, beside);
    }
    if (asked == status::ok) asked = map_->insert_async(others, keys_, values_, answers_);
    if (asked == status::ok) asked = map_->commit();
    if (asked == status::ok && gone) asked = map_->commit(looks_);
    if (asked != status::ok) return complain("a key is exchanged: " + d_.failure());
    if (error e = gpu_->wait(beside); e.code != status::ok) return complain("a wait: " + e.message);
    if (gone) check_looks(looks);
    for (std::size_t i = 0; i < others; ++i)
      if (answers_[i] == status::ok) model_[keys_[i]] = values_[i];
      else if (answers_[i] != status::no_space) complain("a new key is not inserted");
    if (gone) {
      if (answers_[others] != status::ok) complain("a key that was there is not erased");
      model_.erase(*gone);
    }
    pending_.clear();
  }

  /// A batch of writes, and one of finds in another stream beside it.
  void do_batch(action what, std::size_t n, bool again) {
    pending_.clear();
    for (std::size_t i = 0; i < n; ++i) {
      value before = now(keys_[i]);
      bool done = what == put || (what == insert) != before.has_value();
      if (done) pending_[keys_[i]].push_back(what == erase ? value() : value(values_[i]));
    }
    std::size_t looks = std::min<std::size_t>(n, 40);
    for (std::size_t i = 0; i < looks; ++i) looked_for_[i] = keys_[i], found_[i] = 0;
    std::fill_n(answers_, n, status::damaged);
    std::fill_n(looks_, looks, status::damaged);
    gpu::stream beside = gpu_->stream_for_copies();
    status asked = map_->find_async(looks, looked_for_, found_, looks_, beside);
    if (asked != status::ok) return complain("find: " + d_.failure());
    status done = what == put      ? map_->put(n, keys_, values_, answers_)
                  : what == insert ? map_->insert(n, keys_, values_, answers_)
                  : what == update ? map_->update_async(n, keys_, values_, answers_)
                                   : map_->erase_async(n, keys_, answers_);
    std::string why;
    if (done == status::ok) done = map_->commit(nullptr, &why);
    if (done != status::ok) return complain("a batch: " + std::string(message(done)) + " " + why);
    if (error e = gpu_->wait(beside); e.code != status::ok) return complain("a wait: " + e.message);
    check_looks(looks);
    for (std::size_t i = 0; i < n && complaint_.empty(); ++i) settle(what, i, again);
    pending_.clear();
  }
  void check_looks(std::size_t looks) {
    for (std::size_t i = 0; i < looks; ++i) {
      value got = looks_[i] == status::ok ? value(found_[i]) : value();
      if (looks_[i] != status::ok && looks_[i] != status::not_found)
        return complain("a find has no answer");
      if (!allowed(looked_for_[i], got))
        return complain("a find beside a write of key " + std::to_string(looked_for_[i]) +
                        (got ? " saw a value that nobody wrote" : " missed it"));
    }
  }
  void settle(action what, std::size_t i, bool again) {
    value before = now(keys_[i]);
    status wanted = what == insert && before                       ? status::exists
                    : (what == update || what == erase) && !before ? status::not_found
                                                                   : status::ok;
    // the first that is answered ok among those of one key; the model does not know which
    if (again && what == insert && answers_[i] == status::exists) wanted = status::exists;
    if (answers_[i] != wanted)
      return complain("operation " + std::to_string(i) + " has another answer than the model");
    if (wanted != status::ok) return;
    if (what == erase) model_.erase(keys_[i]);
    else model_[keys_[i]] = values_[i];
  }

  value now(std::uint64_t key) const {
    auto at = model_.find(key);
    return at == model_.end() ? value() : value(at->second);
  }
  /// As before the batch under way, or as after it.
  bool allowed(std::uint64_t key, value got) const {
    if (got == now(key)) return true;
    auto at = pending_.find(key);
    return at != pending_.end() &&
           std::find(at->second.begin(), at->second.end(), got) != at->second.end();
  }

  void expect_all(const std::string& when) {
    std::vector<std::uint64_t> all;
    for (auto [key, v] : model_) all.push_back(key);
    for (std::uint64_t absent = 100'000; absent < 100'010; ++absent) all.push_back(absent);
    for (std::size_t first = 0; first < all.size() && complaint_.empty(); first += max_batch) {
      std::size_t n = std::min(max_batch, all.size() - first);
      std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(first), n, looked_for_);
      std::fill_n(looks_, n, status::damaged);
      if (map_->find_async(n, looked_for_, found_, looks_) != status::ok ||
          map_->commit() != status::ok)
        return complain("finds " + when + ": " + d_.failure());
      check_looks(n);
    }
    if (complaint_.empty() && map_->size() != model_.size())
      complain("size() is " + std::to_string(map_->size()) + " and not " +
               std::to_string(model_.size()) + " " + when);
  }

  /// The pool's file as it is, with what the host might find of stores that are under way.
  void look_at_image() {
    if (!complaint_.empty()) return;
    const std::string bytes = image_of_the_pool(d_, o_.to_power ? "" : path(), o_.weak);
    if (bytes.empty()) return;
    std::string image = folder_.file("image");
    test::write_as_killed(image, bytes);
    check_on_the_cpu(image, "killed at instruction " + std::to_string(d_.instructions()));
    std::filesystem::remove(image);
    ++images_;
  }
  void check_on_the_cpu(const std::string& where, const std::string& when) {
    auto pool = map<std::uint64_t, std::uint64_t>::open(where);
    if (!pool) return complain(when + ": " + pool.failure().message);
    check_report report = pool->check();
    if (!report.ok) return complain(when + ": " + report.violations.front());
    std::size_t there = 0;
    std::set<std::uint64_t> keys;
    for (auto [key, v] : model_) keys.insert(key);
    for (auto& [key, all] : pending_) keys.insert(key);
    for (std::uint64_t key : keys) {
      value got = pool->get(key);
      there += got.has_value();
      if (!allowed(key, got))
        return complain(when + ": key " + std::to_string(key) +
                        (got ? " has a value that nobody wrote" : " is lost"));
    }
    if (pool->size() != there)
      complain(when + ": " + std::to_string(pool->size()) + " records, and keys for " +
               std::to_string(there));
  }

  program_options o_;
  std::mt19937_64 random_;
  device& d_;
  test::scratch_folder folder_;
  gpu::device* gpu_ = nullptr;
  gpu::map* map_ = nullptr;
  std::uint64_t *keys_, *values_, *found_, *looked_for_;
  status *answers_, *looks_;
  std::map<std::uint64_t, std::uint64_t> model_;
  std::map<std::uint64_t, std::vector<value>> pending_;  // by key, what the batch may leave
  std::string complaint_;
  unsigned images_ = 0;
};

}  // namespace

program_end run_program(const program_options& o, const module* kernels) {
  device& d = device::the_one();
  if (!load_once(d)) return {why_not_loaded(), 0, 0};
  d.forget_memory();
  d.restart({.seed = o.seed,
             .quiet = kernels != nullptr,
             .weak = o.weak,
             .apart_percent = 30,
             .blocks_per_processor = 2,
             .max_instructions = o.grows ? 20'000'000u : 2'000'000u,
             .max_in_all = o.grows ? 30'000'000u : 6'000'000u});
  module own;
  if (kernels != nullptr) own = *kernels, std::swap(own, d.kernels);
  program_end end = program(o).run();
  if (kernels != nullptr) std::swap(own, d.kernels);
  return end;
}

}  // namespace durahash::ptx
