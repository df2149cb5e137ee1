#include "map.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>

#include "../options.hpp"

namespace durahash::python {
namespace {

constexpr std::array places = {"automatic", "pool", "host_mirror", "device_mirror"};
constexpr std::array policies = {"lfu", "lru", "random"};

template <class Number>
Number whole(nb::handle given, const std::string& what) {
  Number made = 0;
  if (nb::try_cast(given, made)) return made;
  raise(PyExc_TypeError, what + " must be a whole number, and is " + nb::repr(given).c_str());
}

template <class Kind, std::size_t N>
Kind named(nb::handle given, const char* what, const std::array<const char*, N>& names) {
  const std::string name = text_of(given, what);
  std::string all;
  for (std::size_t i = 0; i < N; ++i) {
    if (name == names[i]) return static_cast<Kind>(i);
    all += (i == 0 ? "" : ", ") + std::string(names[i]);
  }
  raise(PyExc_ValueError, std::string("no such ") + what + ": '" + name + "' (" + all + ")");
}

int number_of(status s) { return static_cast<int>(s); }

}  // namespace

gpu::device_options device_options_of(nb::dict how) {
  gpu::device_options made;
  for (auto [name, given] : how) {
    const std::string field = nb::cast<std::string>(name);
    if (field == "device") made.number = whole<int>(given, field);
    else if (field == "place") made.place = named<gpu::table_place>(given, "place", places);
    else if (field == "cache_percent") made.cache_percent = whole<unsigned>(given, field);
    else if (field == "cache_policy")
      made.policy = named<gpu::cache_policy>(given, "cache_policy", policies);
    else if (field == "max_staged") made.max_staged = whole<std::uint64_t>(given, field);
    else raise(PyExc_TypeError, "no such option: " + field);
  }
  return made;
}

std::string place_name(gpu::table_place place) { return places[static_cast<std::size_t>(place)]; }

device_map::device_map(const std::string& path, nb::dict how, nb::dict on) {
  const options asked = options_of(how);
  const gpu::device_options device = device_options_of(on);
  auto opened = [&] {
    require_devices();
    without_gil others;
    return gpu::map::open(path, asked, device);
  }();
  if (!opened) raise(opened.failure().code, opened.failure().message);
  map_ = std::make_unique<gpu::map>(std::move(*opened));
  max_staged_ = device.max_staged;
}
device_map::~device_map() {
  without_gil others(!is_forked());
  map_.reset();
}

template <class Run>
void device_map::require(Run&& run) {
  if (const status s = in_turn(run); s != status::ok) raise(s, why(s, 0));
}

std::string device_map::why(status s, address on) {
  std::string words;
  if (s == status::io_error)
    static_cast<void>(in_turn([&] { return map().commit(stream_of(on), &words); }));
  return words;
}

int device_map::find(std::size_t n, address keys, address values, address answers, address on,
                     address indices, address count) {
  use open(*this);
  without_gil others;
  return number_of(map().find_async(n, at<const std::uint64_t>(keys), at<std::uint64_t>(values),
                                    at<status>(answers), stream_of(on),
                                    {at<std::uint32_t>(indices), at<std::uint64_t>(count)}));
}

int device_map::write_async(int what, std::size_t n, address keys, address values, address answers,
                            address on) {
  auto* k = at<const std::uint64_t>(keys);
  auto* v = at<std::uint64_t>(values);
  auto* a = at<status>(answers);
  const gpu::stream s = stream_of(on);
  return number_of(in_turn([&] {
    switch (static_cast<map_write>(what)) {
      case map_write::put: return map().put_async(n, k, v, a, s);
      case map_write::insert: return map().insert_async(n, k, v, a, s);
      case map_write::update: return map().update_async(n, k, v, a, s);
      case map_write::erase: return map().erase_async(n, k, a, s);
      case map_write::find_or_insert: return map().find_or_insert_async(n, k, v, a, s);
      case map_write::add: return map().add_async(n, k, v, a, s);
    }
    return status::invalid_argument;
  }));
}

nb::tuple device_map::write(int what, std::size_t n, address keys, address values, address answers,
                            address on) {
  auto* k = at<const std::uint64_t>(keys);
  auto* v = at<std::uint64_t>(values);
  auto* a = at<status>(answers);
  const gpu::stream s = stream_of(on);
  std::string words;
  const status done = in_turn([&] {
    // What others staged comes first, as for calls that grow; then as much as may be staged.
    auto in_parts = [&](auto&& begin) {
      status so_far = map().commit(s, &words);
      for (std::size_t first = 0; first < n && so_far == status::ok; first += max_staged_) {
        so_far = begin(first, std::min<std::size_t>(max_staged_, n - first));
        if (so_far == status::ok) so_far = map().commit(s, &words);
      }
      return so_far;
    };
    switch (static_cast<map_write>(what)) {
      case map_write::put: return map().put(n, k, v, a, s);
      case map_write::insert: return map().insert(n, k, v, a, s);
      case map_write::update:
        return in_parts([&](std::size_t first, std::size_t count) {
          return map().update_async(count, k + first, v + first, a + first, s);
        });
      case map_write::erase:
        return in_parts([&](std::size_t first, std::size_t count) {
          return map().erase_async(count, k + first, a + first, s);
        });
      case map_write::find_or_insert: return map().find_or_insert(n, k, v, a, s);
      case map_write::add: return map().add(n, k, v, a, s);
    }
    return status::invalid_argument;
  });
  if (done == status::io_error && words.empty()) words = why(done, on);
  return nb::make_tuple(number_of(done), words);
}

nb::tuple device_map::commit(address on) {
  std::string words;
  const status done = in_turn([&] { return map().commit(stream_of(on), &words); });
  return nb::make_tuple(number_of(done), words);
}

nb::tuple device_map::export_batch(gpu::map::export_cursor& where, const gpu::selection& which,
                                   std::size_t n, address keys, address values, address on) {
  std::size_t exported = 0;
  const status done = in_turn([&] {
    return map().export_batch_if(where, which, n, at<std::uint64_t>(keys),
                                 at<std::uint64_t>(values), exported, stream_of(on));
  });
  return nb::make_tuple(number_of(done), exported, why(done, on));
}

nb::tuple device_map::erase_if(const gpu::selection& which, address on) {
  std::uint64_t erased = 0;
  const status done = in_turn([&] { return map().erase_if(which, &erased, stream_of(on)); });
  return nb::make_tuple(number_of(done), erased, why(done, on));
}

int device_map::load_cache() {
  use open(*this);
  without_gil others;
  return number_of(map().load_cache());
}

nb::dict device_map::cache() {
  return as_dict(in_turn([&] { return map().cache(); }));
}

void device_map::reserve(std::uint64_t records) {
  require([&] { return map().reserve(records); });
}
void device_map::compact() {
  require([&] { return map().compact(); });
}
void device_map::sync() {
  require([&] { return map().sync(); });
}
void device_map::close() {
  std::string words;
  const status s = close_by([&] {
    static_cast<void>(map().commit(nullptr, &words));  // a close has no words of its own
    return map().close();
  });
  if (s != status::ok && s != status::closed)
    raise(s, s == status::io_error && !words.empty()
                 ? words +
                       "; what was not committed may be lost, and the next opening recovers the "
                       "pool"
                 : "");
}
std::uint64_t device_map::size() {
  return in_turn([&] { return map().size(); });
}
nb::dict device_map::info() {
  return dict_of(in_turn([&] { return map().info(); }));
}
nb::dict device_map::stats() {
  return dict_of(in_turn([&] { return map().stats(); }));
}
nb::tuple device_map::check() {
  const check_report report = in_turn([&] { return map().check(); });
  return nb::make_tuple(report.ok, report.records, report.violations);
}
std::vector<std::string> device_map::salvage_report() {
  return in_turn([&] { return map().salvage_report(); });
}
std::string device_map::place() {
  return place_name(in_turn([&] { return map().place(); }));
}
std::string device_map::durability() {
  return std::string(name_of(in_turn([&] { return map().durability(); })));
}

}  // namespace durahash::python
