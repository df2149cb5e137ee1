// The engines' entries, each in a file of its own: it takes a while to compile an engine for every
// kind of table.
#pragma once

#include "explorer/subject.hpp"
#include "store/engine_list.hpp"

namespace durahash::crash {

#define DURAHASH_DECLARE_SUBJECT(name) explored_engine name##_subject();
DURAHASH_ENGINES(DURAHASH_DECLARE_SUBJECT)
#undef DURAHASH_DECLARE_SUBJECT

/// Of the engine that a program of the tests links in (store/registry.hpp).
[[gnu::weak]] explored_engine further_subject();

}  // namespace durahash::crash
