// The frame: iteration, in hash order, stretch by stretch. Part of engine/frame/frame.hpp.
#pragma once

#include "engine/frame/frame.hpp"

namespace durahash {

template <medium M, class Kind, class Engine>
template <class Visit>
status engine_frame<M, Kind, Engine>::scan(cursor& at, std::size_t limit, Visit&& visit) {
  std::size_t left = std::max<std::size_t>(limit, 1);
  if (!at.done)
    if (status s = visit_rest(at, left, visit); s != status::ok) return s;
  typename Engine::stretch found;
  hash_order<record_of<Kind>> order;
  while (!at.done && left > 0) {
    [[maybe_unused]] auto guard = this->reading();
    const std::uint64_t readings = rests_.readings(), from = at.position;
    std::optional<std::uint64_t> end = this->self().read_stretch(from, found);
    if (!end) continue;  // ends: each further round means that a writer got on
    std::size_t unvisited = 0;
    status visited = visit_stretch<Kind, Engine::stretch::may_repeat>(
        this->m_, this->p_, found.records, order, *end, at, left, visit, unvisited);
    if (visited != status::ok) return visited;
    if (unvisited == found.records.size()) continue;
    std::optional<rest_of_stretch<Kind>> rest;
    if_memory_allows([&] { rest = rest_from(found.records, unvisited, *end); });
    rests_.leave(std::move(rest), from, *end, readings);
  }
  return status::ok;
}

/// What an earlier call has left from the cursor on, if anything.
template <medium M, class Kind, class Engine>
template <class Visit>
status engine_frame<M, Kind, Engine>::visit_rest(cursor& at, std::size_t& left, Visit& visit) {
  std::uint64_t readings = 0;
  auto rest = rests_.take(at.position, readings);
  if (!rest) return status::ok;
  // the cursor cannot tell those apart that share the last one's hash
  for (bool same = false; !rest->is_over() && (left > 0 || same);) {
    const key_type key = rest->key();
    const status got = this->self().get(key, [&](value_type value) { visit(key, value); });
    if (got == status::ok) left -= left > 0;
    else if (got != status::not_found) return got;
    const std::uint64_t last = rest->hash();
    rest->pass();
    same = !rest->is_over() && rest->hash() == last;
  }
  move_to(at, rest->position());
  if (!rest->is_over()) rests_.put_back(std::move(*rest), readings);
  return status::ok;
}

/// Of a stretch that ends there, in hash order. Under a read_guard.
template <medium M, class Kind, class Engine>
auto engine_frame<M, Kind, Engine>::rest_from(const std::vector<record_of<Kind>>& records,
                                              std::size_t first, std::uint64_t end)
    -> std::optional<rest_of_stretch<Kind>> {
  rest_of_stretch<Kind> made(end);
  for (std::size_t i = first; i < records.size(); ++i) {
    const record_of<Kind>& r = records[i];
    if (made.size() >= made.most && r.hash != records[i - 1].hash) {
      made.end_at(r.hash);
      break;
    }
    if (seen_before<Kind>(this->m_, this->p_, records, i)) continue;
    if constexpr (Kind::in_slot) {
      made.add(r.hash, r.key_word);
    } else {
      auto record = key_and_value<Kind>(this->m_, this->p_, r);
      if (!record) return std::nullopt;  // the next call meets the damage
      made.add(r.hash, record->key);
    }
  }
  return made;
}

}  // namespace durahash
