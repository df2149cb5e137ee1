// In the place of YCSB-cpp's core/db_factory.h: databases by their names.
#pragma once

#include <map>
#include <string>

#include "db.h"

namespace ycsbc {

class DBFactory {
 public:
  using DBCreator = DB* (*)();
  static bool RegisterDB(std::string name, DBCreator make) {
    creators()[std::move(name)] = make;
    return true;
  }
  static std::map<std::string, DBCreator>& creators() {
    static std::map<std::string, DBCreator> all;
    return all;
  }
};

}  // namespace ycsbc
