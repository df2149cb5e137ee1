// What of gphash both the library's tables and those of a device use, compiled once: growth and the
// count behind a crash.
#pragma once

#include "engine/gphash/table.hpp"
#include "store/persist_instances.hpp"

/// `how` is `template` or `extern template`. Of one kind of records on the media of users.
#define DURAHASH_GPHASH_PARTS(how, kind)                                       \
  how class durahash::gphash::table<durahash::process_medium, kind>::growth;   \
  how class durahash::gphash::table<durahash::pmem_medium, kind>::growth;      \
  how class durahash::gphash::table<durahash::process_medium, kind>::counting; \
  how class durahash::gphash::table<durahash::pmem_medium, kind>::counting

DURAHASH_GPHASH_PARTS(extern template, durahash::word_records);
DURAHASH_GPHASH_PARTS(extern template, durahash::byte_records);
DURAHASH_GPHASH_PARTS(extern template, durahash::fixed_records);
