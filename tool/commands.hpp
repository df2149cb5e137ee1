// The commands of `durahash`: each tool/<command>.cpp registers one.
#pragma once

namespace CLI {
class App;
}

namespace durahash::tool {

/// What the process answers to its caller.
enum exit_codes : int {
  exit_done = 0,
  exit_not_found = 1,  ///< the key is absent, or a check failed
  exit_usage = 2,      ///< the arguments or the input make no sense
  exit_unusable = 3,   ///< the pool cannot be used; the message says why
};

// Each adds its subcommand to `app`. Running it leaves the answer in `exit_code`, or throws `failure`.
void add_create(CLI::App& app, int& exit_code);
void add_put(CLI::App& app, int& exit_code);
void add_get(CLI::App& app, int& exit_code);
void add_erase(CLI::App& app, int& exit_code);
void add_load(CLI::App& app, int& exit_code);
void add_dump(CLI::App& app, int& exit_code);
void add_info(CLI::App& app, int& exit_code);
void add_check(CLI::App& app, int& exit_code);
void add_compact(CLI::App& app, int& exit_code);
void add_bench(CLI::App& app, int& exit_code);
void add_demo(CLI::App& app, int& exit_code);
void add_crash(CLI::App& app, int& exit_code);

}  // namespace durahash::tool
