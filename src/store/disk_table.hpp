// A table on a disk, behind a second virtual line: what an operation has logged, and what it has
// seen of others, is on the disk before it answers. The engine and its locks know nothing of it; no
// lock is held while an operation waits.
//
// At the level power:
//   a write   counts itself in at its key's stripe, runs, leaves there the log's end that it needs,
//             counts itself out; then waits for the greater of that and what was there before
//   a read    runs; then, if a writer is counted in, or has left an end that is not durable, waits.
//             Readers write nothing, and those of other stripes do not wait
// At the level power_buffered nobody waits but sync.
//
// A value is given away after the wait, or, where the engine calls the reader, within the call
// before it.
#pragma once

#include <memory>

#include "base/hash.hpp"
#include "base/process_mark.hpp"
#include "base/zeroed_array.hpp"
#include "disk/disk_mapping.hpp"
#include "disk/durable_calls.hpp"
#include "durahash/detail/any_table.hpp"
#include "durahash/detail/deferral.hpp"

namespace durahash {

/// For each stripe of keys, up to where the log must be durable before what they say may be told.
class awaited_ends {
 public:
  explicit awaited_ends(disk_log& log) : log_(log), stripes_(std::size_t{1} << log2_stripes) {}

  static std::size_t stripe_of(std::uint64_t key) noexcept {
    return key * 0x9e3779b97f4a7c15u >> (64 - log2_stripes);
  }
  static std::size_t stripe_of(std::string_view key) noexcept {
    return checksum(key.data(), key.size()) >> (64 - log2_stripes);
  }

  void begin_write(std::size_t s) noexcept { stripes_[s].writers.fetch_add(1); }
  void end_write(std::size_t s, std::uint64_t needed) noexcept {
    std::uint64_t was = stripes_[s].end.load(std::memory_order_relaxed);
    while (was < needed && !stripes_[s].end.compare_exchange_weak(was, needed)) {}
    stripes_[s].writers.fetch_sub(1);
  }
  /// The end that who has just looked at the stripe needs. A writer that is counted in may have
  /// shown its store: its places are taken, or the reader has taken some itself.
  std::uint64_t end_of(std::size_t s) const noexcept {
    if (stripes_[s].writers.load() != 0) return log_.head();
    return stripes_[s].end.load();
  }

 private:
  static constexpr unsigned log2_stripes = 16;
  struct stripe {
    std::atomic<std::uint64_t> end;
    std::atomic<std::uint64_t> writers;
  };
  disk_log& log_;
  zeroed_array<stripe> stripes_;
};

/// What both kinds of table share. `Interface` is detail::word_table or detail::bytes_table.
template <class Interface>
class disk_table : public Interface {
 public:
  /// `image` belongs to `inside`.
  disk_table(std::unique_ptr<Interface> inside, disk_mapping& image)
      : inside_(std::move(inside)), image_(image), log_(*image.log()), ends_(log_) {
    Interface::opened_by_ = this_process_mark();
  }
  ~disk_table() override { disk_table::close(); }

  pool_kinds kinds() const override { return inside_->kinds(); }
  pool_info info() override {
    pool_info made = inside_->info();
    made.checkpoint_under_way = image_.checkpoint_under_way();
    return made;
  }
  check_report check() override { return inside_->check(); }
  const std::vector<std::string>& salvage_report() const override {
    return inside_->salvage_report();
  }
  table_stats stats() override {
    table_stats made = inside_->stats();
    try {
      log_counts counts = log_.counts();
      auto add = [&](const char* name, std::uint64_t figure) {
        made.figures.emplace_back(name, static_cast<double>(figure));
      };
      add("log_lines", counts.lines);
      add("log_bytes", counts.bytes);
      add("log_groups", counts.groups);
      add("log_stalls", counts.stalls);
      add("log_lines_not_durable", log_.head() - log_.durable());
      add("log_lines_since_checkpoint", log_.head() - log_.from());
      add("log_bytes_in_use", log_.slots_in_use() * sizeof(log_entry));
      add("log_file_bytes", log_entries_offset + log_.slots() * sizeof(log_entry));
      add("log_ring_bytes", log_.ring_slots() * sizeof(log_entry));
      add("log_growths", image_.growths());
      add("checkpoints", image_.checkpoints_made());
      add("checkpoint_under_way", image_.checkpoint_under_way() ? 1 : 0);
      add("checkpoint_pages_to_write", image_.pages_to_write());
      add("checkpoint_pages_written", image_.pages_written());
      add("checkpoint_bytes", image_.page_bytes_written());
      add("lines_replayed_at_open", image_.replayed());
    } catch (const std::bad_alloc&) {}
    return made;
  }
  std::uint64_t size() override {
    std::uint64_t records = inside_->size();
    wait(log_.head());
    return records;
  }
  status reserve(std::uint64_t records) override {
    return changing([&] { return inside_->reserve(records); });
  }
  status compact() override {
    return changing([&] { return inside_->compact(); });
  }
  /// The pool stays open: only `close` marks it clean.
  /// Once the disk has failed, no sync answers ok, though the log may be durable as far as it goes.
  status sync() override {
    return log_.failure() == 0 ? wait_durable(log_.head()) : status::io_error;
  }
  error backup(const std::string& path) override {
    error e = inside_->backup(path);
    if (e.code != status::ok || log_.wait_durable(log_.head())) return e;
    return {status::io_error,
            "cannot back up to " + path + ": the disk of the pool has refused a write"};
  }
  status close() override {
    if (closed_) return status::ok;
    closed_ = true;
    calls_.finish();  // they may write
    status s = inside_->close();
    return s == status::ok ? image_.detach() : s;
  }
  std::uint64_t position() override { return log_.head(); }
  std::uint64_t durable() override { return log_.durable(); }
  status wait_durable(std::uint64_t position) override {
    return log_.wait_durable(std::min(position, log_.head())) ? status::ok : status::io_error;
  }
  status when_durable(std::uint64_t position, std::function<void(status)> call) override {
    try {
      return calls_.add(position, std::move(call)), status::ok;
    } catch (const std::bad_alloc&) {
      return status::out_of_memory;
    }
  }
  const void* log() const override { return &log_; }

