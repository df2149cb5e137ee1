#include "numbers.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "failure.hpp"

namespace durahash::tool {

std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::ptrdiff_t at = std::ssize(digits) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return digits;
}

std::string counted(std::uint64_t number, std::string_view noun) {
  return fmt::format("{} {}{}", grouped(number), noun, number == 1 ? "" : "s");
}

std::string human_bytes(std::uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double amount = static_cast<double>(bytes);
  const char* const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  int unit = -1;
  while (amount >= 1023.95 && unit < 5) {
    amount /= 1024;
    ++unit;
  }
  return fmt::format("{:.1f} {}", amount, units[unit]);
}

std::string human_rate(double per_second) {
  if (!std::isfinite(per_second)) return "-";
  if (per_second >= 1e6) return fmt::format("{:.2f} M", per_second / 1e6);
  if (per_second >= 1e4) return fmt::format("{:.0f} k", per_second / 1e3);
  return fmt::format("{:.0f}", per_second);
}

std::string human_seconds(double seconds) {
  if (seconds < 0.001) return fmt::format("{:.2f} ms", seconds * 1e3);
  if (seconds < 1) return fmt::format("{:.1f} ms", seconds * 1e3);
  if (seconds < 60) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<std::uint64_t>(seconds + 0.5);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

namespace {

std::optional<std::uint64_t> parse_digits(std::string_view digits, int base) {
  std::uint64_t number = 0;
  const char* end = digits.data() + digits.size();
  auto [stop, fault] = std::from_chars(digits.data(), end, number, base);
  if (fault != std::errc() || stop != end) return std::nullopt;
  return number;
}

}  // namespace

std::optional<std::uint64_t> parse_word(std::string_view text) {
  if (text.starts_with("0x") || text.starts_with("0X")) return parse_digits(text.substr(2), 16);
  return parse_digits(text, 10);
}

std::optional<std::uint64_t> parse_count(std::string_view text) {
  std::uint64_t unit = 1;
  switch (text.empty() ? '\0' : text.back()) {
    case 'k':
    case 'K': unit = 1'000; break;
    case 'M': unit = 1'000'000; break;
    case 'G': unit = 1'000'000'000; break;
    default: break;
  }
  if (unit != 1) text.remove_suffix(1);
  const auto number = parse_word(text);
  std::uint64_t count = 0;
  if (!number || __builtin_mul_overflow(*number, unit, &count)) return std::nullopt;
  return count;
}

std::optional<double> parse_decimal(std::string_view text) {
  double number = 0;
  const char* end = text.data() + text.size();
  auto [stop, fault] = std::from_chars(text.data(), end, number);
  if (fault != std::errc() || stop != end || !std::isfinite(number)) return std::nullopt;
  return number;
}

std::uint64_t whole_number(std::string_view option, std::string_view text, std::uint64_t least,
                           std::uint64_t most) {
  const auto value = parse_count(text);
  if (value && *value >= least && *value <= most) return *value;
  throw failure(exit_usage, fmt::format("{} {} is not a whole number from {} to {}", option, text,
                                        grouped(least), grouped(most)));
}

double decimal_number(std::string_view option, std::string_view text, double least, double most) {
  const auto value = parse_decimal(text);
  if (value && *value >= least && *value <= most) return *value;
  throw failure(exit_usage,
                fmt::format("{} {} is not a number from {} to {}", option, text, least, most));
}

}  // namespace durahash::tool
