// What an opening answers where it opens nothing.
#pragma once

#include <string>

#include "durahash/status.hpp"

namespace durahash {

inline error cannot_use(const std::string& path, const std::string& what) {
  return {status::unusable, "cannot use " + path + " as a pool: " + what};
}
inline error cannot_use(const std::string& path, status why) {
  return cannot_use(path, std::string(message(why)));
}
inline error cannot_salvage(const std::string& path, status why) {
  return {why, "cannot salvage " + path + ": " + std::string(message(why))};
}

}  // namespace durahash
