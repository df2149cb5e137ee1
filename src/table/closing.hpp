// The heap's state across a clean close: saved in the pool, named by the root, believed only with its checksum.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "base/hash.hpp"
#include "persist/heap.hpp"

namespace durahash {

/// Begins the heap's recovery; with the state that a clean close saved, if there is one. Returns whether there was.
template <medium M>
bool restore_heap(heap<M>& h, pool<M>& p) {
  h.begin_recovery();
  const root_record& root = p.root();
  if (root.state != pool_state::clean || root.heap_state_offset == 0) return false;
  std::vector<std::uint64_t> words(root.heap_state_bytes / 8);
  p.medium().will_read(p.at(root.heap_state_offset), root.heap_state_bytes);
  std::memcpy(words.data(), p.at(root.heap_state_offset), root.heap_state_bytes);
  if (checksum(words.data(), root.heap_state_bytes) == root.heap_state_checksum && h.restore(words)) return true;
  h.begin_recovery();  // anew: what is wrong with the saved state does not matter, the slots know better
  return false;
}

/// What a clean pool with records says whose root names nothing, as that of a new pool does: it must not open as an empty one. Otherwise nothing.
template <medium M>
std::string lost_root(const pool<M>& p) {
  const root_record& root = p.root();
  if (root.state != pool_state::clean || root.records == 0) return {};
  return "it has " + std::to_string(root.records) + " records, and what names them, from offset " + std::to_string(p.block().engine_offset) + " on, is gone";
}

/// All that has returned is on the medium, and the pool clean, until the next write. `e` is the engine; its lock_all keeps writers out.
template <medium M, class Engine>
status sync_clean(pool<M>& p, Engine& e) {
  if (p.read_only()) return status::ok;
  [[maybe_unused]] std::uint64_t waited_for = e.size();
  if (status s = p.write_all_to_disk(); s != status::ok) return s;  // most of the work, while writers go on
  e.lock_all();
  status s = p.changing() ? p.mark_clean(e.size(), 0, 0, 0) : status::ok;
  e.unlock_all();
  return s;
}

/// Marks the pool clean, with the heap's state where the engine could not tell it from its root alone. Nobody may be at work.
/// crash before the root says clean: the pool recovers as after any crash; the saved state is unreachable, hence free.
template <medium M>
status close_clean(heap<M>& h, pool<M>& p, std::uint64_t records, bool save_heap) {
  h.settle();
  h.release_idle_slabs();
  std::vector<std::uint64_t> words = save_heap ? h.save() : std::vector<std::uint64_t>();
  std::uint64_t bytes = words.size() * 8;
  std::optional<std::uint64_t> offset;
  if (save_heap) offset = p.allocate(bytes, page_bytes);  // without it the next open collects the records anew
  if (status s = p.give_back_tail(); s != status::ok) return s;  // what the pool grew by for it, and did not need, too
  if (!offset) return p.mark_clean(records, 0, 0, 0);
  store_bytes(p.medium(), p.at(*offset), words.data(), bytes);  // not flushed: the root has its checksum, and without it the slots know as well
  return p.mark_clean(records, *offset, bytes, checksum(words.data(), bytes));
}

}  // namespace durahash
