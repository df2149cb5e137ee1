// Programs: what the explorer has a table do. Keys and values are told by numbers, so that one
// program serves u64 and byte tables.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/hash.hpp"

namespace durahash::crash {

enum class act : std::uint8_t {
  put,
  insert,
  update,
  erase,
  exchange,
  add,
  get,  // of one key
  put_many,
  erase_many,
  get_many,    // of several
  get_beside,  // by a process of its own, of one key
  // of the table; reopen: closed cleanly, and opened
  reserve,
  compact,
  sync,
  scan,
  reopen,
  scan_beside,  // by a process of its own
};

const char* name_of(act a);
bool takes_keys(act a);

using key_number = std::uint16_t;

struct operation {
  act what{};
  std::vector<key_number> keys;
  std::uint32_t version = 0;  // of the value written: unique in a program
};

struct program {
  std::vector<operation> operations;
  // the program uses keys [0, keys); those from there on are absent for ever
  key_number keys = 0;
  // the first so many operations only make the table that the others find: no crash comes there
  std::size_t prepares = 0;
};

/// One thing for each thread to do, on a table that `first` has filled. Its owner has closed it, or
/// was killed: then the count goes on beside the threads.
struct threaded_program {
  program first;
  std::vector<std::vector<operation>> threads;
  bool killed = false;
};

/// Insertions into a crowded table, while it is counted after a kill.
threaded_program counted_and_crowded(key_number crowd);

/// "put 7 #12" and so on.
std::string text_of(const operation& o);

/// What a program is to be made of.
struct mix {
  std::size_t operations = 120;
  key_number keys = 40;
  bool reopens = true;
};

program random_program(const mix& how, std::mt19937_64& random);

/// Of every pool that is explored. Its hash id is 1, with which the witnesses were found: another
/// hash puts their keys elsewhere.
inline constexpr hash_seeds explored_seeds{0x243f6a8885a308d3u, 0x13198a2e03707345u, 1};

/// The key of that number. Number 0 is 0 or the empty string, number 1 is 2^64 - 1 or a string of
/// zero bytes. Words 2 and 3 have no fingerprint in GPHash.
std::uint64_t word_key(key_number n);
std::string bytes_key(key_number n);
/// Of tables whose keys all have so many bytes, a multiple of 8. Every word of a key tells its
/// number, so that one torn from two keys is neither.
std::string fixed_key(key_number n, std::size_t length);

/// A value as the model knows it: for u64 tables the word itself, for byte tables what its text is
/// made from.
using value_id = std::uint64_t;
value_id value_of(key_number key, std::uint32_t version, bool words);
const std::string& text_of_value(value_id id);
/// No program writes it, neither as a word nor as bytes.
inline constexpr value_id nobodys_value = std::uint64_t{0xffff'ffff} << 16;

}  // namespace durahash::crash
