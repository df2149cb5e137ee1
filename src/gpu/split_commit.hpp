// What stands between the halves of a batch at the level power, and after them: write-backs by the processor. A device's stores reach its caches at most.
#pragma once

#include <span>

#include "gpu/operations.hpp"
#include "persist/order.hpp"

namespace durahash::gpu {

/// What the commit words of a batch come after.
template <medium M>
durable flush_payloads(M& m, std::span<const change> changes) {
  flushed started;
  for (const change& c : changes)
    if (c.payload != nullptr) started += flush(m, extent_of(*c.payload));
  return fence(m, std::move(started));
}

/// After this the batch is durable.
template <medium M>
durable flush_words(M& m, std::span<const change> changes) {
  flushed started;
  for (const change& c : changes)
    if (c.word != nullptr) started += flush(m, extent_of(*c.word));
  return fence(m, std::move(started));
}

}  // namespace durahash::gpu
