// Puts an engine's reader on a pool that is read beside its writer. Only beside_<name>.cpp includes
// this: apart from the engine, so that the reader has no part in what the compiler makes of that.
#pragma once

#include "disk/followed_medium.hpp"
#include "media/pmem_medium.hpp"
#include "store/beside_table.hpp"
#include "store/registry.hpp"

namespace durahash {

template <class Reader, medium M>
result<opened> read_beside_on(beside_opening o, std::unique_ptr<M> m) {
  using kind = typename Reader::kind;
  auto table = std::make_unique<table_beside_of<kind>>(
      std::make_unique<reader_on<Reader, M>>(
          std::make_unique<beside_pool<M>>(std::move(o.map), std::move(m), o.block)),
      o.medium);
  if (error e = table->open(o.path); e.code != status::ok) return e;
  opened made;
  if constexpr (kind::in_slot) made.words = std::move(table);
  else made.bytes = std::move(table);
  return made;
}

/// What is visible in a pool of the level power on persistent memory may not be durable; elsewhere
/// there is nothing to write back. One medium reads both, told apart at open.
template <template <medium, class> class Reader, class Kind>
result<opened> read_kind_beside(beside_opening o) {
  if (o.followed != nullptr) {
    auto medium = std::make_unique<followed_medium>(*o.followed);
    return read_beside_on<Reader<followed_medium, Kind>>(std::move(o), std::move(medium));
  }
  auto medium =
      std::make_unique<pmem_medium>(o.medium == medium_kind::pmem ? persistence_domain::memory_bus
                                                                  : persistence_domain::cpu_cache);
  return read_beside_on<Reader<pmem_medium, Kind>>(std::move(o), std::move(medium));
}

template <template <medium, class> class Reader>
result<opened> read_beside(beside_opening o) {
  if (o.block.key == data_kind::u64 && o.block.value == data_kind::u64)
    return read_kind_beside<Reader, word_records>(std::move(o));
  return read_kind_beside<Reader, byte_records>(std::move(o));
}

}  // namespace durahash
