// What instructions do that read and write registers alone, for all lanes of a mask. A register's
// bits above its type's are zero; so are a constant's above the type of who reads it.
#pragma once

#include <algorithm>
#include <array>
#include <bit>

#include "test/ptx/fault.hpp"
#include "test/ptx/floats.hpp"
#include "test/ptx/instruction.hpp"

namespace durahash::ptx {

using lane_values = std::array<std::uint64_t, lanes>;

inline std::uint64_t low_bytes(std::uint64_t v, unsigned bytes) {
  return bytes >= 8 ? v : v & ((std::uint64_t{1} << 8 * bytes) - 1);
}
constexpr std::uint64_t mask_of(unsigned bytes) {
  return bytes >= 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << 8 * bytes) - 1;
}
inline std::int64_t sign_extended(std::uint64_t v, unsigned bytes) {
  unsigned unused = 64 - 8 * std::min(bytes, 8u);
  return static_cast<std::int64_t>(v << unused) >> unused;
}

/// d = f(...) in the lanes of `mask`.
template <class F, class... From>
void in_lanes(std::uint32_t mask, lane_values& d, F f, const From&... from) {
  if (mask == all_lanes) {
    for (unsigned n = 0; n < lanes; ++n) d[n] = f(from[n]...);
  } else {
    for (; mask != 0; mask &= mask - 1) {
      auto n = static_cast<unsigned>(std::countr_zero(mask));
      d[n] = f(from[n]...);
    }
  }
}

class arithmetic {
  using u64 = std::uint64_t;

 public:
  explicit arithmetic(std::vector<lane_values>& registers) : r_(registers) {}

  void execute(const instruction& i, std::uint32_t mask) const {
    unsigned b = i.bytes;
    switch (i.what) {
      case opcode::move: return one(i, mask, b, [](u64 x) { return x; });
      case opcode::pack:
        return two(i, mask, b, [b](u64 x, u64 y) { return low_bytes(x, b / 2) | y << 4 * b; });
      case opcode::unpack: return unpack(i, mask);
      case opcode::add: return two(i, mask, b, [](u64 x, u64 y) { return x + y; });
      case opcode::subtract: return two(i, mask, b, [](u64 x, u64 y) { return x - y; });
      case opcode::multiply_low: return two(i, mask, b, [](u64 x, u64 y) { return x * y; });
      case opcode::multiply_high:
        return two(i, mask, b, [&](u64 x, u64 y) { return high(i, x, y); });
      case opcode::multiply_wide:
        return two(i, mask, 2 * b, [&](u64 x, u64 y) { return wide(i, x, y); });
      case opcode::multiply_add:
        return three(i, mask, i.of_distance ? 2 * b : b, [&](u64 x, u64 y, u64 z) {
          return (i.of_distance ? wide(i, x, y) : x * y) + z;
        });
      case opcode::divide:
        return two(i, mask, b, [&](u64 x, u64 y) { return divided(i, x, y).first; });
      case opcode::remainder:
        return two(i, mask, b, [&](u64 x, u64 y) { return divided(i, x, y).second; });
      case opcode::bit_and: return two(i, mask, b, [](u64 x, u64 y) { return x & y; });
      case opcode::bit_or: return two(i, mask, b, [](u64 x, u64 y) { return x | y; });
      case opcode::bit_xor: return two(i, mask, b, [](u64 x, u64 y) { return x ^ y; });
      case opcode::bit_not:
        return one(i, mask, b, [&](u64 x) { return i.is_predicate ? u64{x == 0} : ~x; });
      case opcode::negate: return one(i, mask, b, [](u64 x) { return ~x + 1; });
      case opcode::shift_left:
        return two(i, mask, b, [b](u64 x, u64 y) { return y >= 8 * b ? 0 : x << y; });
      case opcode::shift_right:
        return two(i, mask, b, [&](u64 x, u64 y) { return right(i, x, y); });
      case opcode::reverse_bits: return one(i, mask, b, [b](u64 x) { return reversed(x, 8 * b); });
      case opcode::find_bit: return one(i, mask, 4, [&](u64 x) { return highest(i, x); });
      case opcode::count_leading:
        return one(i, mask, 4, [b](u64 x) {
          return static_cast<u64>(std::countl_zero(low_bytes(x, b))) - (64 - 8 * b);
        });
      case opcode::count_bits:
        return one(i, mask, 4,
                   [b](u64 x) { return static_cast<u64>(std::popcount(low_bytes(x, b))); });
      case opcode::maximum:
        return two(i, mask, b, [&](u64 x, u64 y) { return less(i, x, y) ? y : x; });
      case opcode::minimum:
        return two(i, mask, b, [&](u64 x, u64 y) { return less(i, x, y) ? x : y; });
      case opcode::compare: return compare(i, mask);
      case opcode::select:
        return three(i, mask, b, [](u64 x, u64 y, u64 p) { return p != 0 ? x : y; });
      case opcode::convert:
        return one(i, mask, i.result_bytes, [&](u64 x) {
          return i.source_signed ? static_cast<u64>(sign_extended(x, b)) : low_bytes(x, b);
        });
      case opcode::permute: return three(i, mask, 4, permuted);
      case opcode::insert_bits: return insert_bits(i, mask);
      case opcode::funnel_left:
      case opcode::funnel_right:
        return three(i, mask, 4, [&](u64 x, u64 y, u64 z) { return funnel(i, x, y, z); });
      case opcode::three_way_logic: return logic(i, mask);
      case opcode::float_add: return floats(i, mask, [](float x, float y) { return x + y; });
      case opcode::float_subtract: return floats(i, mask, [](float x, float y) { return x - y; });
      case opcode::float_multiply: return floats(i, mask, [](float x, float y) { return x * y; });
      case opcode::float_divide: return floats(i, mask, [](float x, float y) { return x / y; });
      case opcode::float_multiply_add:
        return three(i, mask, 4, [](u64 x, u64 y, u64 z) {
          return float_bits(std::fma(as_float(x), as_float(y), as_float(z)));
        });
      case opcode::float_compare: return compare_floats(i, mask);
      case opcode::float_of_integer:
        return one(i, mask, 4, [&](u64 x) {
          return float_bits(i.source_signed ? static_cast<float>(sign_extended(x, b))
                                            : static_cast<float>(low_bytes(x, b)));
        });
      default: throw fault("not an instruction of registers: " + i.text);
    }
  }

