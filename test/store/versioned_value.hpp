// Values that say of themselves which key and which version they are, and whether they are whole.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "setup.hpp"

namespace durahash::test {

/// Version `version` of key number n. Words: 24 bits each of key and version, and a check. Bytes:
/// key, version, a body whose length goes with the version, and a check over all of it.
std::string versioned_value(const setup& with, std::uint64_t n, std::uint64_t version);

/// The version, or nothing where the value is not whole or is another key's.
std::optional<std::uint64_t> version_in(const setup& with, std::uint64_t n, std::string_view value);

/// Whether a value is whole and belongs to `key`, which is nth_key() of the number that the value
/// names.
bool describes_itself(const setup& with, std::string_view key, std::string_view value);

}  // namespace durahash::test
