// durahash: the command line over the library, and what stands behind arguments.hpp.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <exception>
#include <sstream>

#include "commands.hpp"
#include "failure.hpp"
#include "interruption.hpp"
#include "output.hpp"

namespace durahash::tool {
namespace {

void add_all(CLI::App& app, int& exit_code) {
  add_commands(&app, exit_code);
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
  app.set_version_flag("--version", "durahash " DURAHASH_VERSION, "Print the version and exit");
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
  const auto commands = app.get_subcommands();
  return commands.empty() ? "durahash" : "durahash " + commands.front()->get_name();
}

int refuse(const CLI::App& app, const CLI::ParseError& why) {
  std::string sentence = why.what();
  for (const std::string& word : app.remaining(true))
    if (word.starts_with('-')) {
      sentence = word +
                 " is not an option of this command (write -- before a key or value that begins "
                 "with a dash)";
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
  const auto commands =
      app.get_subcommands([&](const CLI::App* command) { return command->get_name() == word; });
  return word.starts_with('-') || !commands.empty();
}

int run(std::vector<char*> words) {
  if (const auto done = before_parsing(words)) return *done;
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
    tell(fmt::format("durahash: there is no command '{}'\nTry: durahash --help\n", argv[1]));
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
