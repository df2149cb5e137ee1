// In the place of YCSB-cpp's utils/utils.h: what databases throw.
#pragma once

#include <exception>
#include <string>

namespace ycsbc::utils {

class Exception : public std::exception {
 public:
  explicit Exception(const std::string& message) : message_(message) {}
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  std::string message_;
};

}  // namespace ycsbc::utils
