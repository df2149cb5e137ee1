// Options and facts of a pool, as the dictionaries that durahash/_table.py makes and gets.
#pragma once

#include <durahash/info.hpp>
#include <durahash/options.hpp>

#include "errors.hpp"

namespace durahash::python {

/// The object as UTF-8. Throws where it is no str; `what` is its name.
std::string text_of(nb::handle object, const char* what);

/// Throws where a name or a value is none of an option's.
options options_of(nb::dict how);

nb::dict dict_of(const pool_info& is);
nb::dict dict_of(const table_stats& are);

}  // namespace durahash::python
