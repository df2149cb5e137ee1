// The value of one key: a pool, and what the catalog says of it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "durahash/table.hpp"
#include "pool_id.hpp"
#include "settings.hpp"

namespace durahash::server {

/// What DH.CREATE asks for.
struct table_kind {
  engine_kind engine = engine_kind::turbo;
  data_kind key = data_kind::bytes;
  data_kind value = data_kind::bytes;
  durability_level durability = durability_level::process;
  std::uint64_t capacity = 0;

  bool operator==(const table_kind&) const = default;
};

/// So many go into a table that was made for none.
inline constexpr std::uint64_t few_records = 1024;

/// Of a table that nobody said more of.
table_kind usual_kind();

/// Where a table is in the keyspace.
struct placement {
  int database = 0;
  std::string name;
  std::int64_t expire_at = -1;  ///< milliseconds since 1970, or -1

  bool operator==(const placement&) const = default;
};

/// Threads: the pool's operations in any thread; the other fields belong to the event loop. It is
///          destroyed by whoever lets go of it last: never by the event loop, see let_go().
class hosted_table : public std::enable_shared_from_this<hosted_table> {
 public:
  /// A new and empty pool.
  static result<std::shared_ptr<hosted_table>> create(const table_kind& kind);
  /// The pool of that name, which must be there.
  static result<std::shared_ptr<hosted_table>> open(const pool_id& id);
  /// A copy of that table under a new name, as it is at one moment: of all its pages.
  static result<std::shared_ptr<hosted_table>> copy(hosted_table& of);
  /// Whether its records alone are soon copied.
  bool is_small();
  /// All records of a table that nobody changes meanwhile, durably.
  status take_records_of(hosted_table& other);
  /// Stands for a table while the server loads files that are older than the catalog.
  static std::shared_ptr<hosted_table> placeholder(const pool_id& id);

  /// Closes the pool; removes its files where no row of the catalog names it.
  ~hosted_table();

  const pool_id& id() const noexcept { return id_; }
  bool is_placeholder() const noexcept { return !pool_; }
  table& pool() { return *pool_; }
  const pool_kinds& kinds() const noexcept { return kinds_; }
  std::string path() const;
  std::uint64_t file_bytes() const;

  /// Whether size() answers at once: after a crash the records are counted in the background.
  bool counted() const noexcept { return counted_.load(std::memory_order_acquire); }
  /// Waits for that count.
  std::uint64_t size();

  placement where;
  std::uint64_t epoch = 0;
  bool has_row = false;             ///< the catalog names it
  bool linked = false;              ///< the keyspace holds it
  unsigned writes_until_look = 0;   ///< at its size, where that is limited
  std::uint64_t row_erased_at = 0;  ///< the pool's files go when the catalog is durable up to there
  std::uint64_t row_written_at = 0;    ///< answers wait until the catalog is durable up to there
  std::optional<table_kind> taken_as;  ///< made ahead, and taken by the command under way

 private:
  hosted_table(const pool_id& id, std::optional<table> pool);

  pool_id id_;
  std::optional<table> pool_;
  pool_kinds kinds_{};
  std::atomic<bool> counted_{false};
};

using table_ref = std::shared_ptr<hosted_table>;

/// Lets a thread of the background drop it, which may have to close and remove a pool.
void let_go(table_ref table);

/// `folder/ID.dh` of a pool.
std::string pool_path(const pool_id& id);
void remove_pool_files(const std::string& path);

}  // namespace durahash::server
