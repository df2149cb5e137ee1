// durahash: the command line over the library.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "commands.hpp"
#include "failure.hpp"

namespace durahash::tool {
namespace {

void add_commands(CLI::App& app, int& exit_code) {
  add_create(app, exit_code);
  add_put(app, exit_code);
  add_get(app, exit_code);
  add_erase(app, exit_code);
  add_load(app, exit_code);
  add_dump(app, exit_code);
  add_info(app, exit_code);
  add_check(app, exit_code);
  add_compact(app, exit_code);
  add_bench(app, exit_code);
  add_demo(app, exit_code);
  add_crash(app, exit_code);
  for (CLI::App* command : app.get_subcommands({})) command->group("Commands");
  // After the commands, which would repeat it.
  app.footer(
      "durahash COMMAND --help tells more of each.\n\n"
      "A first minute:\n"
      "  durahash create users.dh\n"
      "  durahash put users.dh alice 42\n"
      "  durahash get users.dh alice\n"
      "  durahash dump users.dh\n\n"
      "Exit codes: 0 done; 1 not found, or a check failed; 2 wrong arguments or input; 3 the pool cannot be used.");
}

void describe(CLI::App& app) {
  app.set_version_flag("--version", "durahash " DURAHASH_VERSION, "Print the version and exit");
  app.require_subcommand(1);
  app.get_formatter()->column_width(26);
  app.get_formatter()->label("REQUIRED", "");
  app.get_formatter()->label("Positionals", "Arguments");
  app.get_formatter()->label("SUBCOMMAND", "COMMAND");
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
      sentence = word + " is not an option of this command (write -- before a key or value that begins with a dash)";
      break;
    }
  std::fprintf(stderr, "%s: %s\nTry: %s --help\n", said_by(app).c_str(), sentence.c_str(), said_by(app).c_str());
  return exit_usage;
}

bool is_command(const CLI::App& app, std::string_view word) {
  const auto commands = app.get_subcommands([&](const CLI::App* command) { return command->get_name() == word; });
  return word.starts_with('-') || !commands.empty();
}

int run(int argc, char** argv) {
  int exit_code = exit_done;
  CLI::App app("Persistent hash maps that are still there after kill -9.", "durahash");
  describe(app);
  add_commands(app, exit_code);
  if (argc < 2) {
    std::fputs(app.help().c_str(), stderr);
    return exit_usage;
  }
  if (!is_command(app, argv[1])) {
    std::fprintf(stderr, "durahash: there is no command '%s'\nTry: durahash --help\n", argv[1]);
    return exit_usage;
  }
  try {
    app.parse(argc, argv);
    return exit_code;
  } catch (const failure& why) {
    std::fprintf(stderr, "%s: %s\n", said_by(app).c_str(), why.what());
    return why.exit_code;
  } catch (const CLI::ParseError& why) {
    if (why.get_exit_code() == 0) return app.exit(why);  // --help, --version
    return refuse(app, why);
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "%s: out of memory\n", said_by(app).c_str());
    return exit_unusable;
  } catch (const std::exception& why) {
    std::fprintf(stderr, "%s: %s\n", said_by(app).c_str(), why.what());
    return exit_unusable;
  }
}

}  // namespace
}  // namespace durahash::tool

int main(int argc, char** argv) { return durahash::tool::run(argc, argv); }
