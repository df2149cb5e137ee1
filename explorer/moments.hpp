// Salvage: of what a crash left at one moment, and of files with pages of two, as a copy has of a
// pool that was being written, or the disk of a machine that went down.
#pragma once

#include "explorer/explorer.hpp"

namespace durahash::crash {

/// Runs the program, and salvages `images` of what lay in the pool on the way. Of one moment
/// salvage keeps all that was promised then; of two, in tables of bytes, what was its key's once.
/// What it keeps stays: when the salvage itself is crashed at any of its steps and done again, and
/// when the table is used after it. `story` is what a report says first.
findings explore_moments(const subject_kind& kind, const maker& make, const plan& how,
                         const program& what, std::size_t images, const std::string& report,
                         std::mt19937_64& random);

}  // namespace durahash::crash
