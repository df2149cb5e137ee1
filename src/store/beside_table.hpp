// A pool that another process may be writing to, behind the virtual line: an engine's reader, and
// what it is asked in a loop until it was not disturbed (docs/explanation/readers.md).
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "durahash/detail/any_table.hpp"
#include "engine/beside.hpp"
#include "engine/frame/lifecycle.hpp"
#include "store/backup.hpp"
#include "store/beside_opening.hpp"
#include "store/block_facts.hpp"
#include "store/key_length.hpp"

namespace durahash {

template <class R, medium M, class Interface>
class beside_base : public Interface {
 public:
  using kind = typename R::kind;
  using record = copied_record<kind>;

  explicit beside_base(std::unique_ptr<beside_pool<M>> p, medium_kind m)
      : pool_(std::move(p)), reader_(*pool_), medium_kind_(m) {}

  error open(const std::string& path) {
    if (!reader_.is_possible())
      return {status::unusable, "cannot use " + path +
                                    " as a pool: its superblock holds settings that its engine "
                                    "does not allow"};
    if (R::reads_pairs && !has_atomic_pairs())
      return {status::unusable,
              "cannot read " + path + " beside its writer: this processor has no " +
                  what_reads_pairs + ", and cannot read a slot of this engine at once"};
    const status s = look([](const std::byte*) { return looked::hit; }, R::finds_by_versions);
    if (s == status::unusable && R::finds_by_versions && !beside_pool<M>::follows_a_log)
      return {s, "cannot read " + path +
                     " beside its writer: words of this engine need memory of the writer's, which "
                     "the system shows to processes of its user and its PID namespace alone"};
    if (s == status::busy) return {s, "cannot read " + path + ": " + std::string(message(s))};
    return {s == status::ok ? s : status::unusable, std::string(message(s))};
  }

  pool_kinds kinds() const override { return kinds_of(pool_->block()); }
  /// Counts all records.
  pool_info info() override {
    const superblock& block = pool_->block();
    const std::uint64_t records = size();
    pool_info made = facts_of(block, medium_kind_, records, 0);
    auto read_facts = [&](const std::byte*) {
      made = facts_of(block, medium_kind_, records, reader_.slots());
      auto root = pool_->root();
      if (!root) return looked::again;
      made.file_bytes = root->pool_bytes;
      made.clean = root->state == pool_state::clean;
      return looked::hit;
    };
    static_cast<void>(look(read_facts, false));
    made.beside_a_writer = pool_->map().writer_is_there();
    return made;
  }
  table_stats stats() override {
    table_stats made;
    if_memory_allows([&] {
      made.figures.emplace_back("beside_a_writer", pool_->map().writer_is_there() ? 1 : 0);
      if (reader_.key_bytes() != 0)
        made.figures.emplace_back("key_bytes", static_cast<double>(reader_.key_bytes()));
    });
    return made;
  }
  /// Each record is whole, lies in the stretch of its hash, and is found by its key, if it is there
  /// still.
  check_report check() override {
    check_report report;
    auto violated = [&](const std::string& what) {
      report.ok = false;
      constexpr std::size_t most = 100;
      if (report.violations.size() < most) report.violations.push_back(what);
    };
    const status s = with_memory([&] {
      record again;
      for (std::uint64_t position = 0;;) {
        std::vector<record> found;
        std::uint64_t end = 0;
        if (const status read = read_stretch(position, found, end); read != status::ok) {
          violated("the records whose hashes begin at " + std::to_string(position) + ": " +
                   std::string(message(read)));
          if (read != status::damaged || end == 0) return read;
        }
        sort_and_thin(found);
        for (const record& r : found) {
          ++report.records;
          if (const status there = find(r.key(), again); there == status::damaged)
            violated("a record that iteration finds is damaged where a search finds it");
        }
        if (end == 0) return status::ok;
        position = end;
      }
    });
    if (s != status::ok && report.ok) report.ok = false, report.violations.emplace_back(message(s));
    return report;
  }
  std::uint64_t size() override {
    std::uint64_t records = 0;
    static_cast<void>(with_memory([&] {
      for (cursor at; !at.done;)
        if (status s = visit_some(at, 1 << 20, [&](const record&) { ++records; }); s != status::ok)
          return s;
      return status::ok;
    }));
    return records;
  }
  status reserve(std::uint64_t) override { return status::read_only; }
  status compact() override { return status::read_only; }
  status sync() override { return status::ok; }
  /// Each record as it was at some moment of the copy.
  error backup(const std::string& path) override {
    return back_up_records(pool_->block(), pool_->map().bytes(), path, [&](opened& copy) {
      return with_memory([&] {
        status s = status::ok;
        for (cursor at; !at.done && s == status::ok;) {
          status put = status::ok;
          s = visit_some(at, 1024, [&](const record& r) {
            if (put == status::ok) put = put_into(copy, r);
          });
          if (s == status::ok) s = put;
        }
        return s;
      });
    });
  }
  status close() override { return status::ok; }
  const std::vector<std::string>& salvage_report() const override { return none_; }

