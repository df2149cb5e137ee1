// In the place of YCSB-cpp's core/db.h: its documented interface of a database.
#pragma once

#include <string>
#include <vector>

#include "../utils/properties.h"

namespace ycsbc {

class DB {
 public:
  struct Field {
    std::string name;
    std::string value;
  };
  enum Status { kOK = 0, kError, kNotFound, kNotImplemented };

  virtual void Init() {}
  virtual void Cleanup() {}
  virtual Status Read(const std::string& table, const std::string& key,
                      const std::vector<std::string>* fields, std::vector<Field>& result) = 0;
  virtual Status Scan(const std::string& table, const std::string& key, int records,
                      const std::vector<std::string>* fields,
                      std::vector<std::vector<Field>>& result) = 0;
  virtual Status Update(const std::string& table, const std::string& key,
                        std::vector<Field>& values) = 0;
  virtual Status Insert(const std::string& table, const std::string& key,
                        std::vector<Field>& values) = 0;
  virtual Status Delete(const std::string& table, const std::string& key) = 0;
  virtual ~DB() = default;

  void SetProps(utils::Properties* properties) { props_ = properties; }

 protected:
  utils::Properties* props_ = nullptr;
};

}  // namespace ycsbc
