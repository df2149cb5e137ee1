// What a gpu::table does: rows of a pool that a device looks up, and who writes them: the device,
// where it reaches the pool itself, or the processor.
#pragma once

#include <mutex>
#include <vector>

#include "base/process_mark.hpp"
#include "gpu/cache.hpp"
#include "gpu/pins.hpp"
#include "gpu/pool_copy.hpp"
#include "gpu/row_batches.hpp"
#include "gpu/table.hpp"

namespace durahash::gpu {

class table::part {
 public:
  part(std::unique_ptr<detail::bytes_table> table, std::unique_ptr<device> d,
       const device_options& on)
      : table_(std::move(table)),
        pool_(row_source_of(*table_)),
        durability_(table_->kinds().durability),
        device_(std::move(d)),
        place_(on.place),
        pins_(*device_) {
    if (pool_) batches_.emplace(*device_, *pool_);
    if (on.cache_percent != 0) cache_.emplace(*device_, on.cache_percent, on.policy);
  }
  ~part() { static_cast<void>(close()); }

  /// Not in a fork of it.
  bool opened_here() const noexcept { return *opened_by_ != 0; }

  bool readable() const noexcept { return pool_ != nullptr; }
  table_place place() const noexcept { return place_; }
  durability_level durability() const noexcept { return durability_; }
  std::size_t key_bytes() const noexcept { return key_bytes_; }

  error start() {
    key_bytes_ = pool_->rows().key_bytes;
    if (error e = pins_.settle(place_, pool_->memory()); e.code != status::ok) return e;
    if (place_ != table_place::pool)
      copy_.emplace(*device_,
                    place_ == table_place::device_mirror ? memory_kind::own : memory_kind::shared);
    // what a crash left visible is durable when all is counted; a device writes nothing back
    static_cast<void>(table_->size());
    return show_all();
  }

  status find(row_batch b, stream on) {
    std::scoped_lock lock(gate_);
    if (!table_) return status::closed;
    if (failure_.code != status::ok) return status::io_error;
    if (!reaches(b) || device_->captures(on)) return status::invalid_argument;
    b.now = ++searches_;
    if (b.missed.count != nullptr) device_->fill(b.missed.count, 0, sizeof *b.missed.count, on);
    return device_->find_rows(rows_, b, on) ? status::ok : status::io_error;
  }
  status gather(gather_batch b, stream on) {
    std::scoped_lock lock(gate_);
    if (!table_) return status::closed;
    if (failure_.code != status::ok) return status::io_error;
    if (!is_known(b.how) || !reaches(b) || device_->captures(on)) return status::invalid_argument;
    b.now = ++searches_;
    if (b.missed.count != nullptr) device_->fill(b.missed.count, 0, sizeof *b.missed.count, on);
    return device_->gather_rows(rows_, b, on) ? status::ok : status::io_error;
  }
  error wait(stream on) {
    if (device_->captures(on))
      return {status::invalid_argument, "the stream is being captured into a CUDA graph"};
    error waited = device_->wait(on);  // others go on meanwhile
    std::scoped_lock lock(gate_);
    if (!table_) return {status::closed, {}};
    if (waited.code != status::ok) failed(waited);
    return {failure_.code == status::ok ? status::ok : status::io_error, failure_.message};
  }
  void view(leased_rows& into) {
    std::scoped_lock lock(gate_);
    if (table_ && failure_.code == status::ok) into = rows_;
  }

  status load_cache() {
    std::scoped_lock lock(gate_);
    if (status s = state(); s != status::ok) return s;
    finish_finds();
    if (failure_.code != status::ok) return status::io_error;
    if (!cache_) return status::ok;
    error loaded = cache_->load();
    return loaded.code == status::ok ? status::ok : failed(loaded).code;
  }
  cache_figures cache_now() {
    std::scoped_lock lock(gate_);
    if (!cache_ || !table_) return {};
    finish_finds();
    const tallies now = device_->counted();
    return {cache_->copies(), cache_->loads(), now.looks, now.copies};
  }