 private:
  lane_values& to(const instruction& i) const { return r_[i.to.at(0)]; }
  const lane_values& from(const instruction& i, std::size_t n) const { return r_[i.from.at(n)]; }

  template <class F>
  void one(const instruction& i, std::uint32_t mask, unsigned bytes, F f) const {
    u64 kept = mask_of(bytes);
    in_lanes(
        mask, to(i), [f, kept](u64 x) { return f(x) & kept; }, from(i, 0));
  }
  template <class F>
  void two(const instruction& i, std::uint32_t mask, unsigned bytes, F f) const {
    u64 kept = mask_of(bytes);
    in_lanes(
        mask, to(i), [f, kept](u64 x, u64 y) { return f(x, y) & kept; }, from(i, 0), from(i, 1));
  }
  template <class F>
  void three(const instruction& i, std::uint32_t mask, unsigned bytes, F f) const {
    u64 kept = mask_of(bytes);
    in_lanes(
        mask, to(i), [f, kept](u64 x, u64 y, u64 z) { return f(x, y, z) & kept; }, from(i, 0),
        from(i, 1), from(i, 2));
  }
  void unpack(const instruction& i, std::uint32_t mask) const {
    unsigned half = i.bytes / 2u;
    lane_values whole = from(i, 0);
    in_lanes(
        mask, r_[i.to.at(0)], [&](u64 x) { return low_bytes(x, half); }, whole);
    in_lanes(
        mask, r_[i.to.at(1)], [&](u64 x) { return low_bytes(x >> 8 * half, half); }, whole);
  }

