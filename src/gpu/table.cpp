#include "gpu/table.hpp"

#include <atomic>
#include <filesystem>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "gpu/pins.hpp"
#include "gpu/pool_copy.hpp"
#include "gpu/row_source.hpp"
#include "store/open.hpp"

namespace durahash::gpu {

// ------------------------------------------------------------------------------------------------------------------- parts

class table::part {
 public:
  part(std::unique_ptr<detail::bytes_table> table, std::unique_ptr<device> d, const device_options& on)
      : table_(std::move(table)), pool_(row_source_of(*table_)), device_(std::move(d)), place_(on.place), pins_(*device_) {}
  ~part() { static_cast<void>(close()); }

  bool readable() const noexcept { return pool_ != nullptr; }
  table_place place() const noexcept { return place_; }
  detail::bytes_table* pool() noexcept { return table_.get(); }
  std::size_t key_bytes() const noexcept { return rows_.key_bytes; }

  error start() {
    if (place_ == table_place::automatic || place_ == table_place::pool) {
      error pinned = pins_.take(pool_->memory());
      if (pinned.code != status::ok) pins_.release();
      if (pinned.code != status::ok && place_ == table_place::pool) return pinned;
      place_ = pinned.code == status::ok ? table_place::pool : table_place::host_mirror;
    }
    if (place_ != table_place::pool) copy_.emplace(*device_, place_ == table_place::device_mirror ? memory_kind::own : memory_kind::shared);
    return show_all();
  }

  status find(const row_batch& b, stream on) {
    std::shared_lock lock(gate_);
    if (!table_) return status::closed;
    if (!shown_) return status::io_error;
    device_->find_rows(rows_, b, on);
    return device_->sound() ? status::ok : status::io_error;
  }
  error wait(stream on) {
    std::shared_lock lock(gate_);
    if (!table_) return {status::closed, {}};
    if (error e = device_->wait(on); e.code != status::ok) return failed(e);
    return {shown_ ? status::ok : status::io_error, {}};
  }
  void view(lent_rows& into) {
    std::shared_lock lock(gate_);
    if (table_ && shown_) into = rows_;
  }

  /// Calls with the finds done, and what follows waiting. `moves`: records or levels may move, and the pool may get shorter.
  template <class Call>
  auto alone(bool moves, Call&& call) -> decltype(call()) {
    std::unique_lock lock(gate_);
    finish_finds();
    if (moves) pins_.release();
    auto answer = call();
    if (moves && table_ && shown_) static_cast<void>(show_all());
    return answer;
  }

  enum class action { put, insert, update, erase };
  status write(action what, std::size_t n, const void* keys, const void* values, std::size_t value_bytes, status* answers) {
    std::unique_lock lock(gate_);
    if (!table_) return status::closed;
    finish_finds();
    std::size_t at_once = std::clamp<std::size_t>(most_bytes_at_once / (key_bytes() + value_bytes), 1, std::max<std::size_t>(n, 1));
    for (std::size_t first = 0; first < n; first += at_once) {
      auto at = [first](const void* array, std::size_t bytes) { return static_cast<const std::byte*>(array) + first * bytes; };
      std::size_t count = std::min(at_once, n - first);
      if (error e = write_piece(what, count, at(keys, key_bytes()), values == nullptr ? nullptr : at(values, value_bytes), value_bytes, answers + first); e.code != status::ok) return e.code;
    }
    return status::ok;
  }

  status close() {
    std::unique_lock lock(gate_);
    if (!table_) return status::closed;
    finish_finds();
    shown_ = false;
    pins_.release();
    copy_.reset();
    status closed = table_->close();
    table_.reset();
    return closed;
  }

 private:
  static constexpr std::size_t most_bytes_at_once = std::size_t{16} << 20;

  /// What fails here fails in the next wait, too, but for what it says.
  void finish_finds() {
    if (error e = device_->wait_for_all(); e.code != status::ok) failed(e);
  }
  error failed(const error& e) {
    shown_ = false;
    return e;
  }

