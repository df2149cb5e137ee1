// Numbers as people read and write them.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace durahash::tool {

/// 1234567 -> "1,234,567".
std::string grouped(std::uint64_t number);

/// (2, "record") -> "2 records".
std::string counted(std::uint64_t number, std::string_view noun);

/// 1572864 -> "1.5 MiB".
std::string human_bytes(std::uint64_t bytes);

/// A rate: 1234567.0 -> "1.23 M", 950.0 -> "950".
std::string human_rate(double per_second);

/// 0.00042 -> "0.42 ms"; 3.2 -> "3.2 s"; 75 -> "1 min 15 s".
std::string human_seconds(double seconds);

double seconds_since(std::chrono::steady_clock::time_point start);

/// A 64-bit number, decimal or hexadecimal after 0x; nothing if the text is anything else.
std::optional<std::uint64_t> parse_word(std::string_view text);

/// A count with an optional k, M or G behind it (powers of 1000): "10M" -> 10,000,000.
std::optional<std::uint64_t> parse_count(std::string_view text);

/// A decimal number such as 0.99 or 1e-3; nothing for "nan", "inf" and more than a number.
std::optional<double> parse_decimal(std::string_view text);

/// What an option was given: a count from `least` to `most`, or `failure` with a sentence that says
/// which they are.
std::uint64_t whole_number(std::string_view option, std::string_view text, std::uint64_t least,
                           std::uint64_t most);

/// The same for a decimal number.
double decimal_number(std::string_view option, std::string_view text, double least, double most);

}  // namespace durahash::tool
