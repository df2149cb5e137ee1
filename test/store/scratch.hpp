// A folder that lives as long as a test, and the bytes of files in it.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace durahash::test {

class scratch_folder {
 public:
  explicit scratch_folder(const std::filesystem::path& parent = "/dev/shm");
  ~scratch_folder();
  scratch_folder(const scratch_folder&) = delete;
  scratch_folder& operator=(const scratch_folder&) = delete;

  std::string file(std::string_view name) const { return (path_ / name).string(); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// Both throw on failure: a test that cannot prepare its files has nothing to say.
std::string read_file(const std::string& path);
void write_file(const std::string& path, std::string_view bytes);

}  // namespace durahash::test
