// How the commands describe their arguments. main.cpp alone knows the library behind it, which
// takes seconds to compile.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "durahash/options.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace durahash::tool {

/// A value that is one of a few words.
struct one_of {
  std::vector<std::string> words;
  bool named = true;  // in the column of types of --help

  explicit one_of(std::vector<std::string> which) : words(std::move(which)) {}
  one_of unnamed() && { return named = false, std::move(*this); }
};

class option {
 public:
  option(CLI::Option* which) : option_(which) {}
  option check(const one_of&);
  option required();
  option type_name(const std::string&);  // in --help
  option group(const std::string&);      // "": not in --help
  option capture_default_str();          // into --help
  option take_all();                     // may be repeated
  option allow_extra_args(bool);
  option delimiter(char);
  option excludes(option other);
  bool was_given() const;  // known once a command runs

 private:
  CLI::Option* option_;
};

/// The command line, or what follows the name of a command.
class command_line {
 public:
  command_line(CLI::App* which) : app_(which) {}
  command_line add_subcommand(const std::string& name, const std::string& description);
  option add_option(const std::string& name, std::string& value,
                    const std::string& description = "");
  option add_option(const std::string& name, std::vector<std::string>& value,
                    const std::string& description);
  option add_flag(const std::string& name, bool& value, const std::string& description);
  void footer(const std::string&);
  void callback(std::function<void()>);

 private:
  CLI::App* app_;
};

/// A word of a list of arguments, as it stood in the command line. The library behind takes [a,b]
/// for two words of a list, so that main hides such a word behind a byte from it.
inline constexpr char hides_brackets = '\x01';
inline std::string as_written(const std::string& word) {
  const bool hidden = word.size() > 1 && word.front() == hides_brackets && word.back() == ']';
  return hidden ? word.substr(1) : word;
}

inline std::vector<std::string> engine_names() {
  std::vector<std::string> names;
  for (engine_kind engine : all_engines()) names.emplace_back(name_of(engine));
  return names;
}

/// ({"a", "b", "c"}, " or ") -> "a, b or c".
inline std::string listed(const std::vector<std::string>& words, const std::string& before_last) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i)
    text += (i == 0 ? "" : i + 1 == words.size() ? before_last : ", ") + words[i];
  return text;
}

/// An option that takes one of a few words. The description names them, so the type column need
/// not.
inline option add_choice(command_line command, const std::string& name, std::string& value,
                         const std::vector<std::string>& words, const std::string& description) {
  return command.add_option(name, value, description)
      .check(one_of(words).unnamed())
      .type_name("NAME");
}

/// An argument without a dash: POOL, KEY and so on.
inline option add_argument(command_line command, const std::string& name, std::string& value,
                           const std::string& description) {
  return command.add_option(name, value, description).required().type_name("");
}

}  // namespace durahash::tool