 protected:
  template <class Look>
  status look(Look&& run, bool needs_versions) {
    return pool_->look_until_undisturbed(needs_versions, run);
  }
  status find(typename kind::key_type key, record& found) {
    return look([&](const std::byte* versions) { return reader_.find(key, versions, found); },
                R::finds_by_versions);
  }
  status read_stretch(std::uint64_t position, std::vector<record>& found, std::uint64_t& end) {
    return look(
        [&](const std::byte* versions) {
          found.clear();
          return reader_.read_stretch(position, versions, found, end);
        },
        R::scans_by_versions);
  }
  /// In hash order; one that moved while it was read, once.
  static void sort_and_thin(std::vector<record>& found) {
    auto key = [](const record& r) { return r.key(); };
    std::sort(found.begin(), found.end(), [&](const record& a, const record& b) {
      return a.hash != b.hash ? a.hash < b.hash : key(a) < key(b);
    });
    found.erase(std::unique(found.begin(), found.end(),
                            [&](const record& a, const record& b) { return key(a) == key(b); }),
                found.end());
  }
  /// As engine_frame::scan.
  template <class Visit>
  status visit_some(cursor& at, std::size_t limit, Visit&& visit) {
    std::size_t left = std::max<std::size_t>(limit, 1);
    std::vector<record> found;
    while (!at.done && left > 0) {
      std::uint64_t end = 0;
      if (status s = read_stretch(at.position, found, end); s != status::ok) return s;
      std::erase_if(found, [&](const record& r) { return r.hash < at.position; });
      sort_and_thin(found);
      bool stopped = false;
      for (std::size_t i = 0; i < found.size() && !stopped; ++i) {
        stopped = left == 0 && (i == 0 || found[i - 1].hash != found[i].hash);
        if (stopped) at.position = found[i].hash;
        else visit(found[i]);
        if (left > 0) --left;
      }
      if (stopped) return status::ok;
      at.done = end == 0;
      at.position = at.done ? ~std::uint64_t{0} : end;
    }
    return status::ok;
  }

  std::unique_ptr<beside_pool<M>> pool_;
  R reader_;

 private:
  static status put_into(opened& copy, const record& r) {
    constexpr auto put = detail::write_mode::put;
    if constexpr (R::kind::in_slot) return copy.words->write(put, r.key(), r.value());
    else return copy.bytes->write(put, r.key(), r.value());
  }

  medium_kind medium_kind_;
  std::vector<std::string> none_;
};

template <class R, medium M>
class beside_words final : public beside_base<R, M, detail::word_table> {
  using base = beside_base<R, M, detail::word_table>;
  using typename base::record;

 public:
  using base::base;
  using word = std::uint64_t;

  status get(word key, word& value) override {
    record found;
    const status s = this->find(key, found);
    if (s == status::ok) value = found.value_word;
    return s;
  }
  status write(detail::write_mode, word, word) override { return status::read_only; }
  status erase(word) override { return status::read_only; }
  status take(word, detail::value_taker<word>) override { return status::read_only; }
  status compare_and_set(word, word, word) override { return status::read_only; }
  status fetch_add(word, word, word&) override { return status::read_only; }
  status update_with(word, detail::value_change<word>) override { return status::read_only; }
  void get_many(std::span<const word> keys, word* values, status* answers) override {
    for (std::size_t i = 0; i < keys.size(); ++i) answers[i] = get(keys[i], values[i]);
  }
  void put_many(std::span<const word> keys, const word*, status* answers) override {
    std::fill_n(answers, keys.size(), status::read_only);
  }
  void erase_many(std::span<const word> keys, status* answers) override {
    std::fill_n(answers, keys.size(), status::read_only);
  }
  status scan(cursor& at, std::size_t limit, detail::word_table::visitor visit) override {
    return with_memory([&] {
      return this->visit_some(at, limit, [&](const record& r) { visit(r.key_word, r.value_word); });
    });
  }
};

template <class R, medium M>
class beside_bytes final : public beside_base<R, M, detail::bytes_table> {
  using base = beside_base<R, M, detail::bytes_table>;
  using typename base::record;

 public:
  using base::base;
  using bytes = std::string_view;

  status get(bytes key, detail::bytes_table::value_reader read) override {
    return with_memory([&] {
      record found;
      return get_into(key, found, [&](bytes value) { read(value); });
    });
  }
  status write(detail::write_mode, bytes, bytes) override { return status::read_only; }
  status erase(bytes) override { return status::read_only; }
  status take(bytes, detail::value_taker<bytes>) override { return status::read_only; }
  status compare_and_set(bytes, bytes, bytes) override { return status::read_only; }
  status fetch_add(bytes, std::uint64_t, std::uint64_t&) override { return status::read_only; }
  status update_with(bytes, detail::value_change<bytes>) override { return status::read_only; }
  void get_many(std::span<const bytes> keys, detail::bytes_table::indexed_reader read,
                status* answers) override {
    std::fill_n(answers, keys.size(), status::out_of_memory);
    static_cast<void>(with_memory([&] {
      record found;
      for (std::size_t i = 0; i < keys.size(); ++i)
        answers[i] = get_into(keys[i], found, [&](bytes value) { read(i, value); });
      return status::ok;
    }));
  }
  void put_many(std::span<const bytes> keys, const bytes*, status* answers) override {
    std::fill_n(answers, keys.size(), status::read_only);
  }
  void erase_many(std::span<const bytes> keys, status* answers) override {
    std::fill_n(answers, keys.size(), status::read_only);
  }
  status scan(cursor& at, std::size_t limit, detail::bytes_table::visitor visit) override {
    return with_memory([&] {
      return this->visit_some(at, limit, [&](const record& r) { visit(r.key(), r.value()); });
    });
  }

 private:
  template <class Read>
  status get_into(bytes key, record& found, Read&& read) {
    if (!takes_key(this->reader_, this->pool_->block(), key)) return status::invalid_argument;
    const status s = this->find(key, found);
    if (s == status::ok) read(found.value());
    return s;
  }
};

}  // namespace durahash
