#include "demo_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <charconv>
#include <chrono>
#include <filesystem>

namespace durahash::tool {
namespace {

/// Removes and returns what stands before the next `separator`.
std::string_view take(std::string_view& rest, char separator) {
  const std::size_t end = std::min(rest.find(separator), rest.size());
  const std::string_view taken = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return taken;
}

template <class Number>
bool parse(std::string_view text, Number& number) {
  const char* end = text.data() + text.size();
  const auto [stop, fault] = std::from_chars(text.data(), end, number);
  return fault == std::errc() && stop == end;
}

}  // namespace

std::optional<file_entry> look_at(const std::string& path) {
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) return std::nullopt;
  return file_entry{path, static_cast<std::uint64_t>(facts.st_size), facts.st_mtim.tv_sec};
}

file_list list_files(const std::string& folder, std::size_t limit, double seconds) {
  namespace fs = std::filesystem;
  using clock = std::chrono::steady_clock;
  const auto deadline = clock::now() + std::chrono::duration<double>(seconds);
  file_list list;
  std::error_code fault;
  for (fs::recursive_directory_iterator
           at(folder, fs::directory_options::skip_permission_denied, fault),
       end;
       !fault && at != end; at.increment(fault)) {
    if (list.files.size() >= limit || clock::now() > deadline) {
      list.complete = false;
      break;
    }
    if (at->is_symlink(fault) || at->is_directory(fault)) continue;
    if (auto entry = look_at(at->path().string())) list.files.push_back(std::move(*entry));
  }
  return list;
}

std::string fingerprint(const std::string& path) {
  static thread_local std::string content(fingerprint_bytes, '\0');
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
  if (file < 0) return "-";
  std::size_t length = 0;
  ssize_t got = 1;
  while (got > 0 && length < content.size()) {
    got = ::read(file, content.data() + length, content.size() - length);
    if (got > 0) length += static_cast<std::size_t>(got);
  }
  ::close(file);
  return got < 0 ? "-" : fmt::format("{:016x}", XXH3_64bits(content.data(), length));
}

std::string text_of(const file_facts& facts) {
  return fmt::format("{} {} {} {}", facts.size, facts.modified, facts.fingerprint, facts.pass);
}

std::optional<file_facts> parse_facts(std::string_view text) {
  file_facts facts;
  if (!parse(take(text, ' '), facts.size) || !parse(take(text, ' '), facts.modified))
    return std::nullopt;
  facts.fingerprint = take(text, ' ');
  if (facts.fingerprint.empty() || !parse(text, facts.pass)) return std::nullopt;
  return facts;
}

std::string packed(const std::vector<const file_entry*>& files) {
  std::string text;
  for (const file_entry* file : files) {
    text.append(file->path).push_back('\0');
    fmt::format_to(std::back_inserter(text), "{} {}", file->size, file->modified);
    text.push_back('\0');
  }
  return text;
}

std::vector<file_entry> unpacked(std::string_view text) {
  std::vector<file_entry> files;
  while (!text.empty()) {
    file_entry file{.path = std::string(take(text, '\0'))};
    std::string_view numbers = take(text, '\0');
    if (parse(take(numbers, ' '), file.size) && parse(numbers, file.modified))
      files.push_back(std::move(file));
  }
  return files;
}

}  // namespace durahash::tool
