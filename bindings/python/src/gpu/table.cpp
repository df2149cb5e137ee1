#include "table.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "../options.hpp"
#include "map.hpp"

namespace durahash::python {
namespace {

int number_of(status s) { return static_cast<int>(s); }
gpu::missed_keys missed_of(address indices, address count) {
  return {at<std::uint32_t>(indices), at<std::uint64_t>(count)};
}

}  // namespace

device_table::device_table(const std::string& path, nb::dict how, nb::dict on) {
  const options asked = options_of(how);
  const gpu::device_options device = device_options_of(on);
  auto opened = [&] {
    require_devices();
    without_gil others;
    return gpu::table::open(path, asked, device);
  }();
  if (!opened) raise(opened.failure().code, opened.failure().message);
  table_ = std::make_unique<gpu::table>(std::move(*opened));
}
device_table::~device_table() {
  without_gil others(!is_forked());
  table_.reset();
}

template <class Run>
void device_table::require(Run&& run) {
  const status s = using_it(run);
  if (s == status::ok) return;
  std::string words;
  if (s == status::io_error)
    static_cast<void>(using_it([&](gpu::table& t) { return t.wait(nullptr, &words); }));
  raise(s, words);
}

int device_table::find(std::size_t n, address keys, address values, std::size_t value_bytes,
                       address answers, address on, address lengths, address indices,
                       address count) {
  return number_of(using_it([&](gpu::table& t) {
    return t.find_async(n, at<const void>(keys), at<void>(values), value_bytes, at<status>(answers),
                        stream_of(on), at<std::uint32_t>(lengths), missed_of(indices, count));
  }));
}
int device_table::locate(std::size_t n, address keys, address places, address lengths,
                         address answers, address on, address indices, address count) {
  return number_of(using_it([&](gpu::table& t) {
    return t.locate_async(n, at<const void>(keys), at<const void*>(places),
                          at<std::uint32_t>(lengths), at<status>(answers), stream_of(on),
                          missed_of(indices, count));
  }));
}
int device_table::gather(std::size_t n, address keys, std::size_t width, int from, int to,
                         bool mean, std::size_t bags, address offsets, address rows,
                         address answers, address on, address indices, address count) {
  const gpu::gathering how = {.width = width,
                              .from = static_cast<gpu::element>(from),
                              .to = static_cast<gpu::element>(to),
                              .how = mean ? gpu::pooling::mean : gpu::pooling::sum,
                              .bags = bags,
                              .offsets = at<const std::uint64_t>(offsets)};
  return number_of(using_it([&](gpu::table& t) {
    return t.gather_async(n, at<const void>(keys), how, at<void>(rows), at<status>(answers),
                          stream_of(on), missed_of(indices, count));
  }));
}
nb::tuple device_table::wait(address on) {
  std::string words;
  const status s = using_it([&](gpu::table& t) { return t.wait(stream_of(on), &words); });
  return nb::make_tuple(number_of(s), words);
}
int device_table::write(int what, std::size_t n, address keys, address values,
                        std::size_t value_bytes, address answers) {
  return number_of(using_it([&](gpu::table& t) {
    auto* k = at<const void>(keys);
    auto* v = at<const void>(values);
    auto* a = at<status>(answers);
    switch (static_cast<table_write>(what)) {
      case table_write::put: return t.put(n, k, v, value_bytes, a);
      case table_write::insert: return t.insert(n, k, v, value_bytes, a);
      case table_write::update: return t.update(n, k, v, value_bytes, a);
      case table_write::erase: return t.erase(n, k, a);
    }
    return status::invalid_argument;
  }));
}
std::size_t device_table::key_bytes() {
  return using_it([](gpu::table& t) { return t.key_bytes(); });
}
void device_table::reserve(std::uint64_t records) {
  require([&](gpu::table& t) { return t.reserve(records); });
}
void device_table::compact() {
  require([](gpu::table& t) { return t.compact(); });
}
void device_table::sync() {
  require([](gpu::table& t) { return t.sync(); });
}
void device_table::close() {
  const status s = close_by([&] { return table_->close(); });
  if (s != status::ok && s != status::closed) raise(s);
}
std::uint64_t device_table::size() {
  return using_it([](gpu::table& t) { return t.size(); });
}
nb::dict device_table::info() {
  return dict_of(using_it([](gpu::table& t) { return t.info(); }));
}
nb::dict device_table::stats() {
  return dict_of(using_it([](gpu::table& t) { return t.stats(); }));
}
nb::tuple device_table::check() {
  const check_report report = using_it([](gpu::table& t) { return t.check(); });
  return nb::make_tuple(report.ok, report.records, report.violations);
}
std::vector<std::string> device_table::salvage_report() {
  return using_it([](gpu::table& t) { return t.salvage_report(); });
}
int device_table::load_cache() {
  return number_of(using_it([](gpu::table& t) { return t.load_cache(); }));
}
nb::dict device_table::cache() {
  return as_dict(using_it([](gpu::table& t) { return t.cache(); }));
}

std::string device_table::place() {
  return place_name(using_it([](gpu::table& t) { return t.place(); }));
}
std::string device_table::durability() {
  return std::string(name_of(using_it([](gpu::table& t) { return t.durability(); })));
}

}  // namespace durahash::python
