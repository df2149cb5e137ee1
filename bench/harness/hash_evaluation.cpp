// libdurahash_hash_evaluation.so, for HashEvaluation (Hu et al., VLDB 2021): what its hash_api.h
// asks for.
//
//   cmake ... -DDURAHASH_HASH_EVALUATION=FOLDER     the one that has hash_api.h
//   DURAHASH_ENGINE=level PiBench lib/libdurahash_hash_evaluation.so --pool_path pool.dh ...
#include <hash_api.h>

#include "bench/harness/harness_table.hpp"

namespace durahash::harness {
namespace {

class evaluated_table final : public hash_api {
 public:
  evaluated_table(const hashtable_options_t& o, unsigned records)
      : record_bytes_(o.key_size + o.value_size),
        table_({.key_bytes = o.key_size,
                .value_bytes = o.value_size,
                .path = o.pool_path,
                .max_bytes = o.pool_size,
                .capacity = records}) {}

  std::string hash_name() override {
    return "durahash " + std::string(name_of(table_.pool().kinds().engine));
  }
  /// Records by slots; bytes of keys and values by bytes that are reachable, as its CCEH has them.
  hash_Utilization utilization() override {
    const pool_info info = table_.pool().info();
    hash_Utilization now{};
    now.load_factor = static_cast<float>(info.load_factor);
    if (info.live_bytes != 0)
      now.utilization =
          static_cast<float>(record_bytes_ * info.records) / static_cast<float>(info.live_bytes);
    return now;
  }

  bool find(const char* key, size_t bytes, char* value, unsigned) override {
    return table_.find({key, bytes}, value);
  }
  bool insert(const char* key, size_t key_bytes, const char* value, size_t bytes, unsigned,
              unsigned) override {
    return table_.insert({key, key_bytes}, {value, bytes});
  }
  bool insertResize(const char* key, size_t key_bytes, const char* value, size_t bytes,
                    unsigned thread, unsigned time) override {
    return insert(key, key_bytes, value, bytes, thread, time);
  }
  bool update(const char* key, size_t key_bytes, const char* value, size_t bytes) override {
    return table_.update({key, key_bytes}, {value, bytes});
  }
  bool remove(const char* key, size_t bytes, unsigned) override {
    return table_.remove({key, bytes});
  }
  using hash_api::scan;
  int scan(const char*, size_t, int, char*&) override {
    give_up("a hash table has no order of keys: run without scans");
  }

 private:
  std::uint64_t record_bytes_;
  harness_table table_;
};

}  // namespace
}  // namespace durahash::harness

extern "C" [[gnu::visibility("default")]] hash_api* create_hashtable(
    const hashtable_options_t& options, unsigned records, unsigned) {
  return new durahash::harness::evaluated_table(options, records);
}
