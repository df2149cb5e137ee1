#include "completion.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace durahash::tool {
namespace {

using commands = std::vector<described_command>;

/// Between single quotes of a shell; for zsh brackets and colons have a meaning there.
std::string with_escapes(std::string_view text, std::string_view special = "") {
  std::string made;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) made += '\\';
    made += c == '\'' ? "'\\''" : std::string(1, c);
  }
  return made;
}

std::string names_of(const commands& all) {
  std::string names;
  for (const described_command& command : all) names += command.name + " ";
  return names;
}

std::string bash(const commands& all) {
  std::string options, values;
  for (const described_command& command : all) {
    std::string names;
    for (const described_option& o : command.options) {
      names += o.name + " ";
      if (!o.values.empty())
        values += fmt::format("    '{} {}') words='{}' ;;\n", command.name, o.name,
                              fmt::join(o.values, " "));
      else if (o.takes_value)
        values += fmt::format("    '{} {}') words= ;;\n", command.name, o.name);
    }
    options += fmt::format("      {}) words='{}--help' ;;\n", command.name, names);
  }
  return fmt::format(R"(# bash completion of durahash
_durahash() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} command=${{COMP_WORDS[1]}} words=
  if [ "$COMP_CWORD" -eq 1 ]; then
    mapfile -t COMPREPLY < <(compgen -W '{}--help --version' -- "$word")
    return
  fi
  COMPREPLY=()
  case "$command ${{COMP_WORDS[COMP_CWORD - 1]}}" in
    'help '*) words='{}' ;;
    'completion completion') words='bash zsh fish' ;;
{}    *)
      if [[ $word != -* ]]; then
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
        return
      fi
      ;;&
    *)
      [ -z "$words" ] && case $command in
{}      esac
      ;;
  esac
  [ -z "$words" ] || mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}}
complete -o filenames -F _durahash durahash
)",
                     names_of(all), names_of(all), values, options);
}

std::string zsh(const commands& all) {
  std::string listed, cases;
  for (const described_command& command : all) {
    listed += fmt::format("    '{}:{}'\n", command.name, with_escapes(command.description, ":"));
    cases += fmt::format("    {})\n      _arguments", command.name);
    for (const described_option& o : command.options) {
      cases += fmt::format(" \\\n        '{}[{}]", o.name, with_escapes(o.description, "[]:"));
      if (!o.values.empty()) cases += fmt::format(":value:({})", fmt::join(o.values, " "));
      else if (o.takes_value) cases += ":value: ";
      cases += "'";
    }
    cases += " \\\n        '--help[tell more]' '*:file:_files'\n      ;;\n";
  }
  return fmt::format(R"(#compdef durahash
# zsh completion of durahash
_durahash() {{
  local -a commands
  commands=(
{}  )
  if (( CURRENT == 2 )); then
    _describe -t commands command commands
    return
  fi
  local command=${{words[2]}}
  shift words
  (( CURRENT-- ))
  case $command in
{}  esac
}}
compdef _durahash durahash
)",
                     listed, cases);
}

std::string fish(const commands& all) {
  std::string text = "# fish completion of durahash\n";
  text += "complete -c durahash -n __fish_use_subcommand -f\n";
  for (const described_command& command : all)
    text += fmt::format("complete -c durahash -n __fish_use_subcommand -f -a {} -d '{}'\n",
                        command.name, with_escapes(command.description));
  for (const described_command& command : all)
    for (const described_option& o : command.options) {
      text += fmt::format("complete -c durahash -n '__fish_seen_subcommand_from {}' -l {}",
                          command.name, std::string_view(o.name).substr(2));
      if (!o.values.empty()) text += fmt::format(" -x -a '{}'", fmt::join(o.values, " "));
      else if (o.takes_value) text += " -r";
      text += fmt::format(" -d '{}'\n", with_escapes(o.description));
    }
  return text;
}

/// Letters to insert, drop, replace or exchange with the next one, to come from one to the other.
std::size_t distance(std::string_view from, std::string_view to) {
  std::vector<std::vector<std::size_t>> d(from.size() + 1, std::vector<std::size_t>(to.size() + 1));
  for (std::size_t i = 0; i <= from.size(); ++i)
    for (std::size_t k = 0; k <= to.size(); ++k) {
      if (i == 0 || k == 0) {
        d[i][k] = i + k;
        continue;
      }
      const std::size_t other = from[i - 1] == to[k - 1] ? 0 : 1;
      d[i][k] = std::min({d[i - 1][k] + 1, d[i][k - 1] + 1, d[i - 1][k - 1] + other});
      if (i > 1 && k > 1 && from[i - 1] == to[k - 2] && from[i - 2] == to[k - 1])
        d[i][k] = std::min(d[i][k], d[i - 2][k - 2] + 1);
    }
  return d[from.size()][to.size()];
}

}  // namespace

std::optional<std::string> completion_for(std::string_view shell, const commands& all) {
  if (shell == "bash") return bash(all);
  if (shell == "zsh") return zsh(all);
  if (shell == "fish") return fish(all);
  return std::nullopt;
}

std::string meant_by(std::string_view word, const std::vector<std::string>& all) {
  std::size_t nearest = 3;
  std::string found;
  for (const std::string& one : all) {
    const std::size_t d = distance(word, one);
    if (d < nearest && 2 * d < one.size()) nearest = d, found = one;
  }
  return found;
}

}  // namespace durahash::tool
