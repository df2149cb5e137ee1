// SQLite in WAL mode: prepared statements, one transaction a group, a cache that holds the table, a
// log of 64 MiB between checkpoints as durahash's. It lets in one writer at a time: here a mutex,
// which costs less than its own busy handler; each thread reads by a connection of its own.
#include <sqlite3.h>

#include <mutex>
#include <optional>

#include "bench/peers/disk/store.hpp"

namespace durahash::peers {
namespace {

class connection {
 public:
  explicit connection(const std::string& path, const std::string& synchronous) {
    if (sqlite3_open_v2(path.c_str(), &db_,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                        nullptr) != SQLITE_OK)
      fail("sqlite: cannot open " + path);
    run("PRAGMA journal_mode=WAL");
    run("PRAGMA synchronous=" + synchronous);
    run("PRAGMA wal_autocheckpoint=16384");
    run("PRAGMA cache_size=-1048576");  // KiB
  }
  ~connection() { sqlite3_close_v2(db_); }
  connection(const connection&) = delete;

  void run(const std::string& sql) {
    if (sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) refuse();
  }
  [[noreturn]] void refuse() { fail(std::string("sqlite: ") + sqlite3_errmsg(db_)); }
  sqlite3* db() { return db_; }

 private:
  sqlite3* db_ = nullptr;
};

class statement {
 public:
  statement(connection& c, const char* sql) : connection_(c) {
    if (sqlite3_prepare_v3(c.db(), sql, -1, SQLITE_PREPARE_PERSISTENT, &statement_, nullptr) !=
        SQLITE_OK)
      c.refuse();
  }
  ~statement() { sqlite3_finalize(statement_); }
  statement(const statement&) = delete;

  void bind(int at, std::uint64_t word) {
    sqlite3_bind_int64(statement_, at, static_cast<sqlite3_int64>(word));
  }
  void bind(int at, std::string_view bytes) {
    sqlite3_bind_blob(statement_, at, bytes.data(), static_cast<int>(bytes.size()), SQLITE_STATIC);
  }
  /// Whether there is a row.
  bool step() {
    int answer = sqlite3_step(statement_);
    if (answer != SQLITE_ROW && answer != SQLITE_DONE) connection_.refuse();
    return answer == SQLITE_ROW;
  }
  void reset() { sqlite3_reset(statement_); }
  sqlite3_stmt* get() { return statement_; }

 private:
  connection& connection_;
  sqlite3_stmt* statement_ = nullptr;
};

struct writer {
  writer(const std::string& path, const std::string& synchronous, const record_shape& shape)
      : db(path, synchronous), bytes(shape) {
    db.run(shape.words ? "CREATE TABLE t(k INTEGER PRIMARY KEY, v INTEGER)"
                       : "CREATE TABLE t(k BLOB PRIMARY KEY, v BLOB) WITHOUT ROWID");
    begin.emplace(db, "BEGIN IMMEDIATE");
    commit.emplace(db, "COMMIT");
    put.emplace(db, "INSERT INTO t VALUES(?,?) ON CONFLICT(k) DO UPDATE SET v=excluded.v");
  }
  std::mutex busy;
  connection db;
  encoder bytes;
  std::optional<statement> begin, commit, put;
};

class sqlite_session final : public session {
 public:
  sqlite_session(const store_request& asked, const std::string& path, writer& one)
      : words_(asked.shape.words),
        writer_(one),
        db_(path, asked.mode),
        bytes_(asked.shape),
        get_(db_, "SELECT v FROM t WHERE k=?") {}

  void put(std::span<const std::uint64_t> keys) override {
    std::scoped_lock alone(writer_.busy);
    auto run = [](statement& s) { s.step(), s.reset(); };
    if (keys.size() > 1) run(*writer_.begin);
    for (std::uint64_t key : keys) {
      if (words_) writer_.put->bind(1, key), writer_.put->bind(2, value_of(key));
      else
        writer_.put->bind(1, writer_.bytes.key(key)),
            writer_.put->bind(2, writer_.bytes.value(key));
      run(*writer_.put);
    }
    if (keys.size() > 1) run(*writer_.commit);
  }

  bool get(std::uint64_t key) override {
    if (words_) get_.bind(1, key);
    else get_.bind(1, bytes_.key(key));
    bool right = get_.step();
    if (right)
      right = (words_ ? static_cast<std::uint64_t>(sqlite3_column_int64(get_.get(), 0))
                      : encoder::word_of(sqlite3_column_blob(get_.get(), 0))) == value_of(key);
    get_.reset();
    return right;
  }

 private:
  bool words_;
  writer& writer_;
  connection db_;
  encoder bytes_;
  statement get_;
};

class sqlite_store final : public store {
 public:
  explicit sqlite_store(const store_request& asked)
      : asked_(asked),
        path_(asked.folder + "/db.sqlite"),
        writer_(std::make_unique<writer>(path_, asked.mode, asked.shape)) {}
  std::unique_ptr<session> new_session() override {
    return std::make_unique<sqlite_session>(asked_, path_, *writer_);
  }
  void close() override { writer_.reset(); }

 private:
  store_request asked_;
  std::string path_;
  std::unique_ptr<writer> writer_;
};

}  // namespace

/// Modes: FULL, NORMAL.
std::unique_ptr<store> open_sqlite(const store_request& asked) {
  if (asked.name != "sqlite") return nullptr;
  return std::make_unique<sqlite_store>(asked);
}

}  // namespace durahash::peers
