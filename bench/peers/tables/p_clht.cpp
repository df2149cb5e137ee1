// P-CLHT, as RECIPE published it (https://github.com/utsaslab/RECIPE). Its insertion refuses a key
// that is there, and it has no update. The emulation of a slower medium is off (CMakeLists.txt).
#include "bench/peers/tables/table.hpp"

#include <immintrin.h>

extern "C" {
#include <clht.h>
}

namespace durahash::peers {
namespace {

class p_clht {
 public:
  explicit p_clht() : table_(::clht_create(512)) {}
  void enter() { ::clht_gc_thread_init(table_, next_thread_++); }
  bool insert(std::uint64_t key, std::uint64_t value) {
    return ::clht_put(table_, key, value) != 0;
  }
  bool get(std::uint64_t key, std::uint64_t& value) {
    value = ::clht_get(table_->ht, key);
    return value != 0;
  }
  bool erase(std::uint64_t key) { return ::clht_remove(table_, key) != 0; }

 private:
  clht_t* table_;  // it lives as long as the program
  int next_thread_ = 0;
};

std::unique_ptr<any_table> make(const std::string&) { return std::make_unique<looped<p_clht>>(); }

}  // namespace

std::vector<entry> recipe_p_clht() { return {{"recipe-p-clht", entry::durable, make}}; }

}  // namespace durahash::peers
