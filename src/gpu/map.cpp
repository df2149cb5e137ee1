#include "gpu/map_part.hpp"

namespace durahash::gpu {

map::map(std::unique_ptr<part> made) : part_(std::move(made)) {}
map::map(map&&) noexcept = default;
map& map::operator=(map&&) noexcept = default;
map::~map() = default;

result<map> open_on(std::unique_ptr<device> d, const std::string& path, options how,
                    const device_options& on) {
  constexpr std::uint64_t most = std::uint64_t{1} << 31;
  if (on.max_staged == 0 || on.max_staged > most)
    return error{status::invalid_argument, "device_options.max_staged is " +
                                               std::to_string(on.max_staged) +
                                               ": it must be from 1 to " + std::to_string(most)};
  if (!how.engine && how.mode != open_mode::read_only) how.engine = engine_kind::gphash;
  if (!how.key) how.key = data_kind::u64;
  if (!how.value) how.value = data_kind::u64;
  if (on.place > table_place::device_mirror)
    return error{status::invalid_argument, "device_options.place is no table_place"};
  if (on.cache_percent > 90)
    return error{status::invalid_argument, "device_options.cache_percent is " +
                                               std::to_string(on.cache_percent) +
                                               ": it must be from 0 to 90"};
  if (on.policy > cache_policy::random)
    return error{status::invalid_argument, "device_options.policy is no cache_policy"};
  if (on.cache_percent != 0 && on.place == table_place::device_mirror)
    return error{status::invalid_argument,
                 "a table that is in the device's memory needs no copies of its buckets there"};
  if (how.mode == open_mode::read_only)
    return error{status::invalid_argument,
                 "a device opens a pool to write, too: the mode read_only is not for it"};
  if (how.mode == open_mode::read_beside)
    return error{status::invalid_argument,
                 "a device reads no pool beside a writer: the mode read_beside is not for it"};
  if (*how.engine != engine_kind::gphash)
    return error{status::invalid_argument, "a device searches pools of the engine gphash alone"};
  if (*how.key != data_kind::u64 || *how.value != data_kind::u64)
    return error{status::invalid_argument, "a device searches pools of u64 keys and u64 values"};
  auto opened = open_pool(path, how);
  if (!opened) return opened.failure();
  auto made = std::make_unique<map::part>(std::move(opened->words), std::move(d), on);
  if (!made->leasable())
    return error{status::invalid_argument,
                 "a device cannot use " + (path.empty() ? "this pool" : path) + ": its medium is " +
                     std::string(name_of(made->table().info().medium))};
  if (error e = made->start(); e.code != status::ok) return e;
  return map(std::move(made));
}

result<map> map::open(const std::string& path, const options& how, const device_options& on) {
  auto found = cuda_device(on.number);
  if (!found) return found.failure();
  return open_on(std::move(*found), path, how, on);
}

namespace {

batch writing(action what, std::size_t n, const std::uint64_t* keys, const std::uint64_t* values,
              status* answers) {
  return {what, n, keys, const_cast<std::uint64_t*>(values), answers};  // writes read them
}

template <class Part>
status begin(Part& part, const batch& b, stream on) {
  return part.here() ? part->write(b, on) : part.refusal();
}
template <class Part>
status do_all(Part& part, const batch& b, stream on) {
  return part.here() ? part->write_all(b, on).code : part.refusal();
}

}  // namespace

status map::find_async(std::size_t n, const std::uint64_t* keys, std::uint64_t* values,
                       status* answers, stream on, const missed_keys& missed) {
  batch b{action::find, n, keys, values, answers};
  b.missed = missed;
  return part_.here() ? part_->find(b, on) : part_.refusal();
}
status map::put_async(std::size_t n, const std::uint64_t* keys, const std::uint64_t* values,
                      status* answers, stream on) {
  return begin(part_, writing(action::put, n, keys, values, answers), on);
}
status map::insert_async(std::size_t n, const std::uint64_t* keys, const std::uint64_t* values,
                         status* answers, stream on) {
  return begin(part_, writing(action::insert, n, keys, values, answers), on);
}
status map::update_async(std::size_t n, const std::uint64_t* keys, const std::uint64_t* values,
                         status* answers, stream on) {
  return begin(part_, writing(action::update, n, keys, values, answers), on);
}
status map::find_or_insert_async(std::size_t n, const std::uint64_t* keys, std::uint64_t* values,
                                 status* answers, stream on) {
  return begin(part_, writing(action::find_or_insert, n, keys, values, answers), on);
}
status map::add_async(std::size_t n, const std::uint64_t* keys, const std::uint64_t* values,
                      status* answers, stream on) {
  return begin(part_, writing(action::add, n, keys, values, answers), on);
}
status map::erase_async(std::size_t n, const std::uint64_t* keys, status* answers, stream on) {
  return begin(part_, writing(action::erase, n, keys, nullptr, answers), on);
}
status map::commit(stream on, std::string* why) {
  error e = part_.here() ? part_->commit(on) : error{part_.refusal(), {}};
  if (why != nullptr) *why = e.message;
  return e.code;
}
status map::put(std::size_t n, const std::uint64_t* keys, const std::uint64_t* values,
                status* answers, stream on) {
  return do_all(part_, writing(action::put, n, keys, values, answers), on);
}
status map::insert(std::size_t n, const std::uint64_t* keys, const std::uint64_t* values,
                   status* answers, stream on) {
  return do_all(part_, writing(action::insert, n, keys, values, answers), on);
}
status map::find_or_insert(std::size_t n, const std::uint64_t* keys, std::uint64_t* values,
                           status* answers, stream on) {
  return do_all(part_, writing(action::find_or_insert, n, keys, values, answers), on);
}
status map::add(std::size_t n, const std::uint64_t* keys, const std::uint64_t* values,
                status* answers, stream on) {
  return do_all(part_, writing(action::add, n, keys, values, answers), on);
}
status map::export_batch(export_cursor& at, std::size_t n, std::uint64_t* keys,
                         std::uint64_t* values, std::size_t& exported, stream on) {
  return export_batch_if(at, {}, n, keys, values, exported, on);
}
status map::export_batch_if(export_cursor& at, const selection& which, std::size_t n,
                            std::uint64_t* keys, std::uint64_t* values, std::size_t& exported,
                            stream on) {
  exported = 0;
  return part_.here() ? part_->export_batch(at, n, {keys, values, nullptr, which}, exported, on)
                      : part_.refusal();
}
status map::erase_if(const selection& which, std::uint64_t* erased, stream on) {
  std::uint64_t ignored = 0;
  return part_.here() ? part_->erase_if(which, erased != nullptr ? *erased : ignored, on)
                      : part_.refusal();
}
status map::clear(stream on) { return erase_if({}, nullptr, on); }
void map::view(device_view& into) {
  if (part_.here()) part_->view(into);
}
status map::load_cache() { return part_.here() ? part_->load_cache().code : part_.refusal(); }
cache_figures map::cache() { return is_open() ? part_->cache_now() : cache_figures{}; }
status map::reserve(std::uint64_t records) {
  return part_.here() ? part_->ask_at_home([&] { return part_->table().reserve(records); })
                      : part_.refusal();
}
status map::compact() {
  return part_.here() ? part_->ask_at_home([&] { return part_->table().compact(); })
                      : part_.refusal();
}
status map::sync() {
  return part_.here() ? part_->ask_at_home([&] { return part_->table().sync(); }, false)
                      : part_.refusal();
}
status map::close() { return part_.here() ? part_->close() : part_.refusal(); }
std::uint64_t map::size() {
  return is_open() ? part_->at_home([&] { return part_->table().size(); }) : 0;
}
pool_info map::info() {
  return is_open() ? part_->at_home([&] { return part_->table().info(); }) : pool_info{};
}
table_stats map::stats() {
  return is_open() ? part_->at_home([&] { return part_->table().stats(); }) : table_stats{};
}
check_report map::check() {
  if (!is_open())
    return {.ok = false, .records = 0, .violations = {std::string(message(part_.refusal()))}};
  return part_->at_home([&] { return part_->table().check(); });
}
std::vector<std::string> map::salvage_report() const {
  return is_open() ? part_->table().salvage_report() : std::vector<std::string>();
}
table_place map::place() const { return is_open() ? part_->place() : table_place::automatic; }
durability_level map::durability() const {
  return is_open() ? part_->table().kinds().durability : durability_level::none;
}
bool map::is_open() const { return part_.here() && part_->state() != status::closed; }

}  // namespace durahash::gpu
