// An engine on a pool, behind the virtual line: checks what callers may get wrong, then calls the
// engine, which does not know of lines.
#pragma once

#include <cstring>
#include <memory>
#include <vector>

#include "base/process_mark.hpp"
#include "durahash/detail/any_table.hpp"
#include "engine/concept.hpp"
#include "engine/frame/lifecycle.hpp"
#include "engine/violations.hpp"
#include "persist/pool.hpp"
#include "store/backup.hpp"
#include "store/block_facts.hpp"
#include "store/key_length.hpp"
#include "store/retry_puts.hpp"

namespace durahash {

/// What both kinds share. E is an engine over the medium M.
template <class E, medium M, class Interface>
class pool_adapter : public Interface {
 public:
  using engine_type = E;

  pool_adapter(std::unique_ptr<pool<M>> p, medium_kind kind)
      : pool_(std::move(p)),
        engine_(*pool_),
        medium_kind_(kind),
        writable_(!pool_->read_only()),
        was_clean_(pool_->root().state == pool_state::clean) {
    Interface::opened_by_ = this_process_mark();
  }
  ~pool_adapter() override { pool_adapter::close(); }

  error open(const std::string& path, bool salvage) {
    if (salvage) pool_->begin_salvage();
    error e = engine_.open(path, salvage ? &salvaged_ : nullptr);
    usable_ = e.code == status::ok;
    if (!usable_) return e;
    if (salvage) pool_->end_salvage();
    else if (!was_clean_) pool_->mark_opening();
    return e;
  }

  pool_kinds kinds() const override { return kinds_of(pool_->block()); }
  pool_info info() override {
    const std::uint64_t records = engine_.size();  // may wait for the recount
    pool_info made = facts_of(pool_->block(), medium_kind_, records, engine_.slots());
    made.file_bytes = pool_->end();
    made.live_bytes = engine_.live_bytes();
    made.free_bytes = engine_.free_bytes();
    made.clean = was_clean_;
    made.may_lack_last_moments = pool_->memory().may_lack_last_moments();
    return made;
  }
  table_stats stats() override {
    table_stats made;
    if_memory_allows([&] {
      made.media = pool_->medium().counts();
      engine_.describe(made);
      add_figures(made, {{"bytes_held_by_readers", engine_.bytes_held_by_readers()}});
    });
    return made;
  }
  check_report check() override {
    check_report report;
    const auto check_all = [&] {
      engine_.check(report);
      violations wrong(report);
      for (std::string& why : complaints_about_superblocks(pool_->memory().base()))
        wrong(std::move(why));
      return status::ok;
    };
    if (with_memory(check_all) == status::ok) return report;
    report.ok = false;
    if_memory_allows([&] { report.violations.emplace_back(message(status::out_of_memory)); });
    return report;
  }
  std::uint64_t size() override { return engine_.size(); }
  status reserve(std::uint64_t records) override {
    return change([&] { return engine_.reserve(records); });
  }
  status compact() override {
    return change([&] { return engine_.compact(); });
  }
  status sync() override {
    return with_memory([&] { return engine_.sync(); });
  }
  error backup(const std::string& path) override {
    return back_up(pool_->memory(), pool_->block(), path,
                   [&](image_copy& to) { return with_memory([&] { return engine_.backup(to); }); });
  }
  status close() override {
    if (!usable_) return status::ok;
    usable_ = false;
    const status closed = with_memory([&] { return engine_.close(); });
    if (writable()) pool_->readers().leave();
    return closed;
  }
  const std::vector<std::string>& salvage_report() const override { return salvaged_; }

  /// For who lends the engine to a device.
  E& engine() noexcept { return engine_; }
  durahash::pool<M>& storage() noexcept { return *pool_; }

 protected:
  bool writable() const noexcept { return writable_; }

