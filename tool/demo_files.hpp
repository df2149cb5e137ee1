// What the demo indexes: the files of a tree, and the line that the index keeps of each.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace durahash::tool {

struct file_entry {
  std::string path;
  std::uint64_t size = 0;
  std::int64_t modified = 0;  ///< seconds since 1970
};

struct file_list {
  std::vector<file_entry> files;
  bool complete = true;  ///< false if the tree has more than were asked for
};

/// The regular files under `folder`, links not followed, until there are `limit` or `seconds` have
/// passed.
file_list list_files(const std::string& folder, std::size_t limit, double seconds);

/// The file as it is now; nothing if it is gone.
std::optional<file_entry> look_at(const std::string& path);

/// XXH3 of the content's first `fingerprint_bytes`, in hexadecimal; "-" if it cannot be read.
inline constexpr std::size_t fingerprint_bytes = 256 * 1024;
std::string fingerprint(const std::string& path);

/// A record's value: "SIZE MODIFIED FINGERPRINT PASS".
struct file_facts {
  std::uint64_t size = 0;
  std::int64_t modified = 0;
  std::string fingerprint;
  int pass = 0;

  bool same_file(const file_entry& entry) const {
    return size == entry.size && modified == entry.modified;
  }
};
std::string text_of(const file_facts& facts);
std::optional<file_facts> parse_facts(std::string_view text);

/// A list as one string, for the process that indexes it.
std::string packed(const std::vector<const file_entry*>& files);
std::vector<file_entry> unpacked(std::string_view text);

}  // namespace durahash::tool