 protected:
  /// What the thread's own places need, while an operation runs. Those of an operation around it,
  /// which may be of another log, come back.
  class needs {
   public:
    needs() noexcept : before_(disk_log::needed()) { disk_log::needed() = 0; }
    ~needs() { disk_log::needed() = before_; }
    needs(const needs&) = delete;
    std::uint64_t end() const noexcept { return disk_log::needed(); }

   private:
    std::uint64_t before_;
  };

  /// At the level power: until the disk has the log up to there, unless that is deferred. Returns
  /// false where it refuses.
  bool wait(std::uint64_t end) noexcept {
    end = std::min(end, log_.head());
    detail::deferral* later = detail::deferral_for(&log_);
    if (later != nullptr) later->note(log_.waits() ? end : log_.head());
    return log_.waits() && later == nullptr ? log_.wait_durable(end) : log_.failure() == 0;
  }

  /// An operation of no key in particular.
  template <class Run>
  status changing(Run&& run) {
    if (log_.failure() != 0) return status::io_error;
    needs mine;
    status answer = run();
    return wait(mine.end()) ? answer : status::io_error;
  }
  /// `answer` is what the operation says if the disk takes what it needs.
  template <class Run>
  status write_at(std::size_t stripe, Run&& run) {
    if (log_.failure() != 0) return status::io_error;
    needs mine;
    if (!log_.waits()) {
      status answer = run();
      return wait(0) ? answer : status::io_error;
    }
    ends_.begin_write(stripe);
    status answer = run();
    ends_.end_write(stripe, mine.end());
    return wait(std::max(mine.end(), ends_.end_of(stripe))) ? answer : status::io_error;
  }
  /// Whether what was seen of the stripe may be told; waits for that. Where the disk has failed,
  /// what is durable is told on.
  bool may_tell(std::size_t stripe, std::uint64_t mine) noexcept {
    if (log_.waits()) return wait(std::max(mine, ends_.end_of(stripe)));
    return wait(0), true;
  }
  /// Groups of writes: each key's stripe is written to, and the wait comes once.
  template <class Key, class Run>
  void write_many(std::span<const Key> keys, status* answers, Run&& run) {
    if (log_.failure() != 0) return void(std::fill_n(answers, keys.size(), status::io_error));
    needs mine;
    if (!log_.waits()) {
      run();
      if (!wait(0)) std::fill_n(answers, keys.size(), status::io_error);
      return;
    }
    for (const Key& key : keys) ends_.begin_write(ends_.stripe_of(key));
    run();
    for (const Key& key : keys) ends_.end_write(ends_.stripe_of(key), mine.end());
    std::uint64_t end = mine.end();
    for (const Key& key : keys) end = std::max(end, ends_.end_of(ends_.stripe_of(key)));
    if (!wait(end)) std::fill_n(answers, keys.size(), status::io_error);
  }

  std::unique_ptr<Interface> inside_;
  disk_mapping& image_;
  disk_log& log_;
  awaited_ends ends_;
  durable_calls calls_{log_};
  bool closed_ = false;
};

class disk_words final : public disk_table<detail::word_table> {
 public:
  using disk_table::disk_table;
  using word = std::uint64_t;

