// In the place of YCSB-cpp's utils/properties.h.
#pragma once

#include <map>
#include <string>

namespace ycsbc::utils {

class Properties {
 public:
  std::string GetProperty(const std::string& key, const std::string& otherwise = {}) const {
    auto at = all_.find(key);
    return at == all_.end() ? otherwise : at->second;
  }
  void SetProperty(const std::string& key, const std::string& value) { all_[key] = value; }

 private:
  std::map<std::string, std::string> all_;
};

}  // namespace ycsbc::utils
