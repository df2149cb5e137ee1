// What an opening asks for, whether it can be had, and where the pool's bytes are.
#pragma once

#include "store/opening.hpp"

namespace durahash {

/// Enumerations without such a value, or what contradicts itself.
error refuse_nonsense(const opening& o);
/// Of a pool to be made. Before anything is written.
error refuse_capacity(const opening& o);
error settle_medium(opening& o);
/// Whether it is to be made.
error settle_mode(opening& o);
error map_it(opening& o);
/// Where a pool lives is the pool's to say: one with a log on a disk, another one of the level
/// power on persistent memory. `asked`: the medium, before settle_medium.
error settle_mapping(opening& o, medium_kind asked);

}  // namespace durahash
