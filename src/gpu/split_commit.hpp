// What stands between the halves of a batch, and after them: at the level power write-backs by the
// processor, since a device's stores reach its caches at most; for a table that the device has a
// copy of, the stores in the pool.
#pragma once

#include <algorithm>
#include <span>
#include <thread>

#include "base/own_thread.hpp"
#include "gpu/mirror.hpp"
#include "gpu/operations.hpp"
#include "persist/order.hpp"

namespace durahash::gpu {

/// Calls does(part) for parts that are all of them. Many are done by several threads: a change is
/// whole by itself, and none comes behind another one. A part that gets no thread is done here.
template <class T, class Does>
void in_parts(std::span<T> changes, Does&& does) {
  constexpr std::size_t least_in_a_part = std::size_t{1} << 14, most_parts = 8;
  std::size_t parts = std::clamp<std::size_t>(changes.size() / least_in_a_part, 1, most_parts);
  if (parts > 1)  // the question reads a file
    parts = std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, parts);
  const std::size_t each = changes.size() / parts;
  own_thread threads[most_parts];
  for (std::size_t i = 1; i < parts; ++i) {
    auto part = changes.subspan(i * each, i + 1 == parts ? std::dynamic_extent : each);
    if (!threads[i].start([&does, part] { does(part); })) does(part);
  }
  does(changes.first(parts == 1 ? changes.size() : each));
  for (own_thread& thread : threads)
    if (thread.joinable()) thread.join();
}

/// What the commit words of a batch come after.
template <medium M>
durable flush_payloads(M& m, std::span<const change> changes) {
  flushed started;
  for (const change& c : changes)
    if (c.apart) started += flush(m, extent_of(*c.payload), "gpu.batch.values");
  return fence(m, std::move(started), "gpu.batch.values");
}

/// After this the batch is durable.
template <medium M>
durable flush_words(M& m, std::span<const change> changes) {
  flushed started;
  for (const change& c : changes)
    if (c.word != nullptr) started += flush(m, extent_of(*c.word), "gpu.batch.commit");
  return fence(m, std::move(started), "gpu.batch.commit");
}

/// The same for changes of a copy: the pool gets them, before they are visible in the copy. Returns
/// when they are durable.
template <medium M>
durable store_changes(M& m, std::span<const change> changes, const mirror& copy) {
  flushed payloads, words;
  for (const change& c : changes) {
    if (c.payload == nullptr) continue;
    pm<std::uint64_t>& home = copy.home_of(c.payload);
    store(m, home, c.value);
    if (!same_line(&home, &copy.home_of(c.word)))
      payloads += flush(m, extent_of(home), "gpu.mirror.values");
  }
  durable before = fence(m, std::move(payloads), "gpu.mirror.values");
  for (const change& c : changes)
    // COMMIT
    if (c.word != nullptr)
      words += publish_unfenced(m, copy.home_of(c.word), c.next, after_group(before),
                                "gpu.mirror.commit");
  return fence(m, std::move(words), "gpu.mirror.all-committed");
}

}  // namespace durahash::gpu
