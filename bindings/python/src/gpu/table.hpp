// A gpu::table as Python holds it: rows that a device looks up and writes.
#pragma once

#include <durahash/gpu_table.hpp>
#include <memory>

#include "../openable.hpp"
#include "address.hpp"
#include "cache.hpp"

namespace durahash::python {

enum class table_write : int { put, insert, update, erase };

/// Calls answer a status, as a number. `where` are addresses of Python's.
class device_table : public openable {
 public:
  device_table(const std::string& path, nb::dict how, nb::dict on);
  ~device_table();

  int find(std::size_t n, address keys, address values, std::size_t value_bytes, address answers,
           address on, address lengths, address indices, address count);
  int locate(std::size_t n, address keys, address places, address lengths, address answers,
             address on, address indices, address count);
  int gather(std::size_t n, address keys, std::size_t width, int from, int to, bool mean,
             std::size_t bags, address offsets, address rows, address answers, address on,
             address indices, address count);
  nb::tuple wait(address on);
  int write(int what, std::size_t n, address keys, address values, std::size_t value_bytes,
            address answers);
  std::size_t key_bytes();
  int load_cache();
  nb::dict cache();
  void reserve(std::uint64_t records);
  void compact();
  void sync();
  void close();
  std::uint64_t size();
  nb::dict info();
  nb::dict stats();
  nb::tuple check();
  std::vector<std::string> salvage_report();
  std::string place();
  std::string durability();

 private:
  template <class Run>
  auto using_it(Run&& run) {
    use open(*this);
    without_gil others;
    return run(*table_);
  }
  template <class Run>
  void require(Run&& run);

  std::unique_ptr<gpu::table> table_;
};

}  // namespace durahash::python
