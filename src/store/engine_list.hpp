// The one list of engines: the library, the tool, the bench, the explorer, the tests and the
// scripts ask it.
#pragma once

/// Of each the name that engine_kind has for it. Its parts are found by that name:
///   <name>_engine()        src/store/engine_<name>.cpp, where it is instantiated; for bytes in
///                          engine_<name>_bytes.cpp
///   read_<name>_beside()   src/store/beside_<name>.cpp, which reads its pools beside a writer
///   <name>_subject()       explorer/<name>_subject.cpp, which the explorer explores
/// scripts/check_engines.py looks for the others.
#define DURAHASH_ENGINES(each) each(turbo) each(cceh) each(level) each(gphash)
