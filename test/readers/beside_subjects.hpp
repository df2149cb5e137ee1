// What the tests of one thing at a time have in common: a pool, its records, and readers beside it.
#pragma once

#include <gtest/gtest.h>

#include "readers/subject.hpp"
#include "store/scratch.hpp"

namespace durahash::test {

inline const options beside{.mode = open_mode::read_beside};

class BesideSubjects : public ReaderSubjects {
 protected:
  const reader_subject& subject() const { return GetParam(); }
  std::string path() const { return folder_.file("pool.dh"); }
  void put(table& pool, std::uint32_t first, std::uint32_t last, std::uint32_t version) const {
    put_all(pool, subject(), first, last, version);
  }
  void erase(table& pool, std::uint32_t first, std::uint32_t last) const {
    std::vector<std::string> keys;
    for (std::uint32_t n = first; n < last; ++n) keys.push_back(subject().key(n));
    const std::vector<std::string_view> k(keys.begin(), keys.end());
    std::vector<status> answers(k.size());
    pool.erase_many(k, answers);
    for (status answer : answers) ASSERT_EQ(answer, status::ok);
  }
  void expect(const table& pool, std::uint32_t first, std::uint32_t last,
              std::uint32_t version) const {
    std::string text;
    for (std::uint32_t n = first; n < last; ++n) {
      ASSERT_EQ(pool.get(subject().key(n), text), status::ok) << n;
      ASSERT_EQ(subject().version_of(n, text), version) << n;
    }
    ASSERT_EQ(pool.get(subject().key(last + 100'000), text), status::not_found);
  }
  scratch_folder folder_{folder_for(subject())};
};

}  // namespace durahash::test
