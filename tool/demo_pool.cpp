#include "demo_pool.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <iterator>

#include "failure.hpp"
#include "pool.hpp"

namespace durahash::tool {
namespace {

// more than a file's record ever needs, growth included
constexpr std::uint64_t pool_bytes_per_file = 1024;

/// In memory if there is room, where it is fastest; the promise holds on any file.
std::string temporary_path(std::size_t files) {
  const std::string memory = "/dev/shm";
  const std::uint64_t needed = files * pool_bytes_per_file + (std::uint64_t{64} << 20);
  struct statvfs room {};
  const bool fits = ::statvfs(memory.c_str(), &room) == 0 && ::access(memory.c_str(), W_OK) == 0 &&
                    std::uint64_t{room.f_bavail} * room.f_frsize > needed;
  const std::string folder = fits ? memory : std::filesystem::temp_directory_path().string();
  return fmt::format("{}/durahash-demo-{}.dh", folder, ::getpid());
}

}  // namespace

void remove_when_interrupted(const std::string& path) {
  static char doomed[8][256];  // for the handler, which can be given nothing
  static std::atomic<std::size_t> count{0};
  if (count == std::size(doomed) || path.size() >= sizeof doomed[0]) return;
  path.copy(doomed[count], path.size());
  ++count;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE})
    ::signal(signal, [](int number) {
      for (std::size_t i = 0; i < count; ++i) ::unlink(doomed[i]);
      ::signal(number, SIG_DFL);
      ::raise(number);  // pending until this handler returns: the caller sees the signal
    });
}

demo_pool::demo_pool(const std::string& wanted, std::size_t files)
    : path_(wanted.empty() ? temporary_path(files) : wanted), temporary_(wanted.empty()) {
  options how;
  how.mode = open_mode::create_new;
  auto pool = table::open(path_, how);
  if (!pool) throw failure(exit_unusable, pool.failure().message);
  close_pool(*pool);
  if (temporary_) remove_when_interrupted(path_);
}

demo_pool::~demo_pool() {
  if (temporary_) ::unlink(path_.c_str());
}

}  // namespace durahash::tool
