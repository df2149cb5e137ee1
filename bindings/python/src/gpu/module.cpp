// The module durahash._gpu: what durahash/gpu.py is made of. It links CUDA's runtime, which
// durahash._core never needs.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <durahash/gpu_memory.hpp>

#include "map.hpp"
#include "memory.hpp"
#include "table.hpp"

namespace durahash::python {
namespace {

/// What map and table have both.
template <class Kind, class Class>
void define_pool(Class& c) {
  c.def(nb::init<const std::string&, nb::dict, nb::dict>(), nb::arg("path"), nb::arg("options"),
        nb::arg("device_options"))
      .def("reserve", &Kind::reserve, nb::arg("records"),
           "Makes room for so many records in all. Waits for the device.")
      .def("compact", &Kind::compact,
           "Rebuilds the table at its tightest, and gives the rest back to the file system.")
      .def("sync", &Kind::sync, "All that returned before is on the medium.")
      .def("close", &Kind::close)
      .def("size", &Kind::size, "How many records there are. Waits for the device.")
      .def("stats", &Kind::stats, "Counters and figures of the engine.")
      .def("salvage_report", &Kind::salvage_report, "What an opening with salvage has dropped.")
      .def("_info", &Kind::info)
      .def("_check", &Kind::check)
      .def("_place", &Kind::place)
      .def("_durability", &Kind::durability)
      .def_prop_ro("closed", &Kind::is_closed)
      .def_prop_ro("_forked", &Kind::is_forked);
}

std::string device_name(int number) {
  auto name = [&] {
    require_devices();
    without_gil others;
    return gpu::device_name(number);
  }();
  if (!name) raise(name.failure().code, name.failure().message);
  return *name;
}

constexpr const char* about_caches =
    "Copies of buckets, loads; of every sixteenth find looks and hits. All 0: no cache.";

}  // namespace
}  // namespace durahash::python

NB_MODULE(_gpu, m) {
  using namespace durahash::python;
  using namespace nb::literals;
  count_generations();
  raise_by("device_error_of");
  m.doc() = "The CUDA side of durahash; use durahash.gpu.";

  nb::class_<durahash::gpu::map::export_cursor>(m, "Cursor")
      .def(nb::init<>())
      .def_ro("done", &durahash::gpu::map::export_cursor::done);
  nb::class_<durahash::gpu::selection>(m, "Selection")
      .def(
          "__init__",
          [](durahash::gpu::selection* made, std::uint64_t key_min, std::uint64_t key_max,
             std::uint64_t value_min, std::uint64_t value_max, std::uint64_t mask,
             std::uint64_t bits) {
            new (made) durahash::gpu::selection{key_min, key_max, value_min, value_max, mask, bits};
          },
          "key_min"_a, "key_max"_a, "value_min"_a, "value_max"_a, "mask"_a, "bits"_a);

  class_of_calls<device_memory>(m, "Memory")
      .def(nb::init<std::size_t, int, bool>(), "bytes"_a, "device"_a, "pinned"_a)
      .def_prop_ro("address", &device_memory::where);
  class_of_calls<device_stream>(m, "Stream")
      .def(nb::init<int>(), "device"_a)
      .def_prop_ro("address", &device_stream::where)
      .def_prop_ro("device", &device_stream::number);
  class_of_calls<moment>(m, "Mark")
      .def(nb::init<int, address>(), "device"_a, "stream"_a)
      .def_prop_ro("reached", &moment::is_reached)
      .def("wait", &moment::wait);
  class_of_calls<lent>(m, "Lent")
      .def(nb::init<nb::ndarray<nb::ro>>(), "array"_a)
      .def_prop_ro("address", &lent::where)
      .def_prop_ro("shape", &lent::shape)
      .def_prop_ro("contiguous", &lent::is_contiguous)
      .def_prop_ro("element", &lent::element)
      .def_prop_ro("device", &lent::device);

  class_of_calls<device_map> map(m, "Map", nb::is_weak_referenceable());
  define_pool<device_map>(map);
  map.def("_find", &device_map::find, "n"_a, "keys"_a, "values"_a, "answers"_a, "stream"_a,
          "indices"_a, "count"_a)
      .def("_write_async", &device_map::write_async, "what"_a, "n"_a, "keys"_a, "values"_a,
           "answers"_a, "stream"_a)
      .def("_write", &device_map::write, "what"_a, "n"_a, "keys"_a, "values"_a, "answers"_a,
           "stream"_a)
      .def("_commit", &device_map::commit, "stream"_a)
      .def("_export", &device_map::export_batch, "cursor"_a, "which"_a, "n"_a, "keys"_a, "values"_a,
           "stream"_a)
      .def("_erase_if", &device_map::erase_if, "which"_a, "stream"_a)
      .def("_load_cache", &device_map::load_cache)
      .def("cache", &device_map::cache, about_caches);

  class_of_calls<device_table> table(m, "Table", nb::is_weak_referenceable());
  define_pool<device_table>(table);
  table
      .def("_find", &device_table::find, "n"_a, "keys"_a, "values"_a, "value_bytes"_a, "answers"_a,
           "stream"_a, "lengths"_a, "indices"_a, "count"_a)
      .def("_locate", &device_table::locate, "n"_a, "keys"_a, "places"_a, "lengths"_a, "answers"_a,
           "stream"_a, "indices"_a, "count"_a)
      .def("_gather", &device_table::gather, "n"_a, "keys"_a, "width"_a, "from_element"_a,
           "to_element"_a, "mean"_a, "bags"_a, "offsets"_a, "rows"_a, "answers"_a, "stream"_a,
           "indices"_a, "count"_a)
      .def("_wait", &device_table::wait, "stream"_a)
      .def("_write", &device_table::write, "what"_a, "n"_a, "keys"_a, "values"_a, "value_bytes"_a,
           "answers"_a)
      .def("_key_bytes", &device_table::key_bytes)
      .def("_load_cache", &device_table::load_cache)
      .def("cache", &device_table::cache, about_caches);

  m.def("device_name", &device_name, "device"_a = 0, nb::call_guard<call>());
  m.def("lend", &lend, "owner"_a, "address"_a, "shape"_a, "code"_a, "bits"_a, "kind"_a, "device"_a,
        nb::call_guard<call>());
  m.def("copy", &copy, "device"_a, "to"_a, "source"_a, "bytes"_a, nb::call_guard<call>());
  m.def("wait", &wait_for, "device"_a, "stream"_a, nb::call_guard<call>());
  m.def(
      "reaches",
      [](int number, address where, std::size_t bytes) {
        require_devices();
        without_gil others;
        return durahash::gpu::is_reached(number, at<const void>(where), bytes);
      },
      "device"_a, "address"_a, "bytes"_a, nb::call_guard<call>());
  m.def(
      "is_captured",
      [](int number, address on) {
        require_devices();
        without_gil others;
        return durahash::gpu::is_captured(number, stream_of(on));
      },
      "device"_a, "stream"_a, nb::call_guard<call>());
  m.def("message", [](int code) {
    return std::string(durahash::message(static_cast<durahash::status>(code)));
  });
  m.def("interpreter_ends", &interpreter_ends, "tables_are_closed"_a);
  m.def("ignore_leaks", [] { nb::set_leak_warnings(false); });
}
