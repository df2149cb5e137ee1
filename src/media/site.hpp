// Names of places in our sources: what arguments, witnesses, mutants and reports refer to. A name
// stays when lines move. scripts/check_names.py sees that each is given once, and known where it is
// used.
#pragma once

#include <cstdint>
#include <string_view>

namespace durahash {

/// Where a verb is called. Every write-back and every commit in src/ has a name, ENGINE.STEP.WHAT;
/// a name may stand at one place for each verb ("the flush of" it, "the fence of" it).
class site {
 public:
  consteval site(const char* name = "", const char* file = __builtin_FILE(),
                 unsigned line = __builtin_LINE())
      : name_(name), file_(file), line_(line) {}
  constexpr const char* name() const noexcept { return name_; }  // empty: of a store, or of a test
  constexpr const char* file() const noexcept { return file_; }
  constexpr unsigned line() const noexcept { return line_; }

 private:
  const char* name_;
  const char* file_;
  unsigned line_;
};

/// The name of a bug that can be planted: `if (!M::planted("level-..."))` stands before the step
/// that it leaves out. On media that are shipped that is false at compile time; a recording medium
/// asks whether this one was chosen. explorer/planted_bugs.cpp tells of each what it breaks.
class mutant {
 public:
  consteval mutant(std::string_view name) : id_(id_of(name)) {}
  consteval mutant(const char* name) : mutant(std::string_view(name)) {}
  constexpr std::uint64_t id() const noexcept { return id_; }

  static constexpr std::uint64_t id_of(std::string_view name) noexcept {  // FNV-1a; 0: none
    std::uint64_t made = 0xcbf29ce484222325u;
    for (char c : name) made = (made ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    return made;
  }

 private:
  std::uint64_t id_;
};

}  // namespace durahash
