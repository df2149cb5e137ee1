// Puts an engine on a pool, and both behind the virtual line. Only engine_<name>.cpp includes this:
// an engine is instantiated in that one file.
#pragma once

#include "store/bound_table.hpp"
#include "store/registry.hpp"

namespace durahash {

template <class E, medium M>
  requires engine_on<E, M> result<opened> bind(opening o, std::unique_ptr<M> m) {
    auto refused = [](status code, const std::string& why) { return error{code, why}; };
    std::unique_ptr<pool<M>> p;
    if (o.creating) {
      auto made = pool<M>::create(std::move(o.map), std::move(m), o.block);
      if (!made)
        return refused(made.failure().code,
                       "cannot create " + o.path + ": " + made.failure().message);
      p = std::move(*made);
    } else {
      p = std::make_unique<pool<M>>(std::move(o.map), std::move(m), o.block, o.root);
      if (!p->read_only()) p->clear_owner();  // await_owner has seen that it is gone
    }
    pool<M>& made = *p;
    auto open_it = [&](auto table, auto& place) -> error {
      error e = table->open(o.path, o.how.salvage && !o.creating);
      if (e.code != status::ok) return refused(e.code, e.message + made.memory().refusal());
      if (o.creating) {
        status s = made.memory().write_to_disk(0, o.block.heap_offset);
        if (s == status::ok) s = made.memory().appear();
        if (s == status::exists)
          return refused(status::exists, "cannot create " + o.path + ": it exists");
        if (s != status::ok)
          return refused(s, "cannot create " + o.path + ": " + std::string(message(s)) +
                                made.memory().refusal());
      }
      place = std::move(table);
      return {status::ok, {}};
    };
    opened result_of_open;
    error e;
    if constexpr (E::kind::in_slot)
      e = open_it(std::make_unique<bound_words<E, M>>(std::move(p), o.how.medium),
                  result_of_open.words);
    else
      e = open_it(std::make_unique<bound_bytes<E, M>>(std::move(p), o.how.medium),
                  result_of_open.bytes);
    if (e.code != status::ok) return e;
    return result_of_open;
  }

template <template <class, class> class Engine>
struct words_or_bytes {
  template <medium M>
  static result<opened> bind(opening o, std::unique_ptr<M> m) {
    bool words = o.block.key == data_kind::u64 && o.block.value == data_kind::u64;
    if (words) return durahash::bind<Engine<M, word_records>, M>(std::move(o), std::move(m));
    return durahash::bind<Engine<M, byte_records>, M>(std::move(o), std::move(m));
  }
};

/// The entry of an engine. Bound chooses among the engine's kinds of record.
template <template <class, class> class Engine, class Bound = words_or_bytes<Engine>>
engine_entry entry_of(engine_kind kind) noexcept {
  return {kind, Engine<process_medium, word_records>::plan, Bound::template bind<process_medium>,
          Bound::template bind<pmem_medium>, Bound::template bind<emulated_medium>};
}

}  // namespace durahash
