#include "catalog.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "durahash/deferred_wait.hpp"
#include "fault.hpp"
#include "settings.hpp"

namespace durahash::server {
namespace {

constexpr std::string_view areas_key = "areas";  // no pool's id: those have 16 bytes
constexpr char row_version = 1;

void append(std::string& to, std::uint64_t word) {
  for (int i = 0; i < 8; ++i) to += static_cast<char>(word >> (8 * i));
}
std::uint64_t word_at(std::string_view bytes, std::size_t at) {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < 8; ++i)
    word |= std::uint64_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
  return word;
}

// version 1 | area 8 | epoch 8 | expire_at 8 | name
constexpr std::size_t row_head_bytes = 25;
std::string encoded(const catalog_row& row) {
  std::string made(1, row_version);
  append(made, row.area);
  append(made, row.epoch);
  append(made, static_cast<std::uint64_t>(row.expire_at));
  return made += row.name;
}
std::optional<catalog_row> decoded(std::string_view bytes) {
  if (bytes.size() < row_head_bytes || bytes[0] != row_version) return std::nullopt;
  return catalog_row{word_at(bytes, 1), word_at(bytes, 9),
                     static_cast<std::int64_t>(word_at(bytes, 17)),
                     std::string(bytes.substr(row_head_bytes))};
}

/// A full disk of the tests: it is one while there is a file of that name.
bool refuses() {
  return planted("the-catalog-refuses") &&
         ::access((the_settings().folder + "/refuse").c_str(), F_OK) == 0;
}

}  // namespace

result<catalog> catalog::open(const std::string& folder, durability_level level) {
  options how;
  how.engine = engine_kind::turbo;
  how.durability = level;
  how.address_space_bytes = std::uint64_t{4} << 30;
  auto opened = table::open(folder + "/catalog.dh", how);
  if (!opened) return opened.failure();
  catalog made(std::move(*opened));
  if (!made.read_areas())
    return error{status::damaged, folder + "/catalog.dh is no catalog of this version"};
  return made;
}

// areas: version 1 | next area 8 | (database 8 | area 8)*
bool catalog::read_areas() {
  std::string bytes;
  const status found = table_.get(areas_key, bytes);
  if (found != status::ok) return found == status::not_found;
  if (bytes.size() < 9 || (bytes.size() - 9) % 16 != 0 || bytes[0] != row_version) return false;
  next_area_ = word_at(bytes, 1);
  for (std::size_t at = 9; at < bytes.size(); at += 16)
    areas_[static_cast<int>(word_at(bytes, at))] = word_at(bytes, at + 8);
  complete_ = true;
  return true;
}

/// The log has them in order: what is durable of several is the first ones.
template <class Change>
status catalog::change(Change&& run) {
  if (refuses()) return status::no_space;
  const deferred_wait later(table_);
  const status s = run();
  last_change_ = std::max(last_change_, later.position());
  if (level() == durability_level::power) needed_ = last_change_;
  return s;
}

status catalog::publish(area_map areas) {
  std::string bytes(1, row_version);
  append(bytes, next_area_);
  for (auto [database, area] : areas) {
    append(bytes, static_cast<std::uint64_t>(database));
    append(bytes, area);
  }
  // COMMIT: from here on rows of other areas are void
  const status s = change([&] { return table_.put(areas_key, bytes); });
  if (s == status::ok) areas_ = std::move(areas), complete_ = true;
  return s;
}

status catalog::put(const pool_id& id, const catalog_row& row) {
  return change([&] { return table_.put(id.view(), encoded(row)); });
}

status catalog::erase(const pool_id& id) {
  const status s = change([&] { return table_.erase(id.view()); });
  return s == status::not_found ? status::ok : s;
}

status catalog::swap(int one, int other) {
  area_map areas = areas_;
  const auto first = areas.extract(one), second = areas.extract(other);
  if (first) areas[other] = first.mapped();
  if (second) areas[one] = second.mapped();
  return publish(std::move(areas));
}

status catalog::clear(std::optional<int> one) {
  area_map areas = areas_;
  if (one) areas.erase(*one);
  else areas.clear();
  return publish(std::move(areas));
}

status catalog::replace(const area_map& all) { return publish(all); }

std::uint64_t catalog::area_of(int database) {
  if (auto known = areas_.find(database); known != areas_.end()) return known->second;
  area_map areas = areas_;
  const std::uint64_t area = areas[database] = new_area();
  return publish(std::move(areas)) == status::ok ? area : 0;
}

std::optional<int> catalog::database_of(std::uint64_t area) const {
  for (auto [database, its] : areas_)
    if (its == area) return database;
  return std::nullopt;
}

result<catalog::row_list> catalog::rows() const {
  row_list all;
  std::size_t unknown = 0;
  const status s = table_.for_each([&](std::string_view key, std::string_view value) {
    if (key == areas_key) return;
    auto id = pool_id::of(key);
    auto row = decoded(value);
    if (id && row && !planted("a-row-cannot-be-read")) all.emplace_back(*id, std::move(*row));
    else ++unknown;
  });
  if (s != status::ok)
    return error{s, "the catalog cannot be read: " + std::string(durahash::message(s))};
  if (unknown != 0)
    return error{status::damaged,
                 std::to_string(unknown) + " rows of the catalog are none of this version"};
  return all;
}

}  // namespace durahash::server
