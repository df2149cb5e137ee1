// durahash: the command line over the library, and what stands behind arguments.hpp.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <deque>
#include <exception>
#include <map>
#include <sstream>

#include "commands.hpp"
#include "completion.hpp"
#include "failure.hpp"
#include "interruption.hpp"
#include "output.hpp"

namespace durahash::tool {
namespace {

/// The words that an option may have, where they are few.
std::map<const CLI::Option*, std::vector<std::string>>& choices() {
  static std::map<const CLI::Option*, std::vector<std::string>> all;
  return all;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

std::vector<described_command> described(const CLI::App& app) {
  std::vector<described_command> all;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    described_command made{command->get_name(), command->get_description(), {}};
    for (const CLI::Option* o : command->get_options()) {
      const bool is_listed = o->nonpositional() && !o->get_group().empty();
      if (!is_listed || o->get_lnames().empty() || o == command->get_help_ptr()) continue;
      const auto words = choices().find(o);
      made.options.push_back(
          {"--" + o->get_lnames().front(), o->get_description(), o->get_items_expected_max() > 0,
           words != choices().end() ? words->second : std::vector<std::string>()});
    }
    all.push_back(std::move(made));
  }
  return all;
}

/// durahash help, durahash completion: they tell of the others.
void add_telling(CLI::App& app) {
  auto word = std::make_shared<std::string>();
  CLI::App* help = app.add_subcommand("help", "Tell of a command, or of all");
  help->add_option("COMMAND", *word, "which one")->type_name("");
  help->footer("Example:\n  durahash help load");
  help->callback([&app, word] {
    if (word->empty()) {  // help() would tell of the command that was given: of this one
      const auto all =
          app.get_formatter()->make_help(&app, app.get_name(), CLI::AppFormatMode::Normal);
      return print(all);
    }
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
      if (command->get_name() == *word) return print(command->help("durahash"));
    throw failure(exit_usage, "there is no command '" + *word + "'");
  });
  CLI::App* completion =
      app.add_subcommand("completion", "Print what a shell completes command lines with");
  completion->add_option("SHELL", *word, "bash, zsh or fish")->required()->type_name("");
  completion->footer(
      "Examples:\n"
      "  durahash completion bash > ~/.local/share/bash-completion/completions/durahash\n"
      "  durahash completion fish > ~/.config/fish/completions/durahash.fish");
  completion->callback([&app, word] {
    const auto text = completion_for(*word, described(app));
    if (!text) throw failure(exit_usage, "SHELL: " + *word + " is neither bash nor zsh nor fish");
    print(*text);
  });
}

void add_all(CLI::App& app, int& exit_code) {
  add_commands(&app, exit_code);
  if (command_names(app).size() > 1) add_telling(app);
  for (CLI::App* command : app.get_subcommands({})) command->group("Commands");
  // After the commands, which would repeat it.
  app.footer(
      "durahash COMMAND --help tells more of each.\n\n"
      "A first minute:\n"
      "  durahash create users.dh\n"
      "  durahash put users.dh alice 42\n"
      "  durahash get users.dh alice\n"
      "  durahash dump users.dh\n\n"
      "Exit codes: 0 done; 1 not found, or a check failed; 2 wrong arguments or input; 3 the pool, "
      "or the "
      "output,\n"
      "cannot be used: a message says why. A command that a signal ends is ended by it: 130 in a "
      "shell after Ctrl-C.");
}

void describe(CLI::App& app) {
  app.set_version_flag("-V,--version", "durahash " DURAHASH_VERSION, "Print the version and exit");
  app.require_subcommand(1);
  app.get_formatter()->column_width(26);
  app.get_formatter()->label("REQUIRED", "");
  app.get_formatter()->label("Positionals", "Arguments");
  app.get_formatter()->label("SUBCOMMAND", "COMMAND");
}

/// A mapped file that another program cuts short cannot be read on; nor can a broken disk.
void tell_bus_error(int signal) {
  tell(
      "durahash: the pool's file cannot be read any more: another program has cut it short, or the "
      "disk is broken\n");
  std::signal(signal, SIG_DFL);  // the access is repeated, and ends the process
}

/// "durahash put", or "durahash" before a command was recognised.
std::string said_by(const CLI::App& app) {
  const auto given = app.get_subcommands();
  return given.empty() ? "durahash" : "durahash " + given.front()->get_name();
}

/// The option of the command that `word` may be meant for.
std::string option_meant_by(const CLI::App& app, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands())
    for (const CLI::Option* o : command->get_options())
      for (const std::string& name : o->get_lnames()) names.push_back("--" + name);
  return meant_by(word.substr(0, word.find('=')), names);
}

int refuse(const CLI::App& app, const CLI::ParseError& why) {
  std::string sentence = why.what();
  for (const std::string& word : app.remaining(true))
    if (word.starts_with('-')) {
      const std::string meant = option_meant_by(app, word);
      sentence = word + " is not an option of this command" +
                 (meant.empty() ? " (write -- before a key or value that begins with a dash)"
                                : ": did you mean " + meant + "?");
      break;
    }
  tell(fmt::format("{0}: {1}\nTry: {0} --help\n", said_by(app), sentence));
  return exit_usage;
}

/// --help, --version.
int print_help(const CLI::App& app, const CLI::ParseError& why) try {
  std::ostringstream text;
  app.exit(why, text, text);
  print(text.str());
  return exit_done;
} catch (const failure& unwritten) {
  tell(fmt::format("{}: {}\n", said_by(app), unwritten.what()));
  return unwritten.exit_code;
}

bool is_command(const CLI::App& app, std::string_view word) {
  const auto named =
      app.get_subcommands([&](const CLI::App* command) { return command->get_name() == word; });
  return word.starts_with('-') || !named.empty();
}

/// See as_written. `kept` has the words that are others now.
void hide_brackets(std::vector<char*>& words, std::deque<std::string>& kept) {
  for (char*& word : words) {
    const std::string_view text = word;
    const bool looks_like_a_list =
        text.size() > 1 && (text.front() == '[' || text.front() == hides_brackets);
    if (looks_like_a_list && text.back() == ']')
      word = kept.emplace_back(hides_brackets + std::string(text)).data();
  }
}

int run(std::vector<char*> words) {
  if (const auto done = before_parsing(words)) return *done;
  std::deque<std::string> kept;
  if (words.size() > 1 && words[1] == std::string_view("get")) hide_brackets(words, kept);
  const int argc = static_cast<int>(words.size());
  char** argv = words.data();
  int exit_code = exit_done;
  CLI::App app("Persistent hash maps that are still there after kill -9.", "durahash");
  describe(app);
  add_all(app, exit_code);
  if (argc < 2) {
    tell(app.help());
    return exit_usage;
  }
  if (!is_command(app, argv[1])) {
    const std::string meant = meant_by(argv[1], command_names(app));
    tell(fmt::format("durahash: there is no command '{}'{}\nTry: durahash --help\n", argv[1],
                     meant.empty() ? "" : ": did you mean '" + meant + "'?"));
    return exit_usage;
  }
  try {
    app.parse(argc, argv);
    return exit_code;
  } catch (const failure& why) {
    tell(fmt::format("{}: {}\n", said_by(app), why.what()));
    return why.exit_code;
  } catch (const CLI::ParseError& why) {
    if (why.get_exit_code() != 0) return refuse(app, why);
    return print_help(app, why);
  } catch (const std::bad_alloc&) {
    tell(fmt::format("{}: out of memory\n", said_by(app)));
    return exit_unusable;
  } catch (const std::exception& why) {
    tell(fmt::format("{}: {}\n", said_by(app), why.what()));
    return exit_unusable;
  }
}

}  // namespace

