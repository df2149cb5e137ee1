// PTX as the interpreter has it: kernels of decoded instructions. Every operand is a register:
// constants, symbols and special registers are registers that a warp fills when it starts.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace durahash::ptx {

inline constexpr unsigned lanes = 32;
inline constexpr std::uint32_t all_lanes = 0xffffffffu;

enum class opcode : std::uint8_t {
  move,
  pack,
  unpack,
  add,
  subtract,
  multiply_low,
  multiply_high,
  multiply_wide,
  multiply_add,
  divide,
  remainder,
  bit_and,
  bit_or,
  bit_xor,
  bit_not,
  negate,
  shift_left,
  shift_right,
  reverse_bits,
  find_bit,
  count_leading,
  count_bits,
  maximum,
  minimum,
  compare,
  select,
  convert,
  permute,
  insert_bits,
  funnel_left,
  funnel_right,
  three_way_logic,
  float_add,
  float_subtract,
  float_multiply,
  float_multiply_add,
  float_divide,
  float_compare,
  float_of_integer,
  load,
  store,
  atomic,
  fence,
  branch,
  shuffle,
  vote,
  warp_barrier,
  match,
  active_mask,
  sleep,
  leave
};

enum class comparison : std::uint8_t { eq, ne, lt, le, gt, ge };
enum class atomic_kind : std::uint8_t { add, cas, bit_and, bit_or, exchange, max, min };
enum class vote_kind : std::uint8_t { ballot, any, all };
enum class shuffle_kind : std::uint8_t { index, up, down, butterfly };
enum class space : std::uint8_t { generic, global, parameter, local };

/// What a memory operation orders, and for whom.
enum class strength : std::uint8_t { weak, relaxed, acquire, release, acquire_release, sequential };
enum class scope : std::uint8_t { block, device, system };

constexpr bool acquires(strength s) {
  return s == strength::acquire || s == strength::acquire_release || s == strength::sequential;
}
constexpr bool releases(strength s) {
  return s == strength::release || s == strength::acquire_release || s == strength::sequential;
}

using register_index = std::uint32_t;
inline constexpr register_index no_register = ~0u;

struct instruction {
  opcode what = opcode::move;
  std::uint8_t bytes = 8;         // of an operand
  std::uint8_t result_bytes = 8;  // of the destination, where it differs
  bool is_signed = false, source_signed = false, is_predicate = false, is_float = false;
  bool or_unordered = false;  // float_compare: true also if one is not a number
  bool guarded = false, guard_negated = false;
  register_index guard = no_register;
  std::vector<register_index> to, from;
  std::int64_t offset = 0;  // of an address
  std::uint32_t target = 0;
  comparison compared = comparison::eq;
  atomic_kind kind = atomic_kind::add;
  vote_kind voted = vote_kind::ballot;
  shuffle_kind shuffled = shuffle_kind::index;
  space where = space::generic;
  strength order = strength::weak;
  scope seen_by = scope::system;
  bool of_distance = false;  // find_bit: how far to shift
  std::uint32_t line = 0;
  std::string text;

  bool is_memory() const {
    return what == opcode::load || what == opcode::store || what == opcode::atomic;
  }
  bool waits_for_lanes() const {
    return what == opcode::shuffle || what == opcode::vote || what == opcode::warp_barrier ||
           what == opcode::match;
  }
};

/// A register that has its value before the first instruction.
struct preset {
  enum class source : std::uint8_t {
    constant,
    parameter,
    local,
    thread_x,
    block_x,
    threads_x,
    blocks_x,
    lane,
    lane_mask_lt
  };
  register_index at;
  source from;
  std::uint64_t value = 0;  // of a constant; an offset
};

struct parameter {
  std::uint32_t offset, bytes;
};

struct kernel {
  std::string name;
  std::vector<instruction> code;
  std::vector<preset> presets;
  std::vector<parameter> parameters;
  std::uint32_t registers = 0, local_bytes = 0, parameter_bytes = 0;
};

using module = std::map<std::string, kernel>;  // by name

}  // namespace durahash::ptx
