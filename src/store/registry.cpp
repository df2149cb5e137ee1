#include "store/registry.hpp"

#include <algorithm>
#include <array>

namespace durahash {

#define DURAHASH_DECLARE_ENGINE(name) engine_entry name##_engine() noexcept;
DURAHASH_ENGINES(DURAHASH_DECLARE_ENGINE)
#undef DURAHASH_DECLARE_ENGINE

namespace {

/// An engine_kind without its line in the list does not build (-Wswitch), nor does one with two.
constexpr bool is_listed(engine_kind kind) noexcept {
  switch (kind) {
#define DURAHASH_IS_LISTED(name) \
  case engine_kind::name: return true;
    DURAHASH_ENGINES(DURAHASH_IS_LISTED)
#undef DURAHASH_IS_LISTED
  }
  return false;
}
static_assert(!is_listed(engine_kind{}), "0 is no engine: it is what a hole in a file says");

#define DURAHASH_ONE(name) +1
constexpr std::size_t max_engines = DURAHASH_ENGINES(DURAHASH_ONE) + 1;  // and a further one
#undef DURAHASH_ONE

/// Nothing here allocates: what is refused is told while there may be no memory.
struct registry {
  std::array<engine_entry, max_engines> entries{};
  std::array<engine_kind, max_engines> kinds{};
  std::size_t count = 0;

  registry() noexcept {
#define DURAHASH_ADD_ENGINE(name) add(name##_engine(), #name);
    DURAHASH_ENGINES(DURAHASH_ADD_ENGINE)
#undef DURAHASH_ADD_ENGINE
    if (&further_engine != nullptr) {
      engine_entry further = further_engine();
      add(further, further.name);
    }
  }
  std::span<engine_entry> all() noexcept { return {entries.data(), count}; }

 private:
  void add(engine_entry entry, std::string_view name) noexcept {
    entry.name = name;
    kinds[count] = entry.kind;
    entries[count++] = entry;
  }
};

registry& engines() noexcept {
  static registry all;
  return all;
}

}  // namespace

const engine_entry* find_engine(engine_kind kind) noexcept {
  for (const engine_entry& entry : engines().all())
    if (entry.kind == kind) return &entry;
  return nullptr;
}

error not_in_this_build(engine_kind engine, const std::string& path) {
  return refused(status::unusable, "cannot open " + path + ": the engine " +
                                       std::string(name_of(engine)) + " is not in this build");
}

void bind_on_emulated(engine_kind kind, bind_emulated bind) noexcept {
  for (engine_entry& entry : engines().all())
    if (entry.kind == kind) entry.on_emulated = bind;
}

std::span<const engine_kind> all_engines() noexcept {
  return {engines().kinds.data(), engines().count};
}

std::string_view name_of(engine_kind kind) noexcept {
  const engine_entry* entry = find_engine(kind);
  return entry != nullptr ? entry->name : "unknown";
}

std::optional<engine_kind> engine_named(std::string_view name) noexcept {
  for (const engine_entry& entry : engines().all())
    if (entry.name == name) return entry.kind;
  return std::nullopt;
}

}  // namespace durahash
