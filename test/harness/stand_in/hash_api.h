// In the place of HashEvaluation's hash_api.h: its documented interface, its order of functions.
#pragma once

#include <cstddef>
#include <string>

struct hashtable_options_t {
  std::size_t key_size = 8;
  std::size_t value_size = 8;
  std::string pool_path;
  std::size_t pool_size = 0;
  std::size_t num_threads = 1;
};
struct hash_Utilization {
  float load_factor;
  float utilization;
};

class hash_api {
 public:
  virtual void thread_ini(int) {}
  virtual void forsoft() {}
  virtual std::string hash_name() { return {}; }
  virtual ~hash_api() = default;
  virtual hash_Utilization utilization() { return {}; }
  virtual bool recovery() { return false; }
  virtual void vmem_print_api() {}
  virtual bool find(const char* key, std::size_t bytes, char* value, unsigned thread) = 0;
  virtual bool insert(const char* key, std::size_t key_bytes, const char* value,
                      std::size_t value_bytes, unsigned thread, unsigned time) = 0;
  virtual bool insertResize(const char*, std::size_t, const char*, std::size_t, unsigned,
                            unsigned) {
    return false;
  }
  virtual bool update(const char* key, std::size_t key_bytes, const char* value,
                      std::size_t value_bytes) = 0;
  virtual bool remove(const char* key, std::size_t bytes, unsigned thread) = 0;
  virtual int scan(const char* key, std::size_t bytes, int records, char*& values) = 0;
  virtual int scan(const char*, std::size_t, int, char*) { return 1; }
};

extern "C" hash_api* create_hashtable(const hashtable_options_t& options, unsigned records,
                                      unsigned threads);
