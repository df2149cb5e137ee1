// What the library has to say when no caller is there to be answered.
#pragma once

namespace durahash {

/// Is given a sentence of one line. It may be called in any thread, also in one of the library's
/// own and with the library's locks held: it calls nothing of the library, and does not throw.
using diagnostics_function = void (*)(const char* sentence) noexcept;

/// From now on `f` is told, in this process and its children, that
///   - an invariant is broken, which ends the process behind the call (it stands on stderr, too),
///   - a disk has failed under a pool's log, so that the pool acknowledges nothing any more,
///   - records that were counted behind a crash are damaged, so that only new space is used.
/// What an operation answers is not told. Null, as at the start: nobody is told.
void tell_diagnostics_to(diagnostics_function f) noexcept;

}  // namespace durahash