  static u64 wide(const instruction& i, u64 x, u64 y) {
    if (!i.is_signed) return x * y;
    return static_cast<u64>(sign_extended(x, i.bytes)) *
           static_cast<u64>(sign_extended(y, i.bytes));
  }
  static u64 high(const instruction& i, u64 x, u64 y) {
    __extension__ using wide_unsigned = unsigned __int128;
    __extension__ using wide_signed = __int128;
    unsigned bits = 8u * i.bytes;
    if (!i.is_signed)
      return static_cast<u64>(
          static_cast<wide_unsigned>(low_bytes(x, i.bytes)) * low_bytes(y, i.bytes) >> bits);
    return static_cast<u64>(
        static_cast<wide_signed>(sign_extended(x, i.bytes)) * sign_extended(y, i.bytes) >> bits);
  }
  static std::pair<u64, u64> divided(const instruction& i, u64 x, u64 y) {
    x = low_bytes(x, i.bytes), y = low_bytes(y, i.bytes);
    if (y == 0) throw fault("a division by zero: " + i.text);
    if (!i.is_signed) return {x / y, x % y};
    std::int64_t a = sign_extended(x, i.bytes), b = sign_extended(y, i.bytes);
    if (b == -1) return {~static_cast<u64>(a) + 1, 0};
    return {static_cast<u64>(a / b), static_cast<u64>(a % b)};
  }
  static u64 right(const instruction& i, u64 x, u64 y) {
    u64 by = y, bits = 8u * i.bytes;
    if (!i.is_signed) return by >= bits ? 0 : x >> by;
    return static_cast<u64>(sign_extended(x, i.bytes) >> std::min<u64>(by, bits - 1));
  }
  static u64 reversed(u64 x, unsigned bits) {
    u64 made = 0;
    for (unsigned n = 0; n < bits; ++n) made |= (x >> n & 1) << (bits - 1 - n);
    return made;
  }
  static u64 highest(const instruction& i, u64 x) {
    x = low_bytes(x, i.bytes);
    if (x == 0) return 0xffffffffu;
    auto leading = static_cast<u64>(std::countl_zero(x)) - (64 - 8u * i.bytes);
    return i.of_distance ? leading : 8u * i.bytes - 1 - leading;
  }
  static bool less(const instruction& i, u64 x, u64 y) {
    return i.is_signed ? sign_extended(x, i.bytes) < sign_extended(y, i.bytes)
                       : low_bytes(x, i.bytes) < low_bytes(y, i.bytes);
  }
  void compare(const instruction& i, std::uint32_t mask) const {
    unsigned unused = i.is_signed ? 64 - 8u * i.bytes : 0;
    auto by = [&](auto same) {
      if (!i.is_signed) return two(i, mask, 1, same);
      two(i, mask, 1, [same, unused](u64 x, u64 y) {
        return same(static_cast<std::int64_t>(x << unused), static_cast<std::int64_t>(y << unused));
      });
    };
    switch (i.compared) {
      case comparison::eq: return by([](auto x, auto y) { return u64{x == y}; });
      case comparison::ne: return by([](auto x, auto y) { return u64{x != y}; });
      case comparison::lt: return by([](auto x, auto y) { return u64{x < y}; });
      case comparison::le: return by([](auto x, auto y) { return u64{x <= y}; });
      case comparison::gt: return by([](auto x, auto y) { return u64{x > y}; });
      case comparison::ge: return by([](auto x, auto y) { return u64{x >= y}; });
    }
  }
  template <class F>
  void floats(const instruction& i, std::uint32_t mask, F f) const {
    two(i, mask, 4, [f](u64 x, u64 y) { return float_bits(f(as_float(x), as_float(y))); });
  }
  void compare_floats(const instruction& i, std::uint32_t mask) const {
    auto by = [&](auto same) {
      two(i, mask, 1, [same, otherwise = u64{i.or_unordered}](u64 x, u64 y) {
        const float a = as_float(x), b = as_float(y);
        return std::isunordered(a, b) ? otherwise : u64{same(a, b)};
      });
    };
    switch (i.compared) {
      case comparison::eq: return by([](float x, float y) { return !(x < y) && !(x > y); });
      case comparison::ne: return by([](float x, float y) { return x < y || x > y; });
      case comparison::lt: return by([](float x, float y) { return x < y; });
      case comparison::le: return by([](float x, float y) { return x <= y; });
      case comparison::gt: return by([](float x, float y) { return x > y; });
      case comparison::ge: return by([](float x, float y) { return x >= y; });
    }
  }
  static u64 permuted(u64 x, u64 y, u64 selector) {
    u64 all = low_bytes(x, 4) | y << 32, made = 0;
    for (unsigned n = 0; n < 4; ++n) {
      u64 which = selector >> 4 * n & 15, byte = all >> 8 * (which & 7) & 0xff;
      if ((which & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;
      made |= byte << 8 * n;
    }
    return made;
  }
  /// Of x the low bits, in place of those of y from there on.
  void insert_bits(const instruction& i, std::uint32_t mask) const {
    const u64 kept = mask_of(i.bytes);
    in_lanes(
        mask, to(i),
        [kept](u64 x, u64 y, u64 from, u64 count) {
          from &= 0xff, count &= 0xff;
          if (from >= 64 || count == 0) return y & kept;
          const u64 bits = count >= 64 ? ~u64{0} : (u64{1} << count) - 1;
          return ((y & ~(bits << from)) | (x & bits) << from) & kept;
        },
        from(i, 0), from(i, 1), from(i, 2), from(i, 3));
  }
  static u64 funnel(const instruction& i, u64 low, u64 up, u64 by) {
    u64 both = low_bytes(low, 4) | up << 32;
    u64 n = i.of_distance ? std::min<u64>(low_bytes(by, 4), 32) : by & 31;
    return i.what == opcode::funnel_left ? both << n >> 32 : both >> n;
  }
  void logic(const instruction& i, std::uint32_t mask) const {
    u64 table = from(i, 3)[0];
    three(i, mask, i.bytes, [table](u64 x, u64 y, u64 z) {
      u64 made = 0;
      for (unsigned n = 0; n < 8; ++n)
        if ((table >> n & 1) != 0)
          made |= ((n & 4) != 0 ? x : ~x) & ((n & 2) != 0 ? y : ~y) & ((n & 1) != 0 ? z : ~z);
      return made;
    });
  }

  std::vector<lane_values>& r_;
};

}  // namespace durahash::ptx
