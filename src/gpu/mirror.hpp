// A copy of a lent table in other memory, for a device to work on. What it changes there the host
// stores in the pool with every commit (split_commit.hpp).
#pragma once

#include <algorithm>
#include <vector>

#include "base/check.hpp"
#include "gpu/device.hpp"

namespace durahash::gpu {

class mirror {
 public:
  mirror(device_memory& memory, memory_kind kind) noexcept : memory_(memory), kind_(kind) {}
  ~mirror() { drop_all_but({}); }
  mirror(const mirror&) = delete;

  /// Copies all of the table. Takes what memory is missing, gives back what it does not need.
  error copy(const leased_table& home) {
    std::vector<part> wanted = parts_of(home);
    drop_all_but(wanted);
    for (const part& each : wanted) {
      part* mine = find(each.home);
      if (mine == nullptr && (mine = add(each)) == nullptr) return no_memory(each);
      if (error e = memory_.copy(mine->copy, mine->home, mine->words * 8); e.code != status::ok)
        return e;
    }
    return {status::ok, {}};
  }

  /// Growth: a level that the device fills, in the copy; then it goes to the pool. Null: no memory.
  leased_level add_level(const leased_table& table, const leased_level& home) {
    part* made = add({home.first, nullptr, table.words_of(home.log2)});
    return {made == nullptr ? nullptr : made->copy, home.log2};
  }
  /// Calls store(first, words) for all of that level.
  template <class Store>
  error bring_home(const leased_level& level, Store&& store) const {
    const part& from = *of_copy(level.first);
    std::vector<std::uint64_t> words(std::min(from.words, max_words_at_once));
    for (std::uint64_t first = 0; first < from.words; first += words.size()) {
      std::uint64_t count = std::min<std::uint64_t>(words.size(), from.words - first);
      if (error e = memory_.copy(words.data(), from.copy + first, count * 8); e.code != status::ok)
        return e;
      store(first, std::span<const std::uint64_t>(words.data(), count));
    }
    return {status::ok, {}};
  }

  /// The table as the device is to see it: one that was copied, or to which a level was added.
  /// Copies of what it has lost are given back.
  leased_table shown(const leased_table& home) {
    drop_all_but(parts_of(home));
    leased_table made = home;
    for (unsigned l = 0; l < home.where.form().levels; ++l)
      made.levels[l] = find(home.levels[l])->copy;
    made.escapes = reinterpret_cast<gphash::slot*>(find(&home.escapes->state)->copy);
    return made;
  }

  /// Where a word of the copy is in the pool.
  pm<std::uint64_t>& home_of(const pm<std::uint64_t>* word) const {
    const part& in = *of_copy(word);
    return in.home[word - in.copy];
  }

 private:
  struct part {
    pm<std::uint64_t>* home;
    pm<std::uint64_t>* copy;
    std::uint64_t words;
  };
  static constexpr std::uint64_t max_words_at_once = std::uint64_t{1} << 20;

  static std::vector<part> parts_of(const leased_table& home) {
    std::vector<part> all{
        {&home.escapes->state, nullptr, sizeof(gphash::slot) / 8 * gphash::first_fingerprint}};
    for (unsigned l = 0; l < home.where.form().levels; ++l)
      all.push_back({home.levels[l], nullptr, home.words_of(home.log2[l])});
    return all;
  }
  part* find(const pm<std::uint64_t>* home) {
    for (part& each : parts_)
      if (each.home == home) return &each;
    return nullptr;
  }
  const part* of_copy(const pm<std::uint64_t>* word) const {
    for (const part& each : parts_)
      if (word >= each.copy && word < each.copy + each.words) return &each;
    check(false, "the word is one of the copy's");
    return nullptr;
  }
  part* add(part made) {
    made.copy = static_cast<pm<std::uint64_t>*>(memory_.allocate(made.words * 8, kind_));
    return made.copy == nullptr ? nullptr : &parts_.emplace_back(made);
  }
  void drop_all_but(const std::vector<part>& wanted) {
    auto unwanted = [&](const part& mine) {
      for (const part& each : wanted)
        if (each.home == mine.home && each.words == mine.words) return false;
      return memory_.free(mine.copy, kind_), true;
    };
    std::erase_if(parts_, unwanted);
  }
  error no_memory(const part& missing) const {
    return {status::no_space,
            "no memory " +
                std::string(kind_ == memory_kind::own ? "on the device"
                                                      : "that host and device share") +
                " for a copy of " + std::to_string(missing.words * 8) + " bytes of the table"};
  }

  device_memory& memory_;
  memory_kind kind_;
  std::vector<part> parts_;
};

}  // namespace durahash::gpu