  error write_piece(action what, std::size_t n, const std::byte* keys, const std::byte* values, std::size_t value_bytes, status* answers) {
    std::vector<char> keys_here(n * key_bytes()), values_here(values == nullptr ? 0 : n * value_bytes);
    if (error e = device_->copy(keys_here.data(), keys, keys_here.size()); e.code != status::ok) return failed(e);
    if (error e = device_->copy(values_here.data(), values, values_here.size()); e.code != status::ok) return failed(e);
    std::vector<std::string_view> key_views(n), value_views(n);
    for (std::size_t i = 0; i < n; ++i) {
      key_views[i] = {keys_here.data() + i * key_bytes(), key_bytes()};
      if (values != nullptr) value_views[i] = {values_here.data() + i * value_bytes, value_bytes};
    }
    std::vector<status> done(n);
    switch (what) {
      case action::put: table_->put_many(key_views, value_views.data(), done.data()); break;
      case action::erase: table_->erase_many(key_views, done.data()); break;
      default:
        for (std::size_t i = 0; i < n; ++i)
          done[i] = table_->write(what == action::insert ? detail::write_mode::insert : detail::write_mode::update, key_views[i], value_views[i]);
    }
    if (error e = device_->copy(answers, done.data(), n * sizeof(status)); e.code != status::ok) return failed(e);
    return shown_ ? show_changes(key_views, done) : error{status::ok, {}};
  }

  /// The pool as it is now, to the device.
  error show_all() {
    lent_rows home = pool_->rows();
    error e = copy_ ? copy_->make(pool_->memory()) : pins_.take(pool_->memory());
    shown_ = e.code == status::ok;
    home_levels_ = home.table;
    rows_ = copy_ && shown_ ? home.copied_to(copy_->at()) : home;
    return e;
  }
  error show_changes(std::span<const std::string_view> keys, std::span<const status> done) {
    lent_rows home = pool_->rows();
    if (!copy_ || home.table.levels[0] != home_levels_.levels[0] || !copy_->has_room_for(home.end)) return show_all();
    std::vector<std::uint64_t> blocks;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (done[i] != status::ok) continue;
      pool_->for_each_extent_of(keys[i], [&](std::uint64_t offset, std::uint64_t bytes) {
        for (std::uint64_t block = offset / block_bytes; block <= (offset + bytes - 1) / block_bytes; ++block) blocks.push_back(block);
      });
    }
    error e = copy_->bring(pool_->memory(), blocks);
    if (e.code != status::ok) return failed(e);
    rows_ = home.copied_to(copy_->at());
    return e;
  }

  std::unique_ptr<detail::bytes_table> table_;
  std::unique_ptr<row_source> pool_;
  std::unique_ptr<device> device_;
  table_place place_;
  pins pins_;
  std::optional<pool_copy> copy_;
  std::shared_mutex gate_;          // of what follows: finds share it
  std::atomic<bool> shown_{false};  // the device sees the pool as it is, and works
  lent_rows rows_ = lent_rows::none();
  gphash::lent_table home_levels_ = gphash::lent_table::none();
};

// ------------------------------------------------------------------------------------------------------------------- table

table::table(std::unique_ptr<part> made) : part_(std::move(made)) {}
table::table(table&&) noexcept = default;
table& table::operator=(table&&) noexcept = default;
table::~table() = default;

result<table> open_rows_on(std::unique_ptr<device> d, const std::string& path, options how, const device_options& on) {
  auto refused = [](std::string why) { return error{status::invalid_argument, std::move(why)}; };
  if (on.place > table_place::device_mirror) return refused("device_options.place is no table_place");
  if (on.cache_percent != 0) return refused("buckets of a pool with byte values have no copies on a device: device_options.cache_percent is for gpu::map");
  if (!how.engine && how.mode != open_mode::read_only) how.engine = engine_kind::gphash;
  if (how.engine && *how.engine != engine_kind::gphash) return refused("a device searches pools of the engine gphash alone");
  bool is_new = path.empty() || !std::filesystem::exists(path);
  bool has_key_length = how.settings.contains("key_bytes") && how.settings.at("key_bytes") != 0;
  if (is_new && !how.key) how.key = has_key_length ? data_kind::bytes : data_kind::u64;
  if (is_new && !how.value) how.value = data_kind::bytes;
  const std::string other_keys = "a device searches keys of one length: u64 ones, or those of a pool that is made with the setting key_bytes";
  if (is_new && *how.key == data_kind::bytes && !has_key_length) return refused(other_keys);
  if (how.key == data_kind::u64 && how.value == data_kind::u64) return refused("a pool of u64 keys and u64 values is for gpu::map");
  auto opened = open_pool(path, how);
  if (!opened) return opened.failure();
  if (opened->words) return refused("a pool of u64 keys and u64 values is for gpu::map");
  if (opened->bytes->kinds().engine != engine_kind::gphash) return refused("a device searches pools of the engine gphash alone");
  bool keys_of_one_length = opened->bytes->kinds().key == data_kind::u64;
  auto made = std::make_unique<table::part>(std::move(opened->bytes), std::move(d), on);
  if (!made->readable() && how.medium == medium_kind::emulated) return refused("a device cannot use the medium " + std::string(name_of(how.medium)));
  if (!made->readable()) return refused(keys_of_one_length ? "a device cannot use this pool's medium" : other_keys);
  if (error e = made->start(); e.code != status::ok) return e;
  return table(std::move(made));
}

