#include "persist/owner.hpp"

#include <unistd.h>

#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <thread>

namespace durahash {
namespace {

/// What /proc/PID/stat says of a process.
struct process_facts {
  char state = 0;
  std::int64_t threads = 0;
  std::uint64_t start_ticks = 0;
};

/// Nothing if there is no such process, as far as this one can see.
std::optional<process_facts> facts_of(const std::string& process) {
  std::ifstream file("/proc/" + process + "/stat");
  std::string line{std::istreambuf_iterator<char>(file), {}};
  // the second field is the program's name, which may hold anything
  std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream rest(line.substr(name_end + 1));
  process_facts facts;
  std::string skipped;
  rest >> facts.state;  // field 3
  for (int field = 4; field < 20; ++field) rest >> skipped;
  rest >> facts.threads >> skipped >> facts.start_ticks;  // 20 and 22
  if (!rest) return std::nullopt;
  return facts;
}

/// A zombie has closed its files, if its first thread is the last one: others may outlive that.
bool has_closed_its_files(const process_facts& facts) {
  return (facts.state == 'Z' || facts.state == 'X') && facts.threads <= 1;
}

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
  owner.start_ticks = facts_of("self").value_or(process_facts{}).start_ticks;
  owner.side = side;
  return sealed(owner);
}

bool is_at_large(const owner_record& owner) {
  if (is_another_boot(owner.boot_id) || owner.process == static_cast<std::uint64_t>(::getpid()))
    return false;
  auto facts = facts_of(std::to_string(owner.process));
  return facts && facts->start_ticks == owner.start_ticks && !has_closed_its_files(*facts);
}

error outlast(const owner_record& owner, const std::string& path,
              std::chrono::milliseconds patience) {
  constexpr std::chrono::milliseconds step(10);
  for (std::chrono::milliseconds waited(0); is_at_large(owner); waited += step) {
    if (waited >= patience)
      return {status::unusable, "cannot open " + path + ": process " +
                                    std::to_string(owner.process) +
                                    " lent it to a device, holds its lock no longer, and has not "
                                    "ended; wait until it has, or end it (kill -9 " +
                                    std::to_string(owner.process) + "), then open the pool again"};
    std::this_thread::sleep_for(step);
  }
  return {status::ok, {}};
}

}  // namespace durahash
