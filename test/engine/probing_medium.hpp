// A medium for tests. It keeps the minimal image: what is guaranteed to be there after a power cut
// now, line by line. And it can run something in the middle of an operation: before its n-th read,
// flush or fence, or behind each store and fence.
#pragma once

#include <atomic>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "engine/cceh/table.hpp"
#include "engine/gphash/table.hpp"
#include "engine/level/table.hpp"
#include "engine/turbo/table.hpp"
#include "media/mapping.hpp"
#include "media/medium.hpp"
#include "persist/pool.hpp"

namespace durahash::test {

class probing_medium : public direct_access {
 public:
  static constexpr bool visible_is_durable = false;
  explicit probing_medium(const std::byte* base) : base_(base) {}

  template <class T>
  T read(const T* at) noexcept {
    reads_.store(reads() + 1, std::memory_order_relaxed);  // about: threads may meet
    step();
    return direct_access::read(at);
  }
  template <class T>
  void write(T* at, T value) {
    direct_access::write(at, value);
    tell();
  }
  void write_bytes(void* at, const void* from, std::size_t bytes) {
    direct_access::write_bytes(at, from, bytes);
    tell();
  }
  void flush(const void* at, std::size_t bytes) {
    if (!serves_this_thread()) return;
    step();
    if (forget_every != 0 && ++flushes_ % forget_every == 0) return;
    auto first = align_down(offset_of(at), line_bytes);
    for (auto line = first; line < offset_of(at) + bytes; line += line_bytes)
      std::memcpy(started_[line].data(), base_ + line, line_bytes);
  }
  void fence() {
    if (!serves_this_thread()) return;
    step();
    for (auto& [line, content] : started_) {
      if (interrupting_) fenced_.insert(line);
      if (image_.size() < line + line_bytes) image_.resize(line + line_bytes);
      std::memcpy(image_.data() + line, content.data(), line_bytes);
    }
    started_.clear();
    ++fences_;
    tell();
  }
  int fences() const { return fences_; }
  media_counts counts() const { return {}; }

  /// Runs `what` before the n-th step from now, once. Steps inside `what` do not count.
  void interrupt_at(int n, std::function<void()> what) {
    countdown_ = n;
    interruption_ = std::move(what);
  }
  /// Whether it ran since.
  bool interrupted() const { return countdown_ <= 0; }
  void stop_interrupting() { countdown_ = -1, interruption_ = nullptr; }

  std::uint64_t reads() const noexcept { return reads_.load(std::memory_order_relaxed); }
  const std::vector<std::byte>& image() const { return image_; }
  /// What was there before.
  void starts_with(std::vector<std::byte> image) { image_ = std::move(image); }

  std::function<void()> watcher;               // told of every store and every fence
  int forget_every = 0;                        // a fault to plant: each n-th flush does nothing
  std::optional<std::thread::id> serves_only;  // what others flush and fence comes to nothing

 private:
  std::size_t offset_of(const void* at) const {
    return static_cast<std::size_t>(static_cast<const std::byte*>(at) - base_);
  }
  bool serves_this_thread() const {
    return !serves_only || *serves_only == std::this_thread::get_id();
  }
  void tell() {
    if (watcher) watcher();
  }
  /// What interrupts is another thread: its fence is not for write-backs that were started here,
  /// unless it has started the same again.
  void step() {
    if (!interruption_ || --countdown_ != 0) return;
    auto what = std::exchange(interruption_, nullptr);
    auto waiting = std::exchange(started_, {});
    fenced_.clear();
    interrupting_ = true;
    what();
    interrupting_ = false;
    std::erase_if(waiting, [&](const auto& one) { return fenced_.contains(one.first); });
    started_ = std::move(waiting);
  }

  const std::byte* base_;
  std::map<std::size_t, std::array<std::byte, line_bytes>> started_;
  std::set<std::size_t> fenced_;
  std::vector<std::byte> image_;
  std::atomic<std::uint64_t> reads_{0};
  bool interrupting_ = false;
  int countdown_ = -1, flushes_ = 0, fences_ = 0;
  std::function<void()> interruption_;
};

static_assert(medium<probing_medium>);

inline std::unique_ptr<mapping> memory() {
  return std::move(*mapping::open(
      {.path = {}, .medium = medium_kind::memory, .address_space_bytes = std::uint64_t{1} << 32}));
}

struct turbo_engine {
  static constexpr engine_kind which = engine_kind::turbo;
  template <class M, class Kind>
  using table = turbo::table<M, Kind>;
};
struct cceh_engine {
  static constexpr engine_kind which = engine_kind::cceh;
  template <class M, class Kind>
  using table = cceh::table<M, Kind>;
};
struct level_engine {
  static constexpr engine_kind which = engine_kind::level;
  template <class M, class Kind>
  using table = level::table<M, Kind>;
};

struct gphash_engine {
  static constexpr engine_kind which = engine_kind::gphash;
  template <class M, class Kind>
  using table = gphash::table<M, Kind>;
};

/// Keys of so many bytes, in the slots.
template <std::size_t Bytes>
struct fixed_keys : fixed_records {
  static constexpr std::size_t key_bytes = Bytes;
};

/// A table over a medium of the test's choice, with what it stands on.
template <class M, class Kind, class Engine = turbo_engine>
struct rig {
  using table_type = typename Engine::template table<M, Kind>;
  using key_type = typename Kind::key_type;
  using value_type = typename Kind::value_type;

