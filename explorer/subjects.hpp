// The engines' entries, each in a file of its own: it takes a while to compile an engine for every
// kind of table.
#pragma once

#include "explorer/subject.hpp"

namespace durahash::crash {

explored_engine turbo_subject();
explored_engine cceh_subject();
explored_engine level_subject();
explored_engine gphash_subject();

}  // namespace durahash::crash
