// Versions, engines, names.
#include <optional>

#include "pool.hpp"

namespace durahash::c {
namespace {

constexpr std::uint32_t number_of(std::uint32_t major, std::uint32_t minor, std::uint32_t patch) {
  return major * 1'000'000 + minor * 1'000 + patch;
}

/// All names are literals. Numbers that no kind has are "unknown", as 255 is.
template <class Kind>
const char* name(std::int32_t number) noexcept {
  return name_of(static_cast<Kind>(number >= 0 && number <= 255 ? number : 255)).data();
}

template <class Kind>
std::int32_t number(std::optional<Kind> kind) noexcept {
  return kind ? static_cast<std::int32_t>(*kind) : DURAHASH_UNSET;
}

std::string_view text(const char* name) noexcept {
  return name == nullptr ? std::string_view() : name;
}

// The same numbers on both sides.
template <class Kind>
constexpr bool same(Kind kind, int number) {
  return static_cast<int>(kind) == number;
}
static_assert(same(status::not_found, DURAHASH_NOT_FOUND) && same(status::exists, DURAHASH_EXISTS));
static_assert(same(status::mismatch, DURAHASH_MISMATCH) &&
              same(status::no_space, DURAHASH_NO_SPACE));
static_assert(same(status::invalid_argument, DURAHASH_INVALID_ARGUMENT) &&
              same(status::read_only, DURAHASH_READ_ONLY));
static_assert(same(status::closed, DURAHASH_CLOSED) && same(status::unusable, DURAHASH_UNUSABLE));
static_assert(same(status::io_error, DURAHASH_IO_ERROR) && same(status::damaged, DURAHASH_DAMAGED));
static_assert(same(status::out_of_memory, DURAHASH_OUT_OF_MEMORY) &&
              same(status::forked, DURAHASH_FORKED));
static_assert(same(engine_kind::turbo, DURAHASH_ENGINE_TURBO) &&
              same(engine_kind::cceh, DURAHASH_ENGINE_CCEH));
static_assert(same(engine_kind::level, DURAHASH_ENGINE_LEVEL) &&
              same(engine_kind::gphash, DURAHASH_ENGINE_GPHASH));
static_assert(same(data_kind::u64, DURAHASH_KIND_U64) &&
              same(data_kind::bytes, DURAHASH_KIND_BYTES));
static_assert(same(durability_level::none, DURAHASH_DURABILITY_NONE) &&
              same(durability_level::process, DURAHASH_DURABILITY_PROCESS));
static_assert(same(durability_level::power, DURAHASH_DURABILITY_POWER) &&
              same(durability_level::power_buffered, DURAHASH_DURABILITY_POWER_BUFFERED));
static_assert(same(medium_kind::automatic, DURAHASH_MEDIUM_AUTOMATIC) &&
              same(medium_kind::memory, DURAHASH_MEDIUM_MEMORY));
static_assert(same(medium_kind::file, DURAHASH_MEDIUM_FILE) &&
              same(medium_kind::pmem, DURAHASH_MEDIUM_PMEM));
static_assert(same(medium_kind::emulated, DURAHASH_MEDIUM_EMULATED) &&
              same(medium_kind::disk, DURAHASH_MEDIUM_DISK));
static_assert(same(open_mode::create_or_open, DURAHASH_MODE_CREATE_OR_OPEN) &&
              same(open_mode::create_new, DURAHASH_MODE_CREATE_NEW));
static_assert(same(open_mode::open_existing, DURAHASH_MODE_OPEN_EXISTING) &&
              same(open_mode::read_only, DURAHASH_MODE_READ_ONLY));
static_assert(same(open_mode::read_beside, DURAHASH_MODE_READ_BESIDE) &&
              same(status::busy, DURAHASH_BUSY));
static_assert(same(status::locked, DURAHASH_LOCKED));

}  // namespace
}  // namespace durahash::c

using namespace durahash;
using namespace durahash::c;

const char* durahash_version(void) { return DURAHASH_VERSION; }
uint32_t durahash_version_number(void) {
  return number_of(DURAHASH_VERSION_MAJOR, DURAHASH_VERSION_MINOR, DURAHASH_VERSION_PATCH);
}

size_t durahash_engines(int32_t* engines, size_t capacity) {
  const auto all = all_engines();
  for (size_t i = 0; i < all.size() && i < capacity && engines != nullptr; ++i)
    engines[i] = static_cast<int32_t>(all[i]);
  return all.size();
}

const char* durahash_engine_name(int32_t engine) { return name<engine_kind>(engine); }
const char* durahash_data_kind_name(int32_t kind) { return name<data_kind>(kind); }
const char* durahash_durability_name(int32_t level) { return name<durability_level>(level); }
const char* durahash_medium_name(int32_t medium) { return name<medium_kind>(medium); }

int32_t durahash_engine_named(const char* name) { return number(engine_named(text(name))); }
int32_t durahash_data_kind_named(const char* name) { return number(data_kind_named(text(name))); }
int32_t durahash_durability_named(const char* name) { return number(durability_named(text(name))); }
int32_t durahash_medium_named(const char* name) { return number(medium_named(text(name))); }
