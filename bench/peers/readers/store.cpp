#include "bench/peers/readers/store.hpp"

#include <lmdb.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "durahash/map.hpp"

namespace durahash::peers {
namespace {

void must(int code) {
  if (code != MDB_SUCCESS) fail(std::string("lmdb: ") + mdb_strerror(code));
}

/// As fast as it writes: straight into the map, without a wait for the disk. That survives the
/// death of the process, as durahash's level `process` does. One transaction a put; a read
/// transaction that is renewed for each get.
class lmdb final : public store {
 public:
  lmdb(const std::string& folder, role as) {
    must(mdb_env_create(&env_));
    must(mdb_env_set_mapsize(env_, std::size_t{16} << 30));
    must(mdb_env_set_maxreaders(env_, 126));
    const unsigned how = as == role::reads ? MDB_RDONLY : MDB_WRITEMAP | MDB_NOSYNC;
    must(mdb_env_open(env_, folder.c_str(), how | MDB_NOTLS, 0600));
    MDB_txn* first = nullptr;
    must(mdb_txn_begin(env_, nullptr, as == role::reads ? MDB_RDONLY : 0u, &first));
    must(mdb_dbi_open(first, nullptr, MDB_INTEGERKEY, &table_));
    must(mdb_txn_commit(first));
    if (as != role::reads) return;
    must(mdb_txn_begin(env_, nullptr, MDB_RDONLY, &reader_));
    mdb_txn_reset(reader_);
  }
  ~lmdb() override {
    if (reader_ != nullptr) mdb_txn_abort(reader_);
    mdb_env_close(env_);
  }
  void put(std::uint64_t key, std::uint64_t value) override {
    MDB_txn* writer = nullptr;
    must(mdb_txn_begin(env_, nullptr, 0, &writer));
    MDB_val k{sizeof key, &key}, v{sizeof value, &value};
    must(mdb_put(writer, table_, &k, &v, 0));
    must(mdb_txn_commit(writer));
  }
  bool get(std::uint64_t key) override {
    must(mdb_txn_renew(reader_));
    const bool found = is_there(key);
    mdb_txn_reset(reader_);
    return found;
  }
  void begin_to_read(std::uint64_t key) override {
    must(mdb_txn_renew(reader_));
    if (!is_there(key)) fail("a record is not there");
  }
  void copy(const std::string& to) override {
    if (::mkdir(to.c_str(), 0700) != 0) fail("cannot make " + to);
    must(mdb_env_copy(env_, to.c_str()));
  }

 private:
  bool is_there(std::uint64_t key) {
    MDB_val k{sizeof key, &key}, v{};
    std::uint64_t value = 0;
    if (mdb_get(reader_, table_, &k, &v) != MDB_SUCCESS || v.mv_size != sizeof value) return false;
    std::memcpy(&value, v.mv_data, sizeof value);
    return is_value_of(key, value);
  }

  MDB_env* env_ = nullptr;
  MDB_dbi table_ = 0;
  MDB_txn* reader_ = nullptr;
};

class durahash_store final : public store {
 public:
  using words = map<std::uint64_t, std::uint64_t>;

  durahash_store(engine_kind engine, durability_level level, const std::string& file, role as)
      : all_(opened(file, {.mode = as == role::makes    ? open_mode::create_new
                                   : as == role::writes ? open_mode::open_existing
                                                        : open_mode::read_beside,
                           .engine = engine,
                           .durability = level})) {}
  void put(std::uint64_t key, std::uint64_t value) override {
    if (status s = all_.put(key, value); s != status::ok) fail(std::string(message(s)));
  }
  bool get(std::uint64_t key) override {
    const auto value = all_.get(key);
    return value && is_value_of(key, *value);
  }
  void begin_to_read(std::uint64_t key) override {
    if (!get(key)) fail("a record is not there");
  }
  void copy(const std::string& to) override {
    if (error e = all_.backup(to); e.code != status::ok) fail(e.message);
  }

 private:
  static words opened(const std::string& file, const options& how) {
    auto made = words::open(file, how);
    if (!made) fail(made.failure().message);
    return std::move(*made);
  }
  words all_;
};

}  // namespace

std::unique_ptr<store> open_store(const std::string& name, const std::string& folder, role as) {
  if (name == "lmdb") return std::make_unique<lmdb>(folder, as);
  const std::size_t colon = std::min(name.find(':'), name.size());
  const auto engine = engine_named(name.substr(0, colon));
  const auto level = colon == name.size() ? std::optional(durability_level::process)
                                          : durability_named(name.substr(colon + 1));
  if (!engine || !level) fail("there is no store " + name);
  return std::make_unique<durahash_store>(*engine, *level, file_of(name, folder), as);
}

std::string file_of(const std::string& name, const std::string& folder) {
  return folder + (name == "lmdb" ? "/data.mdb" : "/pool.dh");
}

}  // namespace durahash::peers
