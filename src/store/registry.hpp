// The one list of engines: what a pool of each needs, and how it gets behind the virtual line.
#pragma once

#include <memory>

#include "disk/disk_medium.hpp"
#include "engine/concept.hpp"
#include "media/emulated_medium.hpp"
#include "media/pmem_medium.hpp"
#include "media/process_medium.hpp"
#include "store/inspected_table.hpp"
#include "store/open.hpp"
#include "store/opening.hpp"

/// A new engine needs its line here, and a file engine_<name>.cpp that defines <name>_engine().
#define DURAHASH_ENGINES(each) each(turbo) each(cceh) each(level) each(gphash)

namespace durahash {

struct engine_entry {
  engine_kind kind;
  result<engine_plan> (*plan)(const options&);  // the settings are the same on all media
  result<opened> (*on_process)(opening, std::unique_ptr<process_medium>);
  result<opened> (*on_pmem)(opening, std::unique_ptr<pmem_medium>);
  result<opened> (*on_emulated)(opening, std::unique_ptr<emulated_medium>);
  result<opened> (*on_disk)(opening, std::unique_ptr<disk_medium>);
  result<std::unique_ptr<inspected_table>> (*look)(opening, std::unique_ptr<process_medium>);
};

/// Null: the engine is not in this build.
const engine_entry* find_engine(engine_kind) noexcept;

}  // namespace durahash
