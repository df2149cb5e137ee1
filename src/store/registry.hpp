// The engines: what a pool of each needs, and how it gets behind the virtual line.
#pragma once

#include <memory>
#include <span>

#include "engine/concept.hpp"
#include "media/pmem_medium.hpp"
#include "media/process_medium.hpp"
#include "store/beside_opening.hpp"
#include "store/engine_list.hpp"
#include "store/inspected_table.hpp"
#include "store/open.hpp"
#include "store/opening.hpp"

namespace durahash {

class emulated_medium;
using bind_emulated = result<opened> (*)(opening&&, std::unique_ptr<emulated_medium>);

struct engine_entry {
  engine_kind kind{};
  result<engine_plan> (*plan)(const options&);  // the settings are the same on all media
  result<opened> (*on_process)(opening&&, std::unique_ptr<process_medium>);
  result<opened> (*on_pmem)(opening&&, std::unique_ptr<pmem_medium>);
  result<std::unique_ptr<inspected_table>> (*look)(opening&&, std::unique_ptr<process_medium>);
  // null: pools of it are not read beside a writer
  result<opened> (*beside)(beside_opening) = nullptr;
  bind_emulated on_emulated = nullptr;  // of programs that use it (durahash/emulated.hpp)
  std::string_view name = {};
};

/// Reads the engine's pools beside a writer.
#define DURAHASH_READ_BESIDE(name) result<opened> read_##name##_beside(beside_opening);
DURAHASH_ENGINES(DURAHASH_READ_BESIDE)
#undef DURAHASH_READ_BESIDE

/// Null: the engine is not in this build.
const engine_entry* find_engine(engine_kind) noexcept;
error not_in_this_build(engine_kind engine, const std::string& path);

/// Before the first pool is opened.
void bind_on_emulated(engine_kind, bind_emulated) noexcept;

/// A further engine, with its name, of programs that link one in. The library defines no such
/// function, and has the engines of its list; the tests define it (test/linear).
[[gnu::weak]] engine_entry further_engine() noexcept;

}  // namespace durahash
