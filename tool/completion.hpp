// What shells complete a command line with, from what the commands say of themselves.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace durahash::tool {

struct described_option {
  std::string name;  ///< with its dashes
  std::string description;
  bool takes_value = false;
  std::vector<std::string> values;  ///< where it is one of a few words
};

struct described_command {
  std::string name, description;
  std::vector<described_option> options;
};

/// The script for bash, zsh or fish; nothing for another shell.
std::optional<std::string> completion_for(std::string_view shell,
                                          const std::vector<described_command>& commands);

/// The word of `all` that one who wrote `word` may have meant: at most two letters are other ones,
/// and fewer than half of it. Empty if there is none.
std::string meant_by(std::string_view word, const std::vector<std::string>& all);

}  // namespace durahash::tool