result<table> table::open(const std::string& path, const options& how, const device_options& on) {
  auto found = cuda_device(on.number);
  if (!found) return found.failure();
  return open_rows_on(std::move(*found), path, how, on);
}

std::size_t table::key_bytes() const { return part_ ? part_->key_bytes() : 0; }

status table::find_async(std::size_t n, const void* keys, void* values, std::size_t value_bytes, status* answers, stream on, std::uint32_t* lengths) {
  return part_ ? part_->find({n, static_cast<const std::uint64_t*>(keys), static_cast<std::byte*>(values), value_bytes, lengths, answers}, on) : status::closed;
}
status table::wait(stream on, std::string* why) {
  error e = part_ ? part_->wait(on) : error{status::closed, {}};
  if (why != nullptr) *why = e.message;
  return e.code;
}
status table::put(std::size_t n, const void* keys, const void* values, std::size_t value_bytes, status* answers) {
  return part_ ? part_->write(part::action::put, n, keys, values, value_bytes, answers) : status::closed;
}
status table::insert(std::size_t n, const void* keys, const void* values, std::size_t value_bytes, status* answers) {
  return part_ ? part_->write(part::action::insert, n, keys, values, value_bytes, answers) : status::closed;
}
status table::update(std::size_t n, const void* keys, const void* values, std::size_t value_bytes, status* answers) {
  return part_ ? part_->write(part::action::update, n, keys, values, value_bytes, answers) : status::closed;
}
status table::erase(std::size_t n, const void* keys, status* answers) {
  return part_ ? part_->write(part::action::erase, n, keys, nullptr, 0, answers) : status::closed;
}

namespace {

/// Calls with the pool; nothing, or `none`, of a closed one.
template <class Part, class Call, class None>
auto with_pool(Part* p, bool moves, Call&& call, None none) {
  if (p == nullptr) return none;
  return p->alone(moves, [&] { return p->pool() == nullptr ? none : call(*p->pool()); });
}

}  // namespace

status table::reserve(std::uint64_t records) {
  return with_pool(part_.get(), true, [&](detail::bytes_table& t) { return t.reserve(records); }, status::closed);
}
status table::compact() {
  return with_pool(part_.get(), true, [](detail::bytes_table& t) { return t.compact(); }, status::closed);
}
status table::sync() {
  return with_pool(part_.get(), false, [](detail::bytes_table& t) { return t.sync(); }, status::closed);
}
status table::close() { return part_ ? part_->close() : status::closed; }
std::uint64_t table::size() {
  return with_pool(part_.get(), false, [](detail::bytes_table& t) { return t.size(); }, std::uint64_t{0});
}
pool_info table::info() {
  return with_pool(part_.get(), false, [](detail::bytes_table& t) { return t.info(); }, pool_info{});
}
table_stats table::stats() {
  return with_pool(part_.get(), false, [](detail::bytes_table& t) { return t.stats(); }, table_stats{});
}
check_report table::check() {
  return with_pool(part_.get(), false, [](detail::bytes_table& t) { return t.check(); }, check_report{.ok = false, .records = 0, .violations = {"the table is closed"}});
}
std::vector<std::string> table::salvage_report() const {
  return with_pool(part_.get(), false, [](detail::bytes_table& t) { return t.salvage_report(); }, std::vector<std::string>());
}
table_place table::place() const { return part_ ? part_->place() : table_place::automatic; }
durability_level table::durability() const {
  return with_pool(part_.get(), false, [](detail::bytes_table& t) { return t.kinds().durability; }, durability_level::none);
}
void table::view(lent_rows& into) {
  if (part_) part_->view(into);
}

}  // namespace durahash::gpu
