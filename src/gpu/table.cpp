#include "gpu/table.hpp"

#include <filesystem>

#include "gpu/table_part.hpp"
#include "store/open.hpp"

namespace durahash::gpu {

table::table(std::unique_ptr<part> made) : part_(std::move(made)) {}
table::table(table&&) noexcept = default;
table& table::operator=(table&&) noexcept = default;
table::~table() = default;

result<table> open_rows_on(std::unique_ptr<device> d, const std::string& path, options how,
                           const device_options& on) {
  auto refused = [](std::string why) { return error{status::invalid_argument, std::move(why)}; };
  if (on.place > table_place::device_mirror)
    return refused("device_options.place is no table_place");
  if (on.cache_percent > 90)
    return refused("device_options.cache_percent is " + std::to_string(on.cache_percent) +
                   "; it may be up to 90");
  const std::string copies_of_mirrors =
      "copies of buckets (device_options.cache_percent) are for rows in the pool itself, and not "
      "for a mirror";
  if (on.cache_percent != 0 && on.place > table_place::pool) return refused(copies_of_mirrors);
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
  if (on.cache_percent != 0 && made->place() != table_place::pool)
    return refused(copies_of_mirrors + ", which this one is: its memory cannot be pinned");
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
  return part_.here() ? part_->write(row_action::put, n, keys, values, value_bytes, answers)
                      : part_.refusal();
}
status table::insert(std::size_t n, const void* keys, const void* values, std::size_t value_bytes,
                     status* answers) {
  return part_.here() ? part_->write(row_action::insert, n, keys, values, value_bytes, answers)
                      : part_.refusal();
}
status table::update(std::size_t n, const void* keys, const void* values, std::size_t value_bytes,
                     status* answers) {
  return part_.here() ? part_->write(row_action::update, n, keys, values, value_bytes, answers)
                      : part_.refusal();
}
status table::erase(std::size_t n, const void* keys, status* answers) {
  return part_.here() ? part_->write(row_action::erase, n, keys, nullptr, 0, answers)
                      : part_.refusal();
}

status table::load_cache() { return part_.here() ? part_->load_cache() : part_.refusal(); }
cache_figures table::cache() { return part_.here() ? part_->cache_now() : cache_figures{}; }

status table::reserve(std::uint64_t records) {
  return part_.here() ? part_->move([&](detail::bytes_table& t) { return t.reserve(records); })
                      : part_.refusal();
}
status table::compact() {
  return part_.here() ? part_->move([](detail::bytes_table& t) { return t.compact(); })
                      : part_.refusal();
}
status table::sync() { return part_.here() ? part_->sync() : part_.refusal(); }
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
