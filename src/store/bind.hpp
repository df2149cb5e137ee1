// Puts an engine on a pool, and both behind the virtual line. Only engine_<name>.cpp and
// engine_<name>_bytes.cpp include this: an engine is instantiated there alone, for words and for
// bytes, so that two compilers share what an edit of it compiles again.
#pragma once

#include "store/inspected.hpp"
#include "store/opened_pool.hpp"
#include "store/persist_instances.hpp"
#include "store/pool_adapter.hpp"
#include "store/registry.hpp"

namespace durahash {

template <class E, medium M>
using adapter_of = std::conditional_t<E::kind::in_slot, word_adapter<E, M>, byte_adapter<E, M>>;

template <class E, medium M>
  requires engine_on<E, M> result<opened> bind(opening&& o, std::unique_ptr<M> m) {
    auto p = pool_for(o, std::move(m));
    if (!p) return p.failure();
    auto table = std::make_unique<adapter_of<E, M>>(std::move(*p), o.how.medium);
    const error opened_so = table->open(o.path, o.how.salvage && !o.creating);
    if (error e = finish_opening(o, table->storage(), opened_so); e.code != status::ok) return e;
    opened made;
    if constexpr (E::kind::in_slot) made.words = std::move(table);
    else made.bytes = std::move(table);
    return made;
  }

/// Puts an engine on a pool that is only looked at.
template <class E, medium M>
  requires engine_on<E, M> result<std::unique_ptr<inspected_table>> look(opening&& o,
                                                                         std::unique_ptr<M> m) {
    auto table = std::make_unique<adapter_of<E, M>>(
        std::make_unique<pool<M>>(std::move(o.map), std::move(m), o.block, o.root), o.how.medium);
    if (error e = table->open(o.path, false); e.code != status::ok) return e;
    std::unique_ptr<inspected_table> made =
        std::make_unique<inspected_on<adapter_of<E, M>>>(std::move(table));
    return made;
  }

/// Calls run.operator()<engine>() with the engine for the pool's kind of records.
template <template <class, class> class Engine>
struct words_or_bytes {
  template <medium M, class Run>
  static auto choose(const superblock& block, Run&& run) {
    if (block.key == data_kind::u64 && block.value == data_kind::u64)
      return run.template operator()<Engine<M, word_records>>();
    return run.template operator()<Engine<M, byte_records>>();
  }
};

/// The entry of an engine. Kinds chooses among the engine's kinds of records.
template <template <class, class> class Engine, class Kinds = words_or_bytes<Engine>>
struct entry_of {
  template <medium M>
  static result<opened> bind(opening&& o, std::unique_ptr<M> m) {
    return Kinds::template choose<M>(
        o.block, [&]<class E>() { return durahash::bind<E, M>(std::move(o), std::move(m)); });
  }
  static result<std::unique_ptr<inspected_table>> look(opening&& o,
                                                       std::unique_ptr<process_medium> m) {
    return Kinds::template choose<process_medium>(o.block, [&]<class E>() {
      return durahash::look<E, process_medium>(std::move(o), std::move(m));
    });
  }
  /// `beside`: what reads its pools beside a writer; null: nothing does.
  static engine_entry of(engine_kind kind,
                         result<opened> (*beside)(beside_opening) = nullptr) noexcept {
    return {kind,
            Engine<process_medium, word_records>::plan,
            bind<process_medium>,
            bind<pmem_medium>,
            look,
            beside};
  }
};

}  // namespace durahash

/// `how` is `template` or `extern template`.
#define DURAHASH_BINDINGS(how, engine, kind)                                        \
  how durahash::result<durahash::opened>                                            \
  durahash::bind<engine<durahash::process_medium, kind>, durahash::process_medium>( \
      durahash::opening&&, std::unique_ptr<durahash::process_medium>);              \
  how durahash::result<durahash::opened>                                            \
  durahash::bind<engine<durahash::pmem_medium, kind>, durahash::pmem_medium>(       \
      durahash::opening&&, std::unique_ptr<durahash::pmem_medium>);                 \
  how durahash::result<std::unique_ptr<durahash::inspected_table>>                  \
  durahash::look<engine<durahash::process_medium, kind>, durahash::process_medium>( \
      durahash::opening&&, std::unique_ptr<durahash::process_medium>)
