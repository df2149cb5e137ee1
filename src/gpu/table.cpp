#include "gpu/table.hpp"

#include <filesystem>
#include <mutex>
#include <vector>

#include "base/process_mark.hpp"
#include "gpu/pins.hpp"
#include "gpu/pool_copy.hpp"
#include "gpu/row_source.hpp"
#include "store/open.hpp"

namespace durahash::gpu {

// ------------------------------------------------------------------------------------------- parts

class table::part {
 public:
  part(std::unique_ptr<detail::bytes_table> table, std::unique_ptr<device> d,
       const device_options& on)
      : table_(std::move(table)),
        pool_(row_source_of(*table_)),
        durability_(table_->kinds().durability),
        device_(std::move(d)),
        place_(on.place),
        pins_(*device_) {}
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

  status find(const row_batch& b, stream on) {
    std::scoped_lock lock(gate_);
    if (!table_) return status::closed;
    if (failure_.code != status::ok) return status::io_error;
    if (!reaches(b) || device_->captures(on)) return status::invalid_argument;
    if (b.missed.count != nullptr) device_->fill(b.missed.count, 0, sizeof *b.missed.count, on);
    return device_->find_rows(rows_, b, on) ? status::ok : status::io_error;
  }
  status gather(const gather_batch& b, stream on) {
    std::scoped_lock lock(gate_);
    if (!table_) return status::closed;
    if (failure_.code != status::ok) return status::io_error;
    if (!is_known(b.how) || !reaches(b) || device_->captures(on)) return status::invalid_argument;
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

  /// Calls with the pool, beside the finds that are under way, or answers `none` if it is closed.
  template <class Call, class None>
  None ask(Call&& call, None none) {
    std::scoped_lock lock(gate_);
    return table_ ? call(*table_) : none;
  }

  /// Calls when the finds are done: records and levels may move, and the pool may get shorter.
  template <class Call>
  status move(Call&& call) {
    std::scoped_lock lock(gate_);
    if (!table_) return status::closed;
    finish_finds();
    pins_.release();
    status answer = status::ok;
    error shown = changing([&] { answer = call(*table_); }, [&] { return show_all(); });
    return answer != status::ok ? answer : shown.code;
  }

  enum class action { put, insert, update, erase };
  status write(action what, std::size_t n, const void* keys, const void* values,
               std::size_t value_bytes, status* answers) {
    std::scoped_lock lock(gate_);
    if (!table_) return status::closed;
    if (value_bytes > max_value_bytes || (n != 0 && (keys == nullptr || answers == nullptr ||
                                                     (values == nullptr && value_bytes != 0))))
      return status::invalid_argument;
    finish_finds();
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
    pins_.release();
    copy_.reset();
    status closed = table_->close();
    table_.reset();
    return closed;
  }

 private:
  static constexpr std::size_t max_bytes_at_once = std::size_t{16} << 20;

  struct piece {
    std::size_t count;
    const std::byte *keys, *values;
    std::size_t value_bytes;
    status* answers;
  };

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

  error write_piece(action what, const piece& p) {
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
  void write_rows(action what, std::span<const std::string_view> keys,
                  std::span<const std::string_view> values, std::vector<status>& answers) {
    using detail::write_mode;
    if (what == action::put) return table_->put_many(keys, values.data(), answers.data());
    if (what == action::erase) return table_->erase_many(keys, answers.data());
    for (std::size_t i = 0; i < keys.size(); ++i)
      answers[i] = table_->write(what == action::insert ? write_mode::insert : write_mode::update,
                                 keys[i], values[i]);
  }

  /// The pool as it is now, to the device.
  error show_all() {
    // before the memory, which only grows: no record lies outside of what is shown
    leased_rows home = pool_->rows();
    error e = copy_ ? copy_->make(pool_->memory()) : pins_.take(pool_->memory());
    shown_top_ = home.table.log2[0];
    rows_ = copy_ && e.code == status::ok ? home.copied_to(copy_->at()) : home;
    return e;
  }
  error show_changes(std::span<const std::string_view> keys, std::span<const status> answers) {
    leased_rows home = pool_->rows();
    // writes change no levels but by a larger one on top
    bool grown = home.table.log2[0] != shown_top_;
    if (!copy_ || grown || !copy_->has_room_for(home.end)) return show_all();
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
  error failure_{status::ok, {}};  // of the device, or of showing it the pool: no finds after that
  leased_rows rows_ = leased_rows::none();
  unsigned shown_top_ = 0;
};

// ------------------------------------------------------------------------------------------- table

table::table(std::unique_ptr<part> made) : part_(std::move(made)) {}
table::table(table&&) noexcept = default;
table& table::operator=(table&&) noexcept = default;
table::~table() = default;

result<table> open_rows_on(std::unique_ptr<device> d, const std::string& path, options how,
                           const device_options& on) {
  auto refused = [](std::string why) { return error{status::invalid_argument, std::move(why)}; };
  if (on.place > table_place::device_mirror)
    return refused("device_options.place is no table_place");
  if (on.cache_percent != 0)
    return refused(
        "buckets of a pool with byte values have no copies on a device: "
        "device_options.cache_percent is for gpu::map");
  if (!how.engine && how.mode != open_mode::read_only) how.engine = engine_kind::gphash;
  if (how.engine && *how.engine != engine_kind::gphash)
    return refused("a device searches pools of the engine gphash alone");
  if (how.mode == open_mode::read_beside)
    return refused("a device reads no pool beside a writer: the mode read_beside is not for it");
  if (how.medium == medium_kind::emulated)
    return refused("a device cannot use the medium " + std::string(name_of(how.medium)));
  std::error_code unknown;  // then opening tells
  bool is_new =
      path.empty() || how.medium == medium_kind::memory || !std::filesystem::exists(path, unknown);
  bool has_key_length = how.settings.contains("key_bytes") && how.settings.at("key_bytes") != 0;
  if (is_new && !how.key) how.key = has_key_length ? data_kind::bytes : data_kind::u64;
  if (is_new && !how.value) how.value = data_kind::bytes;
  const std::string other_keys =
      "a device searches keys of one length: u64 ones, or those of a pool that is made with the "
      "setting key_bytes";
  if (is_new && *how.key == data_kind::bytes && !has_key_length) return refused(other_keys);
  if (how.key == data_kind::u64 && how.value == data_kind::u64)
    return refused("a pool of u64 keys and u64 values is for gpu::map");
  auto opened = open_pool(path, how);
  if (!opened) return opened.failure();
  if (opened->words) return refused("a pool of u64 keys and u64 values is for gpu::map");
  if (opened->bytes->kinds().engine != engine_kind::gphash)
    return refused("a device searches pools of the engine gphash alone");
  bool keys_of_one_length = opened->bytes->kinds().key == data_kind::u64;
  auto made = std::make_unique<table::part>(std::move(opened->bytes), std::move(d), on);
  if (!made->readable())
    return refused(keys_of_one_length ? "a device cannot use this pool's medium" : other_keys);
  if (error e = made->start(); e.code != status::ok) return e;
  return table(std::move(made));
}

result<table> table::open(const std::string& path, const options& how, const device_options& on) {
  auto found = cuda_device(on.number);
  if (!found) return found.failure();
  return open_rows_on(std::move(*found), path, how, on);
}

std::size_t table::key_bytes() const { return part_.here() ? part_->key_bytes() : 0; }

status table::find_async(std::size_t n, const void* keys, void* values, std::size_t value_bytes,
                         status* answers, stream on, std::uint32_t* lengths,
                         const missed_keys& missed) {
  return part_.here()
             ? part_->find({n, static_cast<const std::uint64_t*>(keys),
                            static_cast<std::byte*>(values), value_bytes, lengths, answers, missed},
                           on)
             : part_.refusal();
}
status table::locate_async(std::size_t n, const void* keys, const void** places,
                           std::uint32_t* lengths, status* answers, stream on,
                           const missed_keys& missed) {
  if (!part_.here()) return part_.refusal();
  if (n != 0 && (places == nullptr || lengths == nullptr)) return status::invalid_argument;
  return part_->find(
      {n, static_cast<const std::uint64_t*>(keys), nullptr, 0, lengths, answers, missed, places},
      on);
}
status table::gather_async(std::size_t n, const void* keys, const gathering& how, void* rows,
                           status* answers, stream on, const missed_keys& missed) {
  return part_.here() ? part_->gather({n, static_cast<const std::uint64_t*>(keys), how,
                                       static_cast<std::byte*>(rows), answers, missed},
                                      on)
                      : part_.refusal();
}
status table::wait(stream on, std::string* why) {
  error e = part_.here() ? part_->wait(on) : error{part_.refusal(), {}};
  if (why != nullptr) *why = e.message;
  return e.code;
}
status table::put(std::size_t n, const void* keys, const void* values, std::size_t value_bytes,
                  status* answers) {
  return part_.here() ? part_->write(part::action::put, n, keys, values, value_bytes, answers)
                      : part_.refusal();
}
status table::insert(std::size_t n, const void* keys, const void* values, std::size_t value_bytes,
                     status* answers) {
  return part_.here() ? part_->write(part::action::insert, n, keys, values, value_bytes, answers)
                      : part_.refusal();
}
status table::update(std::size_t n, const void* keys, const void* values, std::size_t value_bytes,
                     status* answers) {
  return part_.here() ? part_->write(part::action::update, n, keys, values, value_bytes, answers)
                      : part_.refusal();
}
status table::erase(std::size_t n, const void* keys, status* answers) {
  return part_.here() ? part_->write(part::action::erase, n, keys, nullptr, 0, answers)
                      : part_.refusal();
}

status table::reserve(std::uint64_t records) {
  return part_.here() ? part_->move([&](detail::bytes_table& t) { return t.reserve(records); })
                      : part_.refusal();
}
status table::compact() {
  return part_.here() ? part_->move([](detail::bytes_table& t) { return t.compact(); })
                      : part_.refusal();
}
status table::sync() {
  return part_.here() ? part_->ask([](detail::bytes_table& t) { return t.sync(); }, status::closed)
                      : part_.refusal();
}
status table::close() { return part_.here() ? part_->close() : part_.refusal(); }
std::uint64_t table::size() {
  return part_.here()
             ? part_->ask([](detail::bytes_table& t) { return t.size(); }, std::uint64_t{0})
             : 0;
}
pool_info table::info() {
  return part_.here() ? part_->ask([](detail::bytes_table& t) { return t.info(); }, pool_info{})
                      : pool_info{};
}
table_stats table::stats() {
  return part_.here() ? part_->ask([](detail::bytes_table& t) { return t.stats(); }, table_stats{})
                      : table_stats{};
}
check_report table::check() {
  check_report none{
      .ok = false, .records = 0, .violations = {std::string(message(part_.refusal()))}};
  return part_.here() ? part_->ask([](detail::bytes_table& t) { return t.check(); }, none) : none;
}
std::vector<std::string> table::salvage_report() const {
  std::vector<std::string> none;
  return part_.here() ? part_->ask([](detail::bytes_table& t) { return t.salvage_report(); }, none)
                      : none;
}
table_place table::place() const { return part_.here() ? part_->place() : table_place::automatic; }
durability_level table::durability() const {
  return part_.here() ? part_->durability() : durability_level::none;
}
void table::view(leased_rows& into) {
  if (part_.here()) part_->view(into);
}

}  // namespace durahash::gpu
