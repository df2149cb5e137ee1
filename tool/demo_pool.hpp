// Where the demo keeps its pool.
#pragma once

#include <cstddef>
#include <string>

namespace durahash::tool {

/// A new pool: the user's, which stays, or a temporary one, which is removed at the end, also after
/// Ctrl-C.
class demo_pool {
 public:
  /// `wanted` may be empty. Throws `failure` if no pool can be made there.
  demo_pool(const std::string& wanted, std::size_t files);
  ~demo_pool();
  demo_pool(const demo_pool&) = delete;
  demo_pool& operator=(const demo_pool&) = delete;

  const std::string& path() const { return path_; }
  void keep() { temporary_ = false; }

 private:
  std::string path_;
  bool temporary_;
};

/// Ctrl-C and the like remove it from now on, and what was named before.
void remove_when_interrupted(const std::string& path);

}  // namespace durahash::tool
