// Whether this is still the process that it was. A fork of a process has its memory, and is
// another.
#pragma once

namespace durahash {

/// A byte that is not zero in the process that asked for it, and zero in each of its children.
/// Lives for ever. Cost of asking for it: a few loads; of looking at it: one. Throws
/// std::bad_alloc.
const volatile unsigned char* this_process_mark();

}  // namespace durahash
