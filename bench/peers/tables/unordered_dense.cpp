// ankerl::unordered_dense (https://github.com/martinus/unordered_dense): nothing durable, and for
// one thread.
#include <ankerl/unordered_dense.h>

#include "bench/peers/tables/table.hpp"

namespace durahash::peers {
namespace {

class dense {
 public:
  bool insert(std::uint64_t key, std::uint64_t value) { return map_.emplace(key, value).second; }
  bool get(std::uint64_t key, std::uint64_t& value) {
    auto at = map_.find(key);
    if (at == map_.end()) return false;
    value = at->second;
    return true;
  }
  bool update(std::uint64_t key, std::uint64_t value) {
    auto at = map_.find(key);
    if (at == map_.end()) return false;
    at->second = value;
    return true;
  }
  bool erase(std::uint64_t key) { return map_.erase(key) != 0; }

 private:
  ankerl::unordered_dense::map<std::uint64_t, std::uint64_t> map_;
};

std::unique_ptr<any_table> make(const std::string&) { return std::make_unique<looped<dense>>(); }

}  // namespace

std::vector<entry> unordered_dense() {
  return {{"unordered-dense", entry::volatile_yardstick, make}};
}

}  // namespace durahash::peers
