// Some words that change together: an undo log, as the published tables have it of PMDK.
#pragma once

#include <vector>

#include "bench/baselines/design.hpp"

namespace durahash::baselines {

/// Words and their new values. Nothing changes before `commit`.
template <class M>
class transaction {
 public:
  /// `log` is a word of the root that names the entries while they are needed.
  transaction(space<M>& memory, pm<std::uint64_t>& log) : memory_(memory), log_(log) {}

  ~transaction() {
    if (at_ != 0) memory_.release(at_, bytes_);
  }
  transaction(const transaction&) = delete;
  transaction& operator=(const transaction&) = delete;

  /// Room for so many changes. Returns false where there is none.
  bool reserve(std::size_t words) {
    bytes_ = 8 + 16 * words;
    at_ = memory_.allocate(bytes_);
    return at_ != 0;
  }
  void set(pm<std::uint64_t>& word, std::uint64_t value) { changes_.push_back({&word, value}); }

  // crash before 1: nothing has changed. After 1, before 3: recovery puts all words back.
  void commit(site where) {
    M& m = memory_.medium();
    const std::uint64_t used = 8 + 16 * changes_.size();
    check(used <= bytes_, "a transaction has as many changes as room was reserved for");
    auto* words = memory_.template at<pm<std::uint64_t>>(at_);
    store(m, words[0], changes_.size());
    for (std::size_t i = 0; i < changes_.size(); ++i) {
      store(m, words[1 + 2 * i], memory_.offset_of(changes_[i].word));
      store(m, words[2 + 2 * i], load(m, *changes_[i].word));
    }
    (void)persist(m, extent{words, used}, "transaction.entries");
    (void)publish(m, log_, at_, after_nothing("the entries are durable"),
                  "transaction.begin");  // 1
    flushed all;
    for (auto& each : changes_) {
      store(m, *each.word, each.value);
      all += flush(m, extent_of(*each.word), where);
    }
    (void)fence(m, std::move(all), where);  // 2
    // COMMIT: the words have their new values
    (void)publish(m, log_, 0, after_nothing("the words are durable"), "transaction.end");  // 3
  }

 private:
  struct change {
    pm<std::uint64_t>* word;
    std::uint64_t value;
  };

  space<M>& memory_;
  pm<std::uint64_t>& log_;
  std::uint64_t at_ = 0, bytes_ = 0;
  std::vector<change> changes_;
};

/// Recovery: a transaction that has not ended changes nothing. Returns false of a log that lies
/// nowhere.
template <class M>
bool undo(space<M>& memory, pm<std::uint64_t>& log) {
  M& m = memory.medium();
  const std::uint64_t at = load(m, log);
  if (at == 0) return true;
  if (at >= memory.end()) return false;
  auto* words = memory.template at<pm<std::uint64_t>>(at);
  for (std::uint64_t i = 0; i < load(m, words[0]); ++i)
    (void)publish(m, *memory.template at<pm<std::uint64_t>>(load(m, words[1 + 2 * i])),
                  load(m, words[2 + 2 * i]), after_nothing("logged"), "transaction.undo");
  (void)publish(m, log, 0, after_nothing("undone"), "transaction.undone");
  return true;
}

}  // namespace durahash::baselines
