// In the place of PiBench's tree_api.hpp: its documented interface, and its order of functions.
#pragma once

#include <cstddef>
#include <string>

struct tree_options_t {
  std::size_t key_size = 8;
  std::size_t value_size = 8;
  std::string pool_path;
  std::size_t pool_size = 0;
  std::size_t num_threads = 1;
};

class tree_api {
 public:
  virtual ~tree_api() = default;
  virtual bool find(const char* key, std::size_t bytes, char* value) = 0;
  virtual bool insert(const char* key, std::size_t key_bytes, const char* value,
                      std::size_t value_bytes) = 0;
  virtual bool update(const char* key, std::size_t key_bytes, const char* value,
                      std::size_t value_bytes) = 0;
  virtual bool remove(const char* key, std::size_t bytes) = 0;
  virtual int scan(const char* key, std::size_t bytes, int records, char*& values) = 0;
};

extern "C" tree_api* create_tree(const tree_options_t& options);