  /// Calls with the pool, beside the finds that are under way; or answers `none` if it is closed,
  /// or nobody knows what the device did to it.
  template <class Call, class None>
  None ask(Call&& call, None none) {
    std::scoped_lock lock(gate_);
    if (!table_ || batches_->is_lost()) return none;
    return call(*table_);
  }

  status sync() {
    std::scoped_lock lock(gate_);
    status s = state();
    return s == status::ok ? table_->sync() : s;
  }

  /// Calls when the finds are done: records and levels may move, and the pool may get shorter.
  template <class Call>
  status move(Call&& call) {
    std::scoped_lock lock(gate_);
    if (status s = state(); s != status::ok) return s;
    finish_finds();
    pins_.release();
    status answer = status::ok;
    rows_ = leased_rows::none();  // of what the device had copies, or knew
    error shown = changing([&] { answer = call(*table_); }, [&] { return show_all(); });
    return answer != status::ok ? answer : shown.code;
  }

  status write(row_action what, std::size_t n, const void* keys, const void* values,
               std::size_t value_bytes, status* answers) {
    std::scoped_lock lock(gate_);
    if (status s = state(); s != status::ok) return s;
    if (value_bytes > max_value_bytes || (n != 0 && (keys == nullptr || answers == nullptr ||
                                                     (values == nullptr && value_bytes != 0))))
      return status::invalid_argument;
    finish_finds();
    if (n >= row_batches::least && device_writes(value_bytes)) {
      const row_batches::piece all{what,
                                   n,
                                   static_cast<const std::byte*>(keys),
                                   static_cast<const std::byte*>(values),
                                   value_bytes,
                                   answers};
      if (batches_->make_room(std::min(n, rows_at_once(value_bytes)), key_bytes_, value_bytes) ==
          status::ok)
        return write_on_device(all);
    }
    error first_failure{status::ok, {}};
    std::size_t at_once = std::clamp<std::size_t>(max_bytes_at_once / (key_bytes_ + value_bytes), 1,
                                                  std::max<std::size_t>(n, 1));
    for (std::size_t first = 0; first < n; first += at_once) {
      auto at = [first](const void* array, std::size_t bytes) {
        return array == nullptr ? nullptr : static_cast<const std::byte*>(array) + first * bytes;
      };
      piece p{std::min(at_once, n - first), at(keys, key_bytes_), at(values, value_bytes),
              value_bytes, answers + first};
      error done = write_piece(what, p);
      if (first_failure.code == status::ok) first_failure = done;
      if (done.code == status::io_error) break;  // the device does not even copy
    }
    return first_failure.code;
  }

  status close() {
    std::scoped_lock lock(gate_);
    if (!table_) return status::closed;
    finish_finds();
    const bool lost = batches_ && batches_->is_lost();
    batches_.reset();
    cache_.reset();
    pins_.release();
    copy_.reset();
    if (owns_ && !lost) pool_->disown();  // else nobody knows whether the device is done
    status closed = table_->close();
    table_.reset();
    return lost ? status::io_error : closed;
  }

 private:
  static constexpr std::size_t max_bytes_at_once = std::size_t{16} << 20;

  struct piece {
    std::size_t count;
    const std::byte *keys, *values;
    std::size_t value_bytes;
    status* answers;
  };

