// What the processor does between the steps of a batch of rows (row_writes.hpp), and behind them:
// write-backs, since a device's stores reach its caches at most.
#pragma once

#include <span>

#include "gpu/row_writes.hpp"
#include "persist/order.hpp"

namespace durahash::gpu {

/// What the commit words of a batch come after: records, and what leads to them from slots that are
/// claimed.
template <medium M>
durable flush_rows(M& m, const leased_rows& rows, row_form form,
                   std::span<const row_change> changes) {
  flushed started;
  for (const row_change& c : changes) {
    if (c.word == nullptr) continue;
    started += flush(m, extent{rows.base + c.record, form.bytes()}, "gpu.rows.records");
    if (c.payload == nullptr) continue;
    if (!same_line(c.payload, c.word)) started += flush_in_line(m, *c.payload, "gpu.rows.values");
    if (c.key != nullptr &&
        !(same_line(c.key, c.word) && same_line(c.key + rows.key_words() - 1, c.word)))
      started += flush(m, extent{c.key, rows.key_bytes}, "gpu.rows.keys");
  }
  return fence(m, std::move(started), "gpu.rows.written");
}

/// After this the batch is durable.
template <medium M>
durable flush_row_words(M& m, std::span<const row_change> changes) {
  flushed started;
  for (const row_change& c : changes)
    if (c.word != nullptr) started += flush_in_line(m, *c.word, "gpu.rows.commit");
  return fence(m, std::move(started), "gpu.rows.commit");
}

}  // namespace durahash::gpu
