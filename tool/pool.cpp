#include "pool.hpp"

#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>

#include "arguments.hpp"
#include "encoding.hpp"
#include "failure.hpp"
#include "numbers.hpp"

namespace durahash::tool {

option add_pool_argument(command_line command, std::string& path) {
  return add_argument(command, "POOL", path, "the pool's file");
}

void check_pool_name(const std::string& path) {
  if (path.empty()) throw failure(exit_usage, "the name of the pool is empty: give its file");
}

void refuse_pool(const std::string& path, const error& why) {
  const bool missing = ::access(path.c_str(), F_OK) != 0 && errno == ENOENT;
  throw failure(exit_unusable, why.message + (missing ? " (durahash create makes a pool)" : ""));
}

table open_pool(const std::string& path, open_mode mode, bool salvage) {
  check_pool_name(path);
  options how;
  how.mode = mode;
  how.salvage = salvage;
  auto pool = table::open(path, how);
  if (pool) return std::move(*pool);
  refuse_pool(path, pool.failure());
}

bool is_beside_a_writer(const table& pool) {
  for (const auto& [name, figure] : pool.stats().figures)
    if (name == "beside_a_writer") return figure != 0;
  return false;
}

namespace {

/// Throws `failure` where iteration is refused beside the writer.
void check_that_records_are_shown(const std::string& path, table& pool) {
  cursor at;
  if (pool.scan(at, 1, [](std::string_view, std::string_view) {}) == status::unusable)
    throw failure(exit_unusable,
                  "cannot read all of " + path +
                      " beside its writer: scans of its engine need memory of the writer's, which "
                      "the system shows to processes of its user and its PID namespace alone");
}

}  // namespace

table open_to_read(const std::string& path, bool visits) {
  check_pool_name(path);
  constexpr int tries = 3;  // who has it may go between the two openings
  for (int n = 1;; ++n) {
    auto alone = table::open(path, {.mode = open_mode::read_only});
    if (alone) return std::move(*alone);
    auto beside = table::open(path, {.mode = open_mode::read_beside});
    if (beside && is_beside_a_writer(*beside)) {
      if (visits) check_that_records_are_shown(path, *beside);
      return std::move(*beside);
    }
    const bool a_process_has_it = alone.failure().code == status::locked;
    if (!beside && (beside.failure().code == status::busy || a_process_has_it))
      refuse_pool(path, beside.failure());
    if (n == tries) refuse_pool(path, alone.failure());
  }
}

void close_pool(table& pool) {
  if (const status answer = pool.close(); answer != status::ok)
    throw failure(exit_unusable, "closing the pool: " + std::string(message(answer)));
}

std::string survives(const std::string& path, const pool_info& facts) {
  struct statfs place {};
  const bool in_memory = ::statfs(path.c_str(), &place) == 0 && place.f_type == TMPFS_MAGIC;
  switch (facts.durability) {
    case durability_level::none: return "nothing is promised";
    case durability_level::process:
      if (facts.medium == medium_kind::memory) return "nothing: it is memory of the process";
      if (in_memory) return "kill -9; it is lost with the machine's memory (for more: on a disk)";
      return "kill -9; a power cut once it is closed or synced (for more: durahash convert "
             "--durability power)";
    case durability_level::power: return "kill -9 and power cuts, with all that was acknowledged";
    case durability_level::power_buffered:
      return "kill -9 with all that was acknowledged; a power cut as of one moment, 10 ms before "
             "or two writes of the disk (for more: --durability power)";
  }
  return "unknown";
}

record_kinds kinds_of(const table& pool) {
  const pool_kinds facts = pool.kinds();
  return {facts.key, facts.value};
}

std::string why(const table& pool, status answer) {
  std::string text(message(answer));
  if (answer != status::invalid_argument) return text;
  for (const auto& [name, figure] : pool.stats().figures)
    if (name == "key_bytes" && figure > 0) text += fmt::format(": its keys have {} bytes", figure);
  return text;
}

std::string bytes_of(data_kind kind, std::string_view text, std::string_view what) {
  if (kind == data_kind::bytes) return std::string(text);
  if (const auto word = parse_word(text)) return bytes_of_word(*word);
  throw failure(exit_usage, "the " + std::string(what) + " " + shown(data_kind::bytes, text) +
                                " is not a 64-bit number, which this pool's " + std::string(what) +
                                "s are: write it in decimal, or in hexadecimal after 0x");
}

void check_key_length(std::string_view key) {
  if (key.size() > max_key_bytes)
    throw failure(exit_usage, "the key is " + grouped(key.size()) +
                                  " bytes long; the longest key is " + grouped(max_key_bytes));
}

std::string text_of(data_kind kind, std::string_view bytes) {
  return kind == data_kind::u64 ? std::to_string(word_of_bytes(bytes)) : std::string(bytes);
}

std::string bytes_of_word(std::uint64_t word) {
  std::string bytes(sizeof word, '\0');
  for (std::size_t i = 0; i < sizeof word; ++i) bytes[i] = static_cast<char>(word >> (8 * i));
  return bytes;
}

std::uint64_t word_of_bytes(std::string_view bytes) {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < sizeof word && i < bytes.size(); ++i)
    word |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  return word;
}

std::string shown(data_kind kind, std::string_view bytes) {
  if (kind == data_kind::u64) return text_of(kind, bytes);
  constexpr std::size_t readable = 60;
  std::string text = "'";
  append_escaped(text, bytes.substr(0, readable));
  return text + (bytes.size() > readable ? "...'" : "'");
}

}  // namespace durahash::tool
