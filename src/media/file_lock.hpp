// An open, locked file: the part that file and pmem mappings share.
#pragma once

#include <cstdint>
#include <string>

#include "durahash/status.hpp"
#include "media/mapping.hpp"

namespace durahash {

/// Owns a descriptor and, through it, an exclusive lock (shared for readers) that the kernel drops when the process dies.
class locked_file {
 public:
  /// With request.create the file has no name yet: a crash before `appear` leaves nothing behind.
  static result<locked_file> open(const mapping_request& request);

  /// Gives a new file its name. Returns ok, or exists when another file took the name meanwhile. No-op for a file that has one.
  status appear();

  locked_file(locked_file&& other) noexcept;
  locked_file& operator=(locked_file&&) = delete;
  ~locked_file();

  int descriptor() const noexcept { return descriptor_; }
  const std::string& path() const noexcept { return path_; }
  std::uint64_t bytes() const;

 private:
  locked_file(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}
  int descriptor_;
  std::string path_;
  bool nameless_ = false;
};

/// "<what> <path>: <the system's words for errno>"
error system_error(status code, const std::string& what, const std::string& path);

}  // namespace durahash
