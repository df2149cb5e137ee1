// What the tests of bad input share: an open that must be refused, with a sentence, and must harm
// nothing.
#pragma once

#include "conformance.hpp"
#include "damage.hpp"

namespace durahash::test {

inline setup plain_bytes() {
  return {engine_kind::turbo, place_kind::shm, api_kind::bytes, durability_level::process};
}

class bad_input : public testing::Test {
 protected:
  /// Opens for writing and for reading; expects both to be refused with a sentence that names the
  /// path and contains `words`.
  void expect_refused(const std::string& path, std::string_view words = "", options how = {}) {
    for (open_mode mode :
         {open_mode::create_or_open, open_mode::open_existing, open_mode::read_only}) {
      how.mode = mode;
      auto opened = table::open(path, how);
      ASSERT_FALSE(opened) << path << " opened";
      const error& why = opened.failure();
      EXPECT_NE(why.code, status::ok);
      EXPECT_GE(why.message.size(), path.size() + 10) << why.message;
      EXPECT_NE(why.message.find(path), std::string::npos) << "which file? " << why.message;
      EXPECT_NE(why.message.find(words), std::string::npos)
          << "not said: " << words << "; said: " << why.message;
    }
  }
  /// The same for a file of these bytes, which must stay as it is.
  void expect_bytes_refused(const std::string& bytes, std::string_view words = "") {
    std::string path = folder_.file("file");
    write_file(path, bytes);
    expect_refused(path, words);
    EXPECT_TRUE(read_file(path) == bytes) << "the refused open changed the file";
  }
  void expect_opens(const std::string& bytes) {
    std::string path = folder_.file("file");
    write_file(path, bytes);
    auto opened = table::open(path);
    ASSERT_TRUE(opened) << opened.failure().message;
    EXPECT_EQ(opened->size(), records);
    EXPECT_TRUE(opened->check().ok);
  }

  /// A pool of these bytes, for reading: nothing is mended by being opened.
  table opened(const std::string& bytes) {
    const std::string path = folder_.file("file");
    write_file(path, bytes);
    auto pool = table::open(path, {.mode = open_mode::read_only});
    if (!pool) throw std::runtime_error(pool.failure().message);
    return std::move(*pool);
  }

  static constexpr std::uint64_t records = 300;
  scratch_folder folder_;
};

}  // namespace durahash::test