  status state() const noexcept {
    return !table_ ? status::closed : batches_->is_lost() ? status::io_error : status::ok;
  }
  /// A kernel's access at another address would end all work of the process's on the device.
  static bool is_aligned(const void* array, std::size_t to) {
    return reinterpret_cast<std::uintptr_t>(array) % to == 0;
  }
  bool reaches(const row_batch& b) const {
    return is_aligned(b.keys, sizeof *b.keys) && device_->reaches(b.keys, b.count * key_bytes_) &&
           (b.values == nullptr || device_->reaches(b.values, b.count * b.value_bytes)) &&
           (b.lengths == nullptr || device_->reaches(b.lengths, b.count * sizeof(std::uint32_t))) &&
           device_->reaches(b.answers, b.count * sizeof(status)) &&
           (b.places == nullptr || device_->reaches(b.places, b.count * sizeof *b.places)) &&
           gpu::reaches(*device_, b.missed, b.count);
  }
  static bool is_known(const gathering& how) {
    return how.from <= element::bfloat16 && how.to <= element::bfloat16 &&
           how.how <= pooling::mean && how.width != 0 && how.width <= max_value_bytes;
  }
  bool reaches(const gather_batch& b) const {
    return b.bags() <= ~std::size_t{0} / b.row_bytes() && is_aligned(b.keys, sizeof *b.keys) &&
           is_aligned(b.rows, bytes_of(b.how.to)) &&
           device_->reaches(b.keys, b.count * key_bytes_) &&
           device_->reaches(b.rows, b.bags() * b.row_bytes()) &&
           (b.how.offsets == nullptr ||
            device_->reaches(b.how.offsets, (b.bags() + 1) * sizeof *b.how.offsets)) &&
           device_->reaches(b.answers, b.count * sizeof(status)) &&
           gpu::reaches(*device_, b.missed, b.count);
  }
  error failed(const error& e) {
    if (failure_.code == status::ok) failure_ = e;
    return e;
  }
  void finish_finds() {
    if (error e = device_->wait_for_all(); e.code != status::ok) failed(e);
  }
  /// A change of the pool, and what shows it to the device. In between, and if one of them does not
  /// return, no find begins. A device that has failed is shown nothing.
  template <class Change, class Show>
  error changing(Change&& change, Show&& show) {
    bool shows = failure_.code == status::ok;
    if (shows)
      failure_ = {status::io_error, "a write was broken off: the device may not see all of it"};
    change();
    if (!shows) return {status::ok, {}};
    return failure_ = show();
  }
  error copy(void* to, const void* from, std::size_t bytes) {
    error done = bytes == 0 ? error{status::ok, {}} : device_->copy(to, from, bytes);
    return done.code == status::ok ? done : failed({status::io_error, done.message});
  }

  // Writes by the device
  // ------------------------------------------------------------------------

  bool device_writes(std::uint64_t value_bytes) const noexcept {
    return place_ == table_place::pool && failure_.code == status::ok && pool_->takes_rows() &&
           rows_at_once(value_bytes) >= row_batches::least;
  }
  /// Of keys and values 64 MiB, so that values have up to 2 MiB.
  std::size_t rows_at_once(std::uint64_t value_bytes) const noexcept {
    constexpr std::uint64_t most_bytes = std::uint64_t{64} << 20;
    static_assert(most_bytes / row_batches::least <= record_shape::longest_short_value);
    return std::min<std::size_t>(row_batches::most, most_bytes / (key_bytes_ + value_bytes));
  }
  status write_on_device(const row_batches::piece& all) {
    if (!std::exchange(owns_, true)) pool_->own();
    const std::size_t at_once = rows_at_once(all.value_bytes);
    for (std::size_t first = 0; first < all.count; first += at_once) {
      row_batches::piece p = all;
      p.count = std::min(at_once, all.count - first);
      p.keys += first * key_bytes_;
      if (p.values != nullptr) p.values += first * p.value_bytes;
      p.answers += first;
      failure_ = {status::io_error, "a write was broken off: the device may not see all of it"};
      failure_ = batches_->write(p, rows_, [&] { return show_all(); });
      if (failure_.code != status::ok) return failure_.code;
    }
    return status::ok;
  }

  // Writes by the processor
  // ---------------------------------------------------------------------

