// Opens arbitrary bytes as a pool and uses whatever opens, in every way the public API has.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace durahash::fuzz {

/// What came of one input. None of it is wrong; what is wrong ends the process.
struct outcome {
  bool opened = false;
  std::string refusal;        ///< the sentence, when it was not opened
  bool found_damage = false;  ///< check said so
};

/// One run, spelled by arbitrary bytes:
///   byte 0   mode % 4: 0 the rest is the file; 1, 2 the rest is damage to a sound pool; 3
///            likewise, with checksums made to hold again
///   byte 1   which sound pool
///   byte 2   how it is opened: bit 0 as map<u64, u64>, 1 read-only, 2 salvage, 3 emulated medium,
///            4 compacts too
outcome open_check(std::string_view input);

/// The same on a file's bytes. `how` is byte 2.
outcome open_check_bytes(std::string_view file, std::uint8_t how);

}  // namespace durahash::fuzz
