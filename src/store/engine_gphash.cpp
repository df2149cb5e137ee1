// Where the engine gphash is instantiated: it has keys of one length in its buckets, too.
#include "engine/gphash/table.hpp"
#include "store/bind.hpp"

namespace durahash {
namespace {

struct any_kind {
  template <medium M, class Run>
  static auto choose(const superblock& block, Run&& run) {
    if (block.key == data_kind::bytes && block.settings[gphash::setting::key_bytes] != 0)
      return run.template operator()<gphash::table<M, fixed_records>>();
    return words_or_bytes<gphash::table>::choose<M>(block, run);
  }
};

}  // namespace

engine_entry gphash_engine() noexcept {
  return entry_of<gphash::table, any_kind>::of(engine_kind::gphash);
}

}  // namespace durahash
