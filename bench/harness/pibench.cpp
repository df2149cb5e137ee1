// libdurahash_pibench.so, for PiBench (Lersch et al., VLDB 2020): what its tree_api.hpp asks for.
//
//   cmake ... -DDURAHASH_PIBENCH=FOLDER     the one that has tree_api.hpp
//   DURAHASH_ENGINE=cceh PiBench lib/libdurahash_pibench.so --pool_path pool.dh ...
#include <tree_api.hpp>

#include "bench/harness/harness_table.hpp"

namespace durahash::harness {
namespace {

class pibench_table final : public tree_api {
 public:
  explicit pibench_table(const tree_options_t& o)
      : table_({.key_bytes = o.key_size,
                .value_bytes = o.value_size,
                .path = o.pool_path,
                .max_bytes = o.pool_size}) {}

  bool find(const char* key, size_t bytes, char* value) override {
    return table_.find({key, bytes}, value);
  }
  bool insert(const char* key, size_t key_bytes, const char* value, size_t bytes) override {
    return table_.insert({key, key_bytes}, {value, bytes});
  }
  bool update(const char* key, size_t key_bytes, const char* value, size_t bytes) override {
    return table_.update({key, key_bytes}, {value, bytes});
  }
  bool remove(const char* key, size_t bytes) override { return table_.remove({key, bytes}); }
  int scan(const char*, size_t, int, char*&) override {
    give_up("a hash table has no order of keys: run without scans");
  }

 private:
  harness_table table_;
};

}  // namespace
}  // namespace durahash::harness

extern "C" [[gnu::visibility("default")]] tree_api* create_tree(const tree_options_t& options) {
  return new durahash::harness::pibench_table(options);
}
