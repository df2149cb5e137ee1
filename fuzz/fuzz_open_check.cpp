// libFuzzer's entry: no input may crash, hang, or reach outside the pool. `make fuzz` runs it.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "open_check.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  durahash::fuzz::open_check({reinterpret_cast<const char*>(data), size});
  return 0;
}
