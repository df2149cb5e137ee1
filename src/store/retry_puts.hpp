// A batch of puts of which some have found no space.
#pragma once

#include <cstddef>
#include <span>

#include "durahash/detail/any_table.hpp"
#include "durahash/status.hpp"

namespace durahash {

/// Does those once more, by put(index), while await_space() answers that readers have let go of
/// some. What the same key was given later in the batch stays, as if it were put behind the
/// earlier.
template <class Key>
void retry_puts(std::span<const Key> keys, status* answers,
                detail::function_ref<status(std::size_t)> put,
                detail::function_ref<bool()> await_space);

}  // namespace durahash