  /// Runs an operation that changes the table. Where it finds no space it waits a while for readers
  /// that keep some back, with nothing locked, and tries once more.
  template <class Operation>
  [[gnu::always_inline]] status change(Operation&& run) {
    if (!writable()) return status::read_only;
    for (bool again = false;; again = true) {  // one call, so that the operation is inlined
      const status answer = with_memory(run);
      if (answer != status::no_space || again || !engine_.await_space()) [[likely]]
        return answer;
    }
  }
  /// The same for a batch of puts, of which `run` does one: of all waits in it one may be in vain.
  /// What the same key was given later in the batch stays, as if it were put behind the earlier.
  template <class Key, class Operation>
  void change_rest(std::span<const Key> keys, status* answers, Operation&& run) {
    static_assert(sizeof(status) == 1);
    if (!keys.empty() &&
        std::memchr(answers, static_cast<int>(status::no_space), keys.size()) != nullptr)
      retry_puts<Key>(keys, answers, run, [this] { return engine_.await_space(); });
  }

  std::unique_ptr<pool<M>> pool_;
  E engine_;

 private:
  medium_kind medium_kind_;
  const bool writable_;
  bool was_clean_;
  bool usable_ = false;
  std::vector<std::string> salvaged_;
};

template <class E, medium M>
class word_adapter final : public pool_adapter<E, M, detail::word_table> {
  using base = pool_adapter<E, M, detail::word_table>;
  using base::engine_, base::writable, base::change, base::change_rest;

 public:
  using base::base;
  using word = std::uint64_t;

  status get(word key, word& value) override {
    return engine_.get(key, [&](word found) { value = found; });
  }
  status write(detail::write_mode mode, word key, word value) override {
    return change([&]() __attribute__((always_inline)) {
      return engine_.write(key, decide_write(mode, value));
    });
  }
  status erase(word key) override {
    return change([&]() __attribute__((always_inline)) {
      return engine_.write(key, erase_decider<word>());
    });
  }
  status take(word key, detail::value_taker<word> read) override {
    return change([&] { return engine_.write(key, decide_take<word>(read)); });
  }
  status compare_and_set(word key, word expected, word desired) override {
    return change([&]() __attribute__((always_inline)) {
      return engine_.write(key, decide_exchange(expected, desired));
    });
  }
  status fetch_add(word key, word delta, word& previous) override {
    return change([&]() __attribute__((always_inline)) {
      return engine_.write(key, [&](const std::optional<word>& present) {
        previous = present.value_or(0);
        return decision<word>::set(previous + delta);
      });
    });
  }
  status update_with(word key, detail::value_change<word> make) override {
    return change([&] { return engine_.write(key, decide_change<word>(make)); });
  }
  void get_many(std::span<const word> keys, word* values, status* answers) override {
    engine_.get_many(
        keys, [values](std::size_t i, word value) { values[i] = value; }, answers);
  }
  void put_many(std::span<const word> keys, const word* values, status* answers) override {
    if (!writable()) return void(std::fill_n(answers, keys.size(), status::read_only));
    engine_.put_many(keys, values, answers);
    change_rest(keys, answers, [&](std::size_t i) {
      return engine_.write_long(keys[i], decide_write(detail::write_mode::put, values[i]));
    });
  }
  void erase_many(std::span<const word> keys, status* answers) override {
    if (!writable()) return void(std::fill_n(answers, keys.size(), status::read_only));
    engine_.erase_many(keys, answers);
  }
  status scan(cursor& at, std::size_t limit, detail::word_table::visitor visit) override {
    return with_memory([&] { return engine_.scan(at, limit, visit); });
  }
};

template <class E, medium M>
class byte_adapter final : public pool_adapter<E, M, detail::bytes_table> {
  using base = pool_adapter<E, M, detail::bytes_table>;
  using base::engine_, base::writable, base::pool_, base::change, base::change_rest;

 public:
  using base::base;
  using bytes = std::string_view;

