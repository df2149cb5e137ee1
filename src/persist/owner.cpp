#include "persist/owner.hpp"

#include <unistd.h>

#include <string>
#include <thread>

#include "base/process_facts.hpp"

namespace durahash {
namespace {

/// Whether it is known to be another run of the machine than this one.
bool is_another_boot(const std::array<std::uint8_t, 16>& boot) {
  constexpr std::array<std::uint8_t, 16> unknown{};
  auto here = this_boot();
  return boot != unknown && here != unknown && boot != here;
}

}  // namespace

owner_record this_process(owner_side side) {
  owner_record owner{};
  owner.boot_id = this_boot();
  owner.process = static_cast<std::uint64_t>(::getpid());
  owner.start_ticks = start_ticks_of_this_process();
  owner.side = side;
  return sealed(owner);
}

bool is_at_large(const owner_record& owner) {
  if (is_another_boot(owner.boot_id) || owner.process == static_cast<std::uint64_t>(::getpid()))
    return false;
  auto facts = facts_of_process(owner.process);
  return facts && facts->start_ticks == owner.start_ticks && !facts->has_closed_its_files();
}

error outlast(const owner_record& owner, const std::string& path,
              std::chrono::milliseconds patience) {
  constexpr std::chrono::milliseconds step(10);
  for (std::chrono::milliseconds waited(0); is_at_large(owner); waited += step) {
    if (waited >= patience)
      return {status::locked, "cannot open " + path + ": process " + std::to_string(owner.process) +
                                  " lent it to a device, holds its lock no longer, and has not "
                                  "ended; wait until it has, or end it (kill -9 " +
                                  std::to_string(owner.process) + "), then open the pool again"};
    std::this_thread::sleep_for(step);
  }
  return {status::ok, {}};
}

}  // namespace durahash
