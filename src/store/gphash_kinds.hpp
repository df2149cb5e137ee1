// Which kind of records a gphash pool has: keys of one length, in its buckets, too.
#pragma once

#include "engine/gphash/table.hpp"
#include "store/bind.hpp"

namespace durahash {

struct gphash_kinds {
  template <medium M, class Run>
  static auto choose(const superblock& block, Run&& run) {
    if (block.key == data_kind::bytes && block.settings[gphash::setting::key_bytes] != 0)
      return run.template operator()<gphash::table<M, fixed_records>>();
    return words_or_bytes<gphash::table>::choose<M>(block, run);
  }
};

}  // namespace durahash
