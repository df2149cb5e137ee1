// The database `durahash` of YCSB-cpp: a record is its fields, one behind the other, as one value.
//
//   cmake ... -DDURAHASH_YCSB_CPP=FOLDER     of its sources; makes the program durahash_ycsb
//   durahash_ycsb -load -run -db durahash -P FOLDER/workloads/workloada -p durahash.path=pool.dh
//
// Properties: durahash.path (none: in memory), durahash.engine, durahash.durability,
// durahash.capacity, durahash.destroy (true: begin with an empty pool). As all of its databases it
// has one table, whatever its name.
#include <core/db.h>
#include <core/db_factory.h>
#include <utils/properties.h>
#include <utils/utils.h>
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <optional>

#include "bench/harness/number.hpp"
#include "durahash/table.hpp"

namespace durahash::harness {
namespace {

using ycsbc::DB;
using fields_of_record = std::vector<DB::Field>;

void append(std::string& record, std::string_view text) {
  const auto bytes = static_cast<std::uint32_t>(text.size());
  char length[sizeof bytes];
  std::memcpy(length, &bytes, sizeof bytes);
  record.append(length, sizeof length).append(text);
}

std::string record_of(const fields_of_record& fields) {
  std::string record;
  for (const DB::Field& field : fields) append(record, field.name), append(record, field.value);
  return record;
}

/// Calls `each(name, value)`; false where that is no record.
template <class Each>
bool for_each_field(std::string_view record, Each each) {
  auto next = [&](std::string_view& text) {
    std::uint32_t bytes = 0;
    if (record.size() < sizeof bytes) return false;
    std::memcpy(&bytes, record.data(), sizeof bytes);
    record.remove_prefix(sizeof bytes);
    if (record.size() < bytes) return false;
    text = record.substr(0, bytes);
    record.remove_prefix(bytes);
    return true;
  };
  std::string_view name, value;
  while (!record.empty()) {
    if (!next(name) || !next(value)) return false;
    each(name, value);
  }
  return true;
}

/// One for each thread of the harness; all share the table.
class ycsb_table final : public DB {
 public:
  void Init() override {
    std::scoped_lock all(lock_);
    if (users_ == 0) table_.emplace(opened(*props_));
    ++users_;
  }
  void Cleanup() override {
    std::scoped_lock all(lock_);
    if (--users_ > 0) return;
    const status closed = table_->close();
    table_.reset();
    if (closed != status::ok) fail("the close", closed);
  }

  Status Read(const std::string&, const std::string& key, const std::vector<std::string>* fields,
              std::vector<Field>& result) override {
    bool whole = true;
    const status found = table_->read(key, [&](std::string_view record) {
      whole = for_each_field(record, [&](std::string_view name, std::string_view value) {
        if (fields == nullptr || std::find(fields->begin(), fields->end(), name) != fields->end())
          result.push_back({std::string(name), std::string(value)});
      });
    });
    if (!whole) throw ycsbc::utils::Exception("durahash: the value of " + key + " has no fields");
    return answered("a read", found);
  }

  Status Scan(const std::string&, const std::string&, int, const std::vector<std::string>*,
              std::vector<std::vector<Field>>&) override {
    throw ycsbc::utils::Exception("durahash: a hash table has no order of keys: run without scans");
  }

  Status Update(const std::string&, const std::string& key, std::vector<Field>& values) override {
    const status changed = table_->update_with(key, [&](std::string_view present) {
      fields_of_record fields;
      for_each_field(present, [&](std::string_view name, std::string_view value) {
        fields.push_back({std::string(name), std::string(value)});
      });
      for (const Field& each : values) {
        auto at = std::find_if(fields.begin(), fields.end(),
                               [&](const Field& f) { return f.name == each.name; });
        if (at == fields.end()) fields.push_back(each);
        else at->value = each.value;
      }
      return record_of(fields);
    });
    return answered("an update", changed);
  }

  Status Insert(const std::string&, const std::string& key, std::vector<Field>& values) override {
    return answered("an insertion", table_->put(key, record_of(values)));
  }

  Status Delete(const std::string&, const std::string& key) override {
    return answered("a deletion", table_->erase(key));
  }

 private:
  [[noreturn]] static void fail(const std::string& what, status why) {
    throw ycsbc::utils::Exception("durahash: " + what +
                                  " is answered: " + std::string(message(why)));
  }
  static Status answered(const char* what, status answer) {
    if (answer == status::ok) return kOK;
    if (answer == status::not_found) return kNotFound;
    fail(what, answer);
  }

  /// The property through `named`, or nothing where it is not given.
  template <class Named>
  static auto property(const ycsbc::utils::Properties& from, const std::string& name, Named named)
      -> decltype(named(std::string())) {
    const std::string text = from.GetProperty("durahash." + name, "");
    if (text.empty()) return {};
    auto value = named(text);
    if (!value) throw ycsbc::utils::Exception("durahash." + name + "=" + text + " is not known");
    return value;
  }

  static table opened(const ycsbc::utils::Properties& from) {
    const std::string path = from.GetProperty("durahash.path", "");
    options how;
    how.medium = path.empty() ? medium_kind::memory : medium_kind::automatic;
    how.engine = property(from, "engine", engine_named);
    how.durability = property(from, "durability", durability_named);
    how.capacity = property(from, "capacity", number_of).value_or(0);
    if (!path.empty() && from.GetProperty("durahash.destroy", "false") == "true") {
      std::filesystem::remove(path);
      std::filesystem::remove(path + "-log");
    }
    auto pool = table::open(path, how);
    if (!pool) throw ycsbc::utils::Exception(pool.failure().message);
    return std::move(*pool);
  }

  static inline std::mutex lock_;
  static inline int users_ = 0;
  static inline std::optional<table> table_;
};

[[maybe_unused]] const bool is_registered =
    ycsbc::DBFactory::RegisterDB("durahash", [] { return static_cast<DB*>(new ycsb_table); });

}  // namespace
}  // namespace durahash::harness
