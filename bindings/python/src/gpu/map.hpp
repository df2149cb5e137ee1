// A gpu::map as Python holds it. Its calls take turns: the library wants one at a time, but for
// finds and loads of copies.
#pragma once

#include <durahash/gpu.hpp>
#include <memory>

#include "../openable.hpp"
#include "address.hpp"
#include "cache.hpp"

namespace durahash::python {

/// What durahash/_gpu_map.py asks of a batch of writes; the numbers are its own.
enum class map_write : int { put, insert, update, erase, find_or_insert, add };

/// Throws where a name or a value is none of an option's.
gpu::device_options device_options_of(nb::dict how);
std::string place_name(gpu::table_place place);

/// Calls answer a status, as a number, and what went wrong in words where there are any.
class device_map : public openable {
 public:
  device_map(const std::string& path, nb::dict how, nb::dict on);
  ~device_map();

  int find(std::size_t n, address keys, address values, address answers, address on,
           address indices, address count);
  int write_async(int what, std::size_t n, address keys, address values, address answers,
                  address on);
  /// Waits, and commits. put, insert, find_or_insert and add grow the table.
  nb::tuple write(int what, std::size_t n, address keys, address values, address answers,
                  address on);
  nb::tuple commit(address on);
  nb::tuple export_batch(gpu::map::export_cursor& at, const gpu::selection& which, std::size_t n,
                         address keys, address values, address on);
  nb::tuple erase_if(const gpu::selection& which, address on);
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
  gpu::map& map() noexcept { return *map_; }
  /// Beside finds, and nothing else.
  template <class Run>
  auto in_turn(Run&& run) {
    use open(*this);
    without_gil others;
    std::scoped_lock one(turn_);
    return run();
  }
  template <class Run>
  void require(Run&& run);
  /// Of a failed device: why.
  std::string why(status s, address on);

  std::unique_ptr<gpu::map> map_;
  std::uint64_t max_staged_ = 0;  ///< operations between two commits
  std::mutex turn_;
};

}  // namespace durahash::python
