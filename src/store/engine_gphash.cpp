// Where the engine gphash is instantiated: it has keys of one length in its buckets, too.
#include "store/bind.hpp"
#include "table/gphash/table.hpp"

namespace durahash {
namespace {

struct any_kind {
  template <medium M>
  static result<opened> bind(opening o, std::unique_ptr<M> m) {
    bool keys_in_slots =
        o.block.key == data_kind::bytes && o.block.settings[gphash::setting::key_bytes] != 0;
    if (keys_in_slots)
      return durahash::bind<gphash::table<M, fixed_records>, M>(std::move(o), std::move(m));
    return words_or_bytes<gphash::table>::bind(std::move(o), std::move(m));
  }
};

}  // namespace

engine_entry gphash_engine() noexcept {
  return entry_of<gphash::table, any_kind>(engine_kind::gphash);
}

}  // namespace durahash
