// The pool under an engine: made or taken over in front of the engine's open, and told to others
// behind it. The same for all engines.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "media/pmem_medium.hpp"
#include "media/process_medium.hpp"
#include "persist/pool.hpp"
#include "store/opening.hpp"

namespace durahash {

/// A new pool, or the one that is there, which readers beside are kept from.
template <medium M>
result<std::unique_ptr<pool<M>>> pool_for(opening& o, std::unique_ptr<M> m) {
  if (!o.creating) {
    auto p = std::make_unique<pool<M>>(std::move(o.map), std::move(m), o.block, o.root);
    if (!p->read_only())
      p->readers().ban_while_opening(), p->clear_owner();  // await_owner has seen it gone
    return p;
  }
  auto made = pool<M>::create(std::move(o.map), std::move(m), o.block);
  if (!made)
    return refused(made.failure().code, "cannot create " + o.path + ": " + made.failure().message);
  (*made)->readers().ban();
  return std::move(*made);
}

/// The engine's open has ended so: a new pool gets its name, readers are let in.
template <medium M>
error finish_opening(const opening& o, pool<M>& p, const error& of_engine) {
  if (of_engine.code != status::ok) {
    // a pool that is refused as it is was not stored to
    if (of_engine.code == status::unusable && !o.creating && !o.how.salvage) p.readers().readmit();
    return refused(of_engine.code, of_engine.message + p.memory().refusal());
  }
  if (o.creating) {
    status s = p.memory().write_to_disk(0, o.block.heap_offset);
    if (s == status::ok && o.appears) s = p.memory().appear();
    if (s != status::ok)
      return refused(s, "cannot create " + o.path + ": " +
                            (s == status::exists ? std::string("it exists")
                                                 : std::string(message(s)) + p.memory().refusal()));
  }
  if (!p.read_only()) p.readers().admit();
  return {status::ok, {}};
}

#define DURAHASH_OPENED_POOL(how, M)                                                    \
  how template result<std::unique_ptr<pool<M>>> pool_for(opening&, std::unique_ptr<M>); \
  how template error finish_opening(const opening&, pool<M>&, const error&)
DURAHASH_OPENED_POOL(extern, process_medium);
DURAHASH_OPENED_POOL(extern, pmem_medium);

}  // namespace durahash