  M* m = nullptr;
  std::unique_ptr<pool<M>> p;
  std::unique_ptr<table_type> t;

  status put(key_type key, value_type value);
  status erase(key_type key);
  std::optional<std::conditional_t<Kind::in_slot, std::uint64_t, std::string>> get(key_type key);
};

// not inline: instances.hpp has them compiled once

template <class M, class Kind, class Engine>
status rig<M, Kind, Engine>::put(key_type key, value_type value) {
  return t->write(
      key, [&](const std::optional<value_type>&) { return decision<value_type>::set(value); });
}
template <class M, class Kind, class Engine>
status rig<M, Kind, Engine>::erase(key_type key) {
  return t->write(key, [&](const std::optional<value_type>& present) {
    return present ? decision<value_type>::remove() : decision<value_type>::keep(status::not_found);
  });
}
template <class M, class Kind, class Engine>
std::optional<std::conditional_t<Kind::in_slot, std::uint64_t, std::string>>
rig<M, Kind, Engine>::get(key_type key) {
  std::optional<std::conditional_t<Kind::in_slot, std::uint64_t, std::string>> found;
  if (t->get(key, [&](value_type value) { found.emplace(value); }) != status::ok) found.reset();
  return found;
}

template <class Engine>
superblock block_for(const options& how, bool words) {
  auto plan = Engine::template table<probing_medium, word_records>::plan(how);
  data_kind kind = words ? data_kind::u64 : data_kind::bytes;
  superblock b = new_superblock(Engine::which, kind, kind, durability_level::power, plan->settings,
                                plan->engine_bytes);
  b.seed_flip = 0x0123456789abcdef;
  b.seed_multiply = 0x9e3779b97f4a7c15;
  return b;
}

template <class M, class Kind, class Engine>
std::unique_ptr<rig<M, Kind, Engine>> make_rig(const superblock& block) {
  auto made = std::make_unique<rig<M, Kind, Engine>>();
  auto map = memory();
  auto m = std::make_unique<M>(map->base());
  made->m = m.get();
  made->p = std::move(*pool<M>::create(std::move(map), std::move(m), block));
  made->t = std::make_unique<typename rig<M, Kind, Engine>::table_type>(*made->p);
  error e = made->t->open("test");
  durahash::check(e.code == status::ok, e.message.c_str());
  return made;
}

template <class M, class Kind, class Engine = turbo_engine>
std::unique_ptr<rig<M, Kind, Engine>> make_rig(options how = {}) {
  if constexpr (Kind::fixed_key) how.settings["key_bytes"] = Kind::key_bytes;
  return make_rig<M, Kind, Engine>(block_for<Engine>(how, Kind::in_slot));
}

/// What a machine finds that lost its power with this image on the medium, before the table is
/// opened; nothing if there is no pool.
template <class M, class Kind, class Engine = turbo_engine>
std::unique_ptr<rig<M, Kind, Engine>> found_after_power_cut(const std::vector<std::byte>& image) {
  auto map = memory();
  map->grow(align_up(image.size(), page_bytes) + (1 << 20));
  (void)::madvise(map->base(), align_up(image.size(), page_bytes), MADV_POPULATE_WRITE);
  std::memcpy(map->base(), image.data(), image.size());
  auto block = read_superblock(map->base(), map->backed_bytes(), false, "image");
  if (!block) return nullptr;
  auto root = read_root(map->base(), map->backed_bytes(), *block, "image");
  if (!root) return nullptr;
  map->grow(root->pool_bytes);
  auto made = std::make_unique<rig<M, Kind, Engine>>();
  auto m = std::make_unique<M>(map->base());
  made->m = m.get();
  if constexpr (requires { m->starts_with(image); }) m->starts_with(image);
  made->p = std::make_unique<pool<M>>(std::move(map), std::move(m), *block, *root);
  made->t = std::make_unique<typename rig<M, Kind, Engine>::table_type>(*made->p);
  return made;
}

/// The same, opened; nothing if it does not open. The medium may be prepared before.
template <class M, class Kind, class Engine = turbo_engine>
std::unique_ptr<rig<M, Kind, Engine>> after_power_cut(
    const std::vector<std::byte>& image, const std::function<void(M&)>& prepare = nullptr) {
  auto found = found_after_power_cut<M, Kind, Engine>(image);
  if (found && prepare) prepare(*found->m);
  if (!found || found->t->open("image").code != status::ok) return nullptr;
  return found;
}

}  // namespace durahash::test
