// RocksDB: one WriteBatch a group; its own group commit joins the threads. Modes: sync and nosync
// (the log goes to the page cache, and a loss of power takes its tail), each as it comes, or with
// -tuned: write buffers of 256 MiB, no compression, Bloom filters, a cache that holds the table,
// and logs that are used again, so that a sync has no length to write.
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>

#include "bench/peers/disk/store.hpp"

namespace durahash::peers {
namespace {

void must(const rocksdb::Status& s) {
  if (!s.ok()) fail("rocksdb: " + s.ToString());
}

rocksdb::Slice of(std::string_view bytes) { return {bytes.data(), bytes.size()}; }

class rocksdb_session final : public session {
 public:
  rocksdb_session(rocksdb::DB& db, bool sync, const record_shape& shape) : db_(db), bytes_(shape) {
    how_.sync = sync;
  }

  void put(std::span<const std::uint64_t> keys) override {
    if (keys.size() == 1)
      return must(db_.Put(how_, of(bytes_.key(keys[0])), of(bytes_.value(keys[0]))));
    batch_.Clear();
    for (std::uint64_t key : keys) must(batch_.Put(of(bytes_.key(key)), of(bytes_.value(key))));
    must(db_.Write(how_, &batch_));
  }

  bool get(std::uint64_t key) override {
    found_.Reset();
    return db_.Get({}, db_.DefaultColumnFamily(), of(bytes_.key(key)), &found_).ok() &&
           encoder::word_of(found_.data()) == value_of(key);
  }

 private:
  rocksdb::DB& db_;
  rocksdb::WriteOptions how_;
  encoder bytes_;
  rocksdb::WriteBatch batch_;
  rocksdb::PinnableSlice found_;
};

rocksdb::Options options_of(bool tuned) {
  rocksdb::Options how;
  how.create_if_missing = true;
  how.IncreaseParallelism(2);
  if (!tuned) return how;
  how.write_buffer_size = std::size_t{256} << 20;
  how.max_write_buffer_number = 4;
  how.compression = rocksdb::kNoCompression;
  how.recycle_log_file_num = 4;
  how.enable_pipelined_write = true;
  rocksdb::BlockBasedTableOptions table;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  table.block_cache = rocksdb::NewLRUCache(std::size_t{1} << 30);
  how.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return how;
}

class rocksdb_store final : public store {
 public:
  rocksdb_store(const store_request& asked, bool sync, bool tuned)
      : sync_(sync), shape_(asked.shape) {
    rocksdb::DB* db = nullptr;
    must(rocksdb::DB::Open(options_of(tuned), asked.folder + "/db", &db));
    db_.reset(db);
  }
  std::unique_ptr<session> new_session() override {
    return std::make_unique<rocksdb_session>(*db_, sync_, shape_);
  }
  /// With what is in memory alone, as the others.
  void close() override {
    must(db_->Flush({}));
    must(db_->Close());
    db_.reset();
  }

 private:
  bool sync_;
  record_shape shape_;
  std::unique_ptr<rocksdb::DB> db_;
};

}  // namespace

std::unique_ptr<store> open_rocksdb(const store_request& asked) {
  if (asked.name != "rocksdb") return nullptr;
  bool tuned = asked.mode.ends_with("-tuned"), sync = asked.mode.starts_with("sync");
  if (!sync && !asked.mode.starts_with("nosync")) fail("rocksdb has no mode " + asked.mode);
  return std::make_unique<rocksdb_store>(asked, sync, tuned);
}

}  // namespace durahash::peers
