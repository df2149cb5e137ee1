// Level hashing: salvage, which keeps the records that verify.
#pragma once

#include "engine/frame/salvage.hpp"
#include "engine/level/check.hpp"
#include "engine/level/search.hpp"
#include "engine/level/table.hpp"

namespace durahash::level {

template <medium M, class Kind>
class table<M, Kind>::salvager {
 public:
  salvager(table& t, std::vector<std::string>& dropped) noexcept
      : t_(t), m_(t.m_), v_(t.levels_.now()), dropped_(dropped) {}

  void salvage() {
    flushed started;
    for (unsigned i = 0; i < v_.count; ++i)
      for (std::uint64_t index = 0; index < v_.at[i].buckets(); ++index) {
        keep_what_verifies(v_.at[i], index);
        started += flush(m_, t_.buckets_.bytes_of(t_.buckets_.at(v_.at[i], index)),
                         "level.salvage.buckets");
      }
    [[maybe_unused]] durable done = fence(m_, std::move(started), "level.salvage.all");
    t_.records_at_open_ = kept_;
  }

 private:
  /// Of a bucket. What is dropped goes at once: a copy that comes later is then the only one.
  void keep_what_verifies(const level_view& l, std::uint64_t index) {
    const auto& buckets = t_.buckets_;
    const bucket b = buckets.at(l, index);
    std::uint32_t tokens = buckets.state_of(b).tokens() & buckets.shape.all_tokens;
    buckets.for_each_resident(b, [&](const resident& r) {
      const candidates s = t_.second_maps_.candidates_of(r.hash, r.key_word);
      const std::string why = fault_of(l, index, r, s);
      if (why.empty()) {
        ++kept_;
        buckets.store_slot(b, r.slot, s, r.value_word);  // its tag may be what is damaged
        return;
      }
      dropped_.push_back(name_of_bucket(l, index) + ": dropped a record, " + why);
      tokens &= ~(1u << r.slot);
      store(m_, *b.state, buckets.state_of(b).with_tokens(tokens).word);
    });
    store(m_, *b.state, buckets.state_of(b).next(tokens, new_bucket.filter()).word);
  }

  /// The heap knows of the record's cell then, if nothing is wrong.
  std::string fault_of(const level_view& l, std::uint64_t index, const resident& r,
                       const candidates& s) {
    if (std::string why = t_.buckets_.fault_of(r); !why.empty()) return why;
    if (l.number(s.place[0]) != index && l.number(s.place[1]) != index) return "it is out of place";
    if (copies_of(t_.buckets_, v_, s, r) > 1) return "its key is there twice";
    return fault_of_cell<Kind>(m_, t_.p_, t_.heap_, r);
  }

  table& t_;
  M& m_;
  const levels_view& v_;
  std::vector<std::string>& dropped_;
  std::uint64_t kept_ = 0;
};

}  // namespace durahash::level
