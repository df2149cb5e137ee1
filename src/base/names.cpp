// Names of the enumerations, both ways; those of engines stand in src/store/registry.cpp.
#include <array>

#include "durahash/options.hpp"
#include "durahash/status.hpp"

namespace durahash {
namespace {

template <class Kind>
struct named {
  Kind kind;
  std::string_view name;
};
template <class Kind>
named(Kind, const char*) -> named<Kind>;

constexpr std::array data_kinds{named{data_kind::u64, "u64"}, named{data_kind::bytes, "bytes"}};
constexpr std::array durabilities{named{durability_level::none, "none"},
                                  named{durability_level::process, "process"},
                                  named{durability_level::power, "power"},
                                  named{durability_level::power_buffered, "power_buffered"}};
constexpr std::array media{
    named{medium_kind::automatic, "automatic"}, named{medium_kind::memory, "memory"},
    named{medium_kind::file, "file"},           named{medium_kind::pmem, "pmem"},
    named{medium_kind::emulated, "emulated"},   named{medium_kind::disk, "disk"}};

template <class Names, class Kind>
std::string_view find_name(const Names& names, Kind kind) noexcept {
  for (const auto& entry : names)
    if (entry.kind == kind) return entry.name;
  return "unknown";
}

template <class Names>
auto find_kind(const Names& names, std::string_view name) noexcept
    -> std::optional<decltype(names[0].kind)> {
  for (const auto& entry : names)
    if (entry.name == name) return entry.kind;
  return std::nullopt;
}

}  // namespace

std::string_view name_of(data_kind kind) noexcept { return find_name(data_kinds, kind); }
std::string_view name_of(durability_level kind) noexcept { return find_name(durabilities, kind); }
std::string_view name_of(medium_kind kind) noexcept { return find_name(media, kind); }

std::optional<data_kind> data_kind_named(std::string_view name) noexcept {
  return find_kind(data_kinds, name);
}
std::optional<durability_level> durability_named(std::string_view name) noexcept {
  return find_kind(durabilities, name);
}
std::optional<medium_kind> medium_named(std::string_view name) noexcept {
  return find_kind(media, name);
}

std::string_view message(status code) noexcept {
  switch (code) {
    case status::ok: return "done";
    case status::not_found: return "the key is not in the table";
    case status::exists: return "the key is in the table already";
    case status::mismatch: return "the present value is not the expected one";
    case status::no_space:
      return "no space left: neither the pool nor its file system has room; reads and erases still "
             "work";
    case status::invalid_argument: return "the pool does not take such a key or value";
    case status::read_only: return "the pool was opened for reading only";
    case status::closed: return "the table is closed";
    case status::unusable: return "the pool cannot be used";
    case status::io_error: return "the operating system refused a file operation";
    case status::out_of_memory: return "the process has no memory left for this";
    case status::forked:
      return "the pool was opened by another process, of which this one is a fork; open it anew "
             "here";
    case status::busy:
      return "the pool is being opened or changed by its writer, all the time; try again";
    case status::locked: return "another process, or this one, has the pool open";
    case status::damaged: return "the pool's bytes contradict its format; run check";
  }
  return "unknown status";
}

}  // namespace durahash
