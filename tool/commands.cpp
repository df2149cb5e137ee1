#include "commands.hpp"

namespace durahash::tool {

void add_commands(command_line app, int& exit_code) {
  add_create(app, exit_code);
  add_put(app, exit_code);
  add_get(app, exit_code);
  add_erase(app, exit_code);
  add_load(app, exit_code);
  add_dump(app, exit_code);
  add_info(app, exit_code);
  add_metrics(app, exit_code);
  add_check(app, exit_code);
  add_inspect(app, exit_code);
  add_compact(app, exit_code);
  add_convert(app, exit_code);
  add_backup(app, exit_code);
  add_remove(app, exit_code);
  add_demo(app, exit_code);
  add_programs(app);
}

std::optional<int> before_parsing(std::vector<char*>& words) { return start_program(words); }

}  // namespace durahash::tool
