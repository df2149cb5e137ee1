// TurboHash, as its authors published it (https://github.com/hansonzhao007/TurboHash), but that a
// new record's slot is written back before its bucket's word, as its paper has it (§3.4): the build
// adds that line to a copy (CMakeLists.txt).
#include <turbo/turbo_hash_pmem_pmdk.h>
#include <array>
#include <memory>
#include <optional>

#include "bench/peers/tables/table.hpp"

namespace durahash::peers {
namespace {

class turbohash {
 public:
  using table = ::turbo_pmem::unordered_map<std::size_t, std::size_t>;

  turbohash() : table_(new table) { table_->Initialize(1 << 14, 2); }
  void enter() { thread().emplace(table_->getThreadInfo()); }
  bool insert(std::uint64_t key, std::uint64_t value) { return table_->Put(key, value, *thread()); }
  bool update(std::uint64_t key, std::uint64_t value) { return table_->Put(key, value, *thread()); }
  bool get(std::uint64_t key, std::uint64_t& value) {
    return table_->Find(key, *thread(), [&](const auto& record) { value = record.value(); });
  }
  bool erase(std::uint64_t key) { return table_->Delete(key, *thread()); }

 private:
  static std::optional<::turbo_pmem::ThreadInfo>& thread() {
    thread_local std::optional<::turbo_pmem::ThreadInfo> mine;
    return mine;
  }

  table* table_;  // it lives as long as the program
};

std::unique_ptr<any_table> make(const std::string&) {
  return std::make_unique<looped<turbohash>>();
}

}  // namespace

std::vector<entry> authors_turbohash() { return {{"authors-turbohash", entry::durable, make}}; }

}  // namespace durahash::peers