// ------------------------------------------------------------------------------- arguments.hpp

option option::check(const one_of& words) {
  choices()[option_] = words.words;
  CLI::IsMember member(words.words);
  if (!words.named) member.description("");
  return option_->check(member);
}
option option::required() { return option_->required(); }
option option::type_name(const std::string& name) { return option_->type_name(name); }
option option::group(const std::string& name) { return option_->group(name); }
option option::capture_default_str() { return option_->capture_default_str(); }
option option::take_all() { return option_->take_all(); }
option option::allow_extra_args(bool allowed) { return option_->allow_extra_args(allowed); }
option option::delimiter(char between_values) { return option_->delimiter(between_values); }
option option::excludes(option other) { return option_->excludes(other.option_); }
bool option::was_given() const { return option_->count() != 0; }

command_line command_line::add_subcommand(const std::string& name, const std::string& description) {
  return app_->add_subcommand(name, description);
}
option command_line::add_option(const std::string& name, std::string& value,
                                const std::string& description) {
  return app_->add_option(name, value, description);
}
option command_line::add_option(const std::string& name, std::vector<std::string>& value,
                                const std::string& description) {
  return app_->add_option(name, value, description);
}
option command_line::add_flag(const std::string& name, bool& value,
                              const std::string& description) {
  return app_->add_flag(name, value, description);
}
void command_line::footer(const std::string& text) { app_->footer(text); }
void command_line::callback(std::function<void()> action) { app_->callback(std::move(action)); }

}  // namespace durahash::tool

int main(int argc, char** argv) {
  using namespace durahash::tool;
  settle_standard_descriptors();
  std::signal(SIGBUS, tell_bus_error);
  std::signal(SIGXFSZ,
              SIG_IGN);  // past a limit on file sizes a write answers so, and the command says it
  const int exit_code = run({argv, argv + argc});
  interruption::end_if_asked();
  return exit_code;
}
