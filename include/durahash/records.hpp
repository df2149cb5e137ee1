// A table's records as a range.
#pragma once

#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

#include "durahash/info.hpp"
#include "durahash/status.hpp"

namespace durahash {

/// What `records()` of a table or a map gives: copies of its records, some hundred at a time, by
/// the promises of scan. It must not outlive the table, and has one iteration in it.
///
///     for (auto& [key, value] : users->records()) ...
///
/// Where the table cannot be read on it ends, and `answer()` says why.
/// Cost      a copy of each record.
template <class Table, class Key, class Value>
class record_range {
 public:
  using record = std::pair<Key, Value>;  ///< a copy of one

  /// Those from the cursor on.
  explicit record_range(const Table& of, cursor from = {}) : table_(&of), at_(from) {}

  /// An input iterator: each step takes the place of the record before.
  class iterator {
   public:
    using iterator_concept = std::input_iterator_tag;
    using value_type = record;
    using difference_type = std::ptrdiff_t;

    explicit iterator(record_range* in) : in_(in) {}
    record& operator*() const { return in_->some_[in_->next_]; }
    record* operator->() const { return &**this; }
    iterator& operator++() {
      ++in_->next_;
      in_->fill();
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const { return in_->next_ == in_->some_.size(); }

   private:
    record_range* in_;
  };

  /// Once: it reads on from where it stands.
  iterator begin() {
    fill();
    return iterator(this);
  }
  std::default_sentinel_t end() const { return {}; }

  /// ok; or why it ended before the last record.
  status answer() const noexcept { return answer_; }

 private:
  void fill() {
    while (next_ == some_.size() && !at_.done && answer_ == status::ok) {
      some_.clear();
      next_ = 0;
      answer_ = table_->scan(at_, 256, [&](const auto& key, const auto& value) {
        some_.emplace_back(Key(key), Value(value));
      });
    }
  }

  const Table* table_;
  cursor at_;
  std::vector<record> some_;
  std::size_t next_ = 0;
  status answer_ = status::ok;
};

}  // namespace durahash
