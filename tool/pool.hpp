// Pools as the commands use them: opened or refused with a sentence, and spoken to in text.
#pragma once

#include <string>
#include <string_view>

#include "arguments.hpp"
#include "durahash/table.hpp"

namespace durahash::tool {

/// What keys and values of a pool are.
struct record_kinds {
  data_kind key = data_kind::bytes;
  data_kind value = data_kind::bytes;
};

/// The POOL argument that most commands begin with.
option add_pool_argument(command_line command, std::string& path);

/// Throws `failure` for an empty name, as an unset variable of a script leaves it.
void check_pool_name(const std::string& path);

/// Throws `failure` with the library's sentence about a pool that cannot be opened.
[[noreturn]] void refuse_pool(const std::string& path, const error& why);

/// Opens an existing pool, or throws `failure` with the library's sentence.
table open_pool(const std::string& path, open_mode mode, bool salvage = false);

/// Opens an existing pool to read it: alone, or, where a process has it to write to, beside that.
/// `visits`: all its records are asked for, which some engines show to fewer processes than a key.
table open_to_read(const std::string& path, bool visits = true);

/// Whether it was opened beside a process that has it to write to.
bool is_beside_a_writer(const table& pool);

/// Closes it, or throws `failure`: the last chance to hear that something did not reach the file.
void close_pool(table& pool);

record_kinds kinds_of(const table& pool);

/// What the pool at that path comes through, and how to ask for more. One line.
std::string survives(const std::string& path, const pool_info& facts);

/// The library's message, and how long keys must be where the pool has one length for all.
std::string why(const table& pool, status answer);

/// The bytes that the table takes for what a person wrote. Throws `failure` when `text` is not a
/// 64-bit number and has to be one. `what` is "key" or "value", for the message.
std::string bytes_of(data_kind kind, std::string_view text, std::string_view what);

/// Throws `failure` for a key that no pool takes.
void check_key_length(std::string_view key);

/// The text of a key or value: a word in decimal, bytes as they are.
std::string text_of(data_kind kind, std::string_view bytes);

/// A word as the 8 bytes that the table takes.
std::string bytes_of_word(std::uint64_t word);
std::uint64_t word_of_bytes(std::string_view bytes);

/// A key in a message: quoted, cut to a readable length, with escapes for what a terminal should
/// not see.
std::string shown(data_kind kind, std::string_view bytes);

}  // namespace durahash::tool
