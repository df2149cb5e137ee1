// boost::concurrent_flat_map: nothing durable.
#include <boost/unordered/concurrent_flat_map.hpp>

#include "bench/peers/tables/table.hpp"

namespace durahash::peers {
namespace {

class flat_map {
 public:
  bool insert(std::uint64_t key, std::uint64_t value) { return map_.emplace(key, value); }
  bool get(std::uint64_t key, std::uint64_t& value) {
    return map_.cvisit(key, [&](const auto& record) { value = record.second; }) != 0;
  }
  bool update(std::uint64_t key, std::uint64_t value) {
    return map_.visit(key, [&](auto& record) { record.second = value; }) != 0;
  }
  bool erase(std::uint64_t key) { return map_.erase(key) != 0; }

 private:
  boost::concurrent_flat_map<std::uint64_t, std::uint64_t> map_;
};

std::unique_ptr<any_table> make(const std::string&) { return std::make_unique<looped<flat_map>>(); }

}  // namespace

std::vector<entry> boost_flat_map() {
  return {{"boost-concurrent-flat-map", entry::volatile_yardstick, make}};
}

}  // namespace durahash::peers
