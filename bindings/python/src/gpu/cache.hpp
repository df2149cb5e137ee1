// Figures of copies of buckets, as Python has them.
#pragma once

#include <nanobind/nanobind.h>
#include <durahash/gpu.hpp>

namespace durahash::python {

inline nanobind::dict as_dict(const gpu::cache_figures& now) {
  nanobind::dict made;
  made["copies"] = now.copies;
  made["loads"] = now.loads;
  made["looks"] = now.looks;
  made["hits"] = now.hits;
  return made;
}

}  // namespace durahash::python