  status get(word key, word& value) override {
    needs mine;
    status answer = inside_->get(key, value);
    return may_tell(ends_.stripe_of(key), mine.end()) ? answer : status::io_error;
  }
  status write(detail::write_mode mode, word key, word value) override {
    return write_at(ends_.stripe_of(key), [&] { return inside_->write(mode, key, value); });
  }
  status erase(word key) override {
    return write_at(ends_.stripe_of(key), [&] { return inside_->erase(key); });
  }
  status take(word key, detail::value_taker<word> read) override {
    return write_at(ends_.stripe_of(key), [&] { return inside_->take(key, read); });
  }
  status compare_and_set(word key, word expected, word desired) override {
    return write_at(ends_.stripe_of(key),
                    [&] { return inside_->compare_and_set(key, expected, desired); });
  }
  status fetch_add(word key, word delta, word& previous) override {
    return write_at(ends_.stripe_of(key), [&] { return inside_->fetch_add(key, delta, previous); });
  }
  status update_with(word key, detail::value_change<word> change) override {
    return write_at(ends_.stripe_of(key), [&] { return inside_->update_with(key, change); });
  }
  void get_many(std::span<const word> keys, word* values, status* answers) override {
    needs mine;
    inside_->get_many(keys, values, answers);
    for (std::size_t i = 0; i < keys.size(); ++i)
      if (!may_tell(ends_.stripe_of(keys[i]), mine.end())) answers[i] = status::io_error;
  }
  void put_many(std::span<const word> keys, const word* values, status* answers) override {
    write_many(keys, answers, [&] { inside_->put_many(keys, values, answers); });
  }
  void erase_many(std::span<const word> keys, status* answers) override {
    write_many(keys, answers, [&] { inside_->erase_many(keys, answers); });
  }
  status scan(cursor& at, std::size_t limit, visitor visit) override {
    needs mine;
    bool told = true;
    status answer = inside_->scan(at, limit, [&](word key, word value) {
      told = told && may_tell(ends_.stripe_of(key), mine.end());
      if (told) visit(key, value);
    });
    return told ? answer : status::io_error;
  }
};

class disk_bytes final : public disk_table<detail::bytes_table> {
 public:
  using disk_table::disk_table;
  using bytes = std::string_view;

  status get(bytes key, value_reader read) override {
    needs mine;
    std::size_t stripe = ends_.stripe_of(key);
    bool told = true;
    status answer = inside_->get(key, [&](bytes value) {
      told = may_tell(stripe, mine.end());
      if (told) read(value);
    });
    if (answer != status::ok) told = may_tell(stripe, mine.end());
    return told ? answer : status::io_error;
  }
  status write(detail::write_mode mode, bytes key, bytes value) override {
    return write_at(ends_.stripe_of(key), [&] { return inside_->write(mode, key, value); });
  }
  status erase(bytes key) override {
    return write_at(ends_.stripe_of(key), [&] { return inside_->erase(key); });
  }
  status take(bytes key, detail::value_taker<bytes> read) override {
    return write_at(ends_.stripe_of(key), [&] { return inside_->take(key, read); });
  }
  status compare_and_set(bytes key, bytes expected, bytes desired) override {
    return write_at(ends_.stripe_of(key),
                    [&] { return inside_->compare_and_set(key, expected, desired); });
  }
  status fetch_add(bytes key, std::uint64_t delta, std::uint64_t& previous) override {
    return write_at(ends_.stripe_of(key), [&] { return inside_->fetch_add(key, delta, previous); });
  }
  status update_with(bytes key, detail::value_change<bytes> change) override {
    return write_at(ends_.stripe_of(key), [&] { return inside_->update_with(key, change); });
  }
  void get_many(std::span<const bytes> keys, indexed_reader read, status* answers) override {
    needs mine;
    bool told = true;
    inside_->get_many(
        keys,
        [&](std::size_t i, bytes value) {
          told = told && may_tell(ends_.stripe_of(keys[i]), mine.end());
          if (told) read(i, value);
        },
        answers);
    for (std::size_t i = 0; i < keys.size(); ++i)
      if (!told || (answers[i] != status::ok && !may_tell(ends_.stripe_of(keys[i]), mine.end())))
        answers[i] = status::io_error;
  }
  void put_many(std::span<const bytes> keys, const bytes* values, status* answers) override {
    write_many(keys, answers, [&] { inside_->put_many(keys, values, answers); });
  }
  void erase_many(std::span<const bytes> keys, status* answers) override {
    write_many(keys, answers, [&] { inside_->erase_many(keys, answers); });
  }
  status scan(cursor& at, std::size_t limit, visitor visit) override {
    needs mine;
    bool told = true;
    status answer = inside_->scan(at, limit, [&](bytes key, bytes value) {
      told = told && may_tell(ends_.stripe_of(key), mine.end());
      if (told) visit(key, value);
    });
    return told ? answer : status::io_error;
  }
};

}  // namespace durahash
