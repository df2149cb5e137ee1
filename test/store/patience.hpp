// How long a test waits for what must end.
#pragma once

namespace durahash::test {

/// Whoever takes longer hangs. A busy machine takes a minute where a free one takes a second: a
/// recount of low priority holds locks that writers spin for, and `make test` runs some tests in
/// the time that others leave.
inline constexpr unsigned patience_seconds = 120;

}  // namespace durahash::test
