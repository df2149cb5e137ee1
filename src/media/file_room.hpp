// Room for files, real blocks and within what the process may write.
#pragma once

#include <cstdint>

namespace durahash {

/// Whether this process may write to a file that far. Who tries to go further is ended by SIGXFSZ,
/// unless the program has set that signal aside, which is the program's to do.
/// Returns   false, and EFBIG in errno, beyond the limit on file sizes (RLIMIT_FSIZE).
bool may_be_as_long_as(std::uint64_t bytes) noexcept;

/// Whether that errno says that the file cannot be longer, and nothing worse.
bool is_lack_of_room(int error_number) noexcept;

/// Gives the file real blocks in [from, to), and that length: a full disk is an answer here, and
/// would be SIGBUS at a later store.
/// Returns   0, or the errno that says why not.
int provide_blocks(int descriptor, std::uint64_t from, std::uint64_t to) noexcept;

}  // namespace durahash
