// How the commands describe their arguments.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace durahash::tool {

/// An option that takes one of a few words. The description names them, so the type column need not.
inline CLI::Option* add_choice(CLI::App& command, const std::string& name, std::string& value,
                               const std::vector<std::string>& words, const std::string& description) {
  return command.add_option(name, value, description)->check(CLI::IsMember(words).description(""))->type_name("NAME");
}

/// An argument without a dash: POOL, KEY and so on.
inline CLI::Option* add_argument(CLI::App& command, const std::string& name, std::string& value,
                                 const std::string& description) {
  return command.add_option(name, value, description)->required()->type_name("");
}

}  // namespace durahash::tool
