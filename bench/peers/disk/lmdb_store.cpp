// LMDB: a map of 64 GiB, one write transaction a group, a read transaction that each thread renews.
// It lets in one writer at a time.
#include <lmdb.h>

#include "bench/peers/disk/store.hpp"

namespace durahash::peers {
namespace {

void must(int code) {
  if (code != MDB_SUCCESS) fail(std::string("lmdb: ") + mdb_strerror(code));
}

MDB_val of(std::string_view bytes) { return {bytes.size(), const_cast<char*>(bytes.data())}; }

class lmdb_session final : public session {
 public:
  lmdb_session(MDB_env* env, MDB_dbi table, const record_shape& shape)
      : env_(env), table_(table), words_(shape.words), bytes_(shape) {
    must(mdb_txn_begin(env_, nullptr, MDB_RDONLY, &reader_));
    mdb_txn_reset(reader_);
  }
  ~lmdb_session() override { mdb_txn_abort(reader_); }

  void put(std::span<const std::uint64_t> keys) override {
    MDB_txn* writer = nullptr;
    must(mdb_txn_begin(env_, nullptr, 0, &writer));
    for (std::uint64_t key : keys) {
      std::uint64_t value = value_of(key);
      MDB_val k = key_of(key);
      MDB_val v = words_ ? MDB_val{sizeof value, &value} : of(bytes_.value(key));
      must(mdb_put(writer, table_, &k, &v, 0));
    }
    must(mdb_txn_commit(writer));
  }

  bool get(std::uint64_t key) override {
    must(mdb_txn_renew(reader_));
    MDB_val k = key_of(key), v{};
    bool right = mdb_get(reader_, table_, &k, &v) == MDB_SUCCESS &&
                 encoder::word_of(v.mv_data) == value_of(key);
    mdb_txn_reset(reader_);
    return right;
  }

 private:
  MDB_val key_of(const std::uint64_t& key) {
    return words_ ? MDB_val{sizeof key, const_cast<std::uint64_t*>(&key)} : of(bytes_.key(key));
  }

  MDB_env* env_;
  MDB_dbi table_;
  bool words_;
  encoder bytes_;
  MDB_txn* reader_ = nullptr;
};

class lmdb_store final : public store {
 public:
  lmdb_store(const store_request& asked, unsigned flags) : shape_(asked.shape) {
    must(mdb_env_create(&env_));
    must(mdb_env_set_mapsize(env_, std::size_t{64} << 30));
    must(mdb_env_set_maxreaders(env_, 1024));
    must(mdb_env_open(env_, asked.folder.c_str(), flags | MDB_NOTLS, 0600));
    MDB_txn* first = nullptr;
    must(mdb_txn_begin(env_, nullptr, 0, &first));
    must(mdb_dbi_open(first, nullptr, shape_.words ? MDB_INTEGERKEY : 0, &table_));
    must(mdb_txn_commit(first));
  }
  ~lmdb_store() override { lmdb_store::close(); }
  std::unique_ptr<session> new_session() override {
    return std::make_unique<lmdb_session>(env_, table_, shape_);
  }
  void close() override {
    if (env_ != nullptr) mdb_env_close(env_);
    env_ = nullptr;
  }

 private:
  MDB_env* env_ = nullptr;
  MDB_dbi table_ = 0;
  record_shape shape_;
};

}  // namespace

/// Modes: sync; nometasync, which a loss of power may take the last transaction from; nosync and
/// writemap (with nosync), whose files a loss of power may break.
std::unique_ptr<store> open_lmdb(const store_request& asked) {
  if (asked.name != "lmdb") return nullptr;
  const struct {
    const char* mode;
    unsigned flags;
  } known[] = {{"sync", 0},
               {"nometasync", MDB_NOMETASYNC},
               {"nosync", MDB_NOSYNC},
               {"writemap", MDB_NOSYNC | MDB_WRITEMAP}};
  for (const auto& one : known)
    if (asked.mode == one.mode) return std::make_unique<lmdb_store>(asked, one.flags);
  fail("lmdb has no mode " + asked.mode);
}

}  // namespace durahash::peers