  status get(bytes key, detail::bytes_table::value_reader read) override {
    return takes_key(key) ? engine_.get(key, [&](bytes value) { read(value); })
                          : status::invalid_argument;
  }
  status write(detail::write_mode mode, bytes key, bytes value) override {
    if (writable() && (!takes_key(key) || !takes_value(value))) return status::invalid_argument;
    return change([&]() __attribute__((always_inline)) {
      return engine_.write(key, decide_write(mode, value));
    });
  }
  status erase(bytes key) override {
    if (writable() && !takes_key(key)) return status::invalid_argument;
    return change([&]() __attribute__((always_inline)) {
      return engine_.write(key, erase_decider<bytes>());
    });
  }
  status take(bytes key, detail::value_taker<bytes> read) override {
    if (writable() && !takes_key(key)) return status::invalid_argument;
    return change([&] { return engine_.write(key, decide_take<bytes>(read)); });
  }
  status compare_and_set(bytes key, bytes expected, bytes desired) override {
    if (writable() && (!takes_key(key) || !takes_value(expected) || !takes_value(desired)))
      return status::invalid_argument;
    return change([&]() __attribute__((always_inline)) {
      return engine_.write(key, decide_exchange(expected, desired));
    });
  }
  status fetch_add(bytes key, std::uint64_t delta, std::uint64_t& previous) override {
    if (writable() && !takes_key(key)) return status::invalid_argument;
    std::uint64_t sum = 0;
    return change([&] {
      return engine_.write(key, [&](const std::optional<bytes>& present) {
        if (present && present->size() != sizeof previous)
          return decision<bytes>::keep(status::invalid_argument);
        previous = 0;
        if (present) std::memcpy(&previous, present->data(), sizeof previous);
        sum = previous + delta;
        return decision<bytes>::set({reinterpret_cast<const char*>(&sum), sizeof sum});
      });
    });
  }
  status update_with(bytes key, detail::value_change<bytes> make) override {
    if (writable() && !takes_key(key)) return status::invalid_argument;
    auto make_it_fit = [&](bytes present, bytes& next) {
      const status made = make(present, next);
      return made == status::ok && !takes_value(next) ? status::invalid_argument : made;
    };
    return change([&] { return engine_.write(key, decide_change<bytes>(make_it_fit)); });
  }
  void get_many(std::span<const bytes> keys, detail::bytes_table::indexed_reader read,
                status* answers) override {
    if (all_taken(keys, nullptr))
      return engine_.get_many(
          keys, [&](std::size_t i, bytes value) { read(i, value); }, answers);
    for (std::size_t i = 0; i < keys.size(); ++i)
      answers[i] = get(keys[i], [&](bytes value) { read(i, value); });
  }
  void put_many(std::span<const bytes> keys, const bytes* values, status* answers) override {
    if (writable() && all_taken(keys, values)) {
      engine_.put_many(keys, values, answers);
      return change_rest(keys, answers, [&](std::size_t i) {
        return engine_.write_long(keys[i], decide_write(detail::write_mode::put, values[i]));
      });
    }
    for (std::size_t i = 0; i < keys.size(); ++i)
      answers[i] = write(detail::write_mode::put, keys[i], values[i]);
  }
  void erase_many(std::span<const bytes> keys, status* answers) override {
    if (writable() && all_taken(keys, nullptr)) return engine_.erase_many(keys, answers);
    for (std::size_t i = 0; i < keys.size(); ++i) answers[i] = erase(keys[i]);
  }
  status scan(cursor& at, std::size_t limit, detail::bytes_table::visitor visit) override {
    return with_memory([&] { return engine_.scan(at, limit, visit); });
  }

 private:
  bool takes_key(bytes key) const noexcept { return keys_.takes(key); }
  bool takes_value(bytes value) const noexcept { return values_.takes(value); }
  bool all_taken(std::span<const bytes> keys, const bytes* values) const noexcept {
    for (std::size_t i = 0; i < keys.size(); ++i)
      if (!takes_key(keys[i]) || (values != nullptr && !takes_value(values[i]))) return false;
    return true;
  }

  const length_range keys_ = key_lengths(engine_, pool_->block());
  const length_range values_ = value_lengths(pool_->block());
};

}  // namespace durahash
