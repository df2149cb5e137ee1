#include <chrono>
#include <thread>

#include "damaged_reader.hpp"

namespace durahash::test {

std::string fault_of(child_process& reader, shared_words& told) {
  static constexpr const char* phases[] = {"open", "lookups", "check", "writes", "close"};
  std::uint64_t last = ~std::uint64_t{0};
  auto moved = std::chrono::steady_clock::now();
  while (reader.running()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    auto now = std::chrono::steady_clock::now();
    if (std::uint64_t current = told[damage_told::current]; current != last)
      last = current, moved = now;
    if (now - moved > std::chrono::seconds(30)) {
      reader.kill();
      return std::string("it hangs in ") + phases[told[damage_told::phase]];
    }
  }
  child_end end = reader.wait();
  if (end.exited && end.exit_code == 0) return {};
  std::string where = std::string(" in ") + phases[told[damage_told::phase]];
  if (end.signal != 0) return "it died of signal " + std::to_string(end.signal) + where;
  switch (static_cast<damage_outcome>(told[damage_told::outcome].load())) {
    case damage_outcome::refused_without_reason: return "it was refused without a sentence";
    case damage_outcome::noticed_without_reason: return "check is not ok and names no violation";
    case damage_outcome::wrong_and_unnoticed:
      return "a lookup or a scan was wrong, and check finds nothing";
    case damage_outcome::lost: return "records were lost" + where;
    case damage_outcome::not_recovered: return "what has a wrong checksum was believed";
    default: return "it ended with exit code " + std::to_string(end.exit_code) + where;
  }
}

}  // namespace durahash::test
