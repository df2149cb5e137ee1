// What a close leaves in the file of a disk beside the log: bytes that nobody flushes.
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "base/hash.hpp"
#include "disk_pool.hpp"
#include "durahash/table.hpp"
#include "persist/format.hpp"
#include "store/scratch.hpp"

namespace durahash::test {
namespace {

template <class T>
T read_at(std::ifstream& file, std::uint64_t offset) {
  T made{};
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(reinterpret_cast<char*>(&made), sizeof made);
  return made;
}

root_record root_in_force(std::ifstream& file) {
  const auto sequence = read_at<std::uint64_t>(file, selector_offset);
  return read_at<root_record>(file, root_offsets[sequence % 2]);
}

/// The heap's state: without it the next open looks at every record.
TEST(DiskClose, LeavesTheHeapsStateInTheFile) {
  for (engine_kind engine : all_engines()) {
    SCOPED_TRACE(name_of(engine));
    scratch_folder folder(disk_folder());
    const std::string path = folder.file("pool");
    options how;
    how.engine = engine, how.medium = medium_kind::disk, how.durability = durability_level::power;
    auto pool = table::open(path, how);
    ASSERT_TRUE(pool) << pool.failure().message;
    for (std::uint64_t n = 0; n < 1000; ++n)
      ASSERT_EQ(pool->put(key_of(n), std::string(50, 'v')), status::ok);
    ASSERT_EQ(pool->close(), status::ok);

    std::ifstream file(path, std::ios::binary);
    const root_record root = root_in_force(file);
    ASSERT_EQ(root.state, durahash::pool_state::clean);
    ASSERT_NE(root.heap_state_offset, 0u);
    std::string saved(root.heap_state_bytes, '\0');
    file.seekg(static_cast<std::streamoff>(root.heap_state_offset));
    file.read(saved.data(), static_cast<std::streamsize>(saved.size()));
    ASSERT_TRUE(file);
    EXPECT_EQ(checksum(saved.data(), saved.size()), root.heap_state_checksum);
  }
}

}  // namespace
}  // namespace durahash::test
