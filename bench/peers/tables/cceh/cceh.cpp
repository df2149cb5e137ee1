// CCEH, as its authors published it (https://github.com/DICL/CCEH): with splits in place, or
// copying. It has neither update nor deletion. util/persist.h beside this file writes lines back.
#include <bitset>
#include <cassert>
#include <cmath>
#include <cstring>
#include <functional>
#include <iostream>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "bench/peers/tables/table.hpp"

// Both forms have the same names: each lies in a namespace of its own.
#ifdef INPLACE
#define FORM in_place
#else
#define FORM copying
#endif

namespace durahash::peers::FORM {
#include PEER_CODE

class cceh {
 public:
  cceh() : table_(new CCEH(2)) {}
  bool insert(std::uint64_t key, std::uint64_t value) {
    Key_t k = key;
    table_->Insert(k, reinterpret_cast<Value_t>(value));
    return true;
  }
  bool get(std::uint64_t key, std::uint64_t& value) {
    Key_t k = key;
    value = reinterpret_cast<std::uint64_t>(table_->Get(k));
    return value != 0;
  }

 private:
  CCEH* table_;  // it lives as long as the program
};

std::unique_ptr<any_table> make(const std::string&) { return std::make_unique<looped<cceh>>(); }

}  // namespace durahash::peers::FORM

namespace durahash::peers {

#ifdef INPLACE
std::vector<entry> authors_cceh() { return {{"authors-cceh", entry::durable, in_place::make}}; }
#else
std::vector<entry> authors_cceh_copying() {
  return {{"authors-cceh-copying", entry::durable, copying::make}};
}
#endif

}  // namespace durahash::peers