  error write_piece(row_action what, const piece& p) {
    std::vector<char> keys(p.count * key_bytes_),
        values(p.values == nullptr ? 0 : p.count * p.value_bytes);
    if (error e = copy(keys.data(), p.keys, keys.size()); e.code != status::ok) return e;
    if (error e = copy(values.data(), p.values, values.size()); e.code != status::ok) return e;
    std::vector<std::string_view> key_views(p.count), value_views(p.count);
    for (std::size_t i = 0; i < p.count; ++i) {
      key_views[i] = {keys.data() + i * key_bytes_, key_bytes_};
      if (p.values != nullptr) value_views[i] = {values.data() + i * p.value_bytes, p.value_bytes};
    }
    std::vector<status> answers(p.count);
    error shown = changing([&] { write_rows(what, key_views, value_views, answers); },
                           [&] { return show_changes(key_views, answers); });
    if (error e = copy(p.answers, answers.data(), p.count * sizeof(status)); e.code != status::ok)
      return e;
    return shown;
  }
  void write_rows(row_action what, std::span<const std::string_view> keys,
                  std::span<const std::string_view> values, std::vector<status>& answers) {
    using detail::write_mode;
    if (what == row_action::put) return table_->put_many(keys, values.data(), answers.data());
    if (what == row_action::erase) return table_->erase_many(keys, answers.data());
    for (std::size_t i = 0; i < keys.size(); ++i)
      answers[i] = table_->write(
          what == row_action::insert ? write_mode::insert : write_mode::update, keys[i], values[i]);
  }

  /// The pool as it is now, to the device.
  error show_all() {
    // before the memory, which only grows: no record lies outside of what is shown
    leased_rows home = pool_->rows();
    error e = copy_ ? copy_->make(pool_->memory()) : pins_.take(pool_->memory());
    shown_top_ = home.table.log2[0];
    const bool same_levels = std::equal(std::begin(home.table.levels), std::end(home.table.levels),
                                        std::begin(rows_.table.levels));
    rows_ = copy_ && e.code == status::ok ? home.copied_to(copy_->at()) : home;
    // without memory for copies it goes on without
    if (cache_ && !same_levels) static_cast<void>(cache_->begin(rows_.table));
    return e;
  }
  error show_changes(std::span<const std::string_view> keys, std::span<const status> answers) {
    leased_rows home = pool_->rows();
    // writes change no levels but by a larger one on top
    bool grown = home.table.log2[0] != shown_top_;
    if (!copy_ || grown || !copy_->has_room_for(home.end)) {
      error shown = show_all();
      return cache_ && shown.code == status::ok ? cache_->refresh() : shown;
    }
    std::vector<std::uint64_t> blocks;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (answers[i] != status::ok) continue;
      pool_->for_each_extent_of(keys[i], [&](std::uint64_t offset, std::uint64_t bytes) {
        for (std::uint64_t block = offset / block_bytes;
             block <= (offset + bytes - 1) / block_bytes; ++block)
          blocks.push_back(block);
      });
    }
    rows_ = home.copied_to(copy_->at());
    return copy_->bring(pool_->memory(), blocks);
  }

  const volatile unsigned char* opened_by_ = this_process_mark();
  std::unique_ptr<detail::bytes_table> table_;
  std::unique_ptr<row_source> pool_;
  durability_level durability_;
  std::unique_ptr<device> device_;
  table_place place_;
  std::size_t key_bytes_ = 0;
  std::mutex gate_;  // of what follows; finds begin under it
  pins pins_;
  std::optional<pool_copy> copy_;
  std::optional<cached_buckets> cache_;
  std::uint32_t searches_ = 0;  // batches of them
  std::optional<row_batches> batches_;
  bool owns_ = false;
  error failure_{status::ok, {}};  // of the device, or of showing it the pool: no finds after that
  leased_rows rows_ = leased_rows::none();
  unsigned shown_top_ = 0;
};

}  // namespace durahash::gpu
