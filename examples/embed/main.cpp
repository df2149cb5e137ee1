// Embeds durahash: counts its own runs in a map, and keeps a diary in a table. Both are there in
// the next run, whether this one ended by itself or was killed.
//
//   embed FOLDER          one run
//   embed FOLDER --die    one run that ends by SIGKILL, with nothing closed
#include <durahash/map.hpp>
#include <durahash/table.hpp>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <utility>

namespace {

constexpr std::uint64_t runs_key = 0;  // every key is legal, 0 too

[[noreturn]] void give_up(const std::string& why) {
  std::cerr << "embed: " << why << '\n';
  std::exit(1);
}

template <class T>
T opened(durahash::result<T> result) {
  if (!result) give_up(result.failure().message);
  return std::move(*result);
}

void require(durahash::status answer, const std::string& what) {
  if (answer != durahash::status::ok) give_up(what + ": " + std::string(message(answer)));
}

std::uint64_t count_this_run(durahash::map<std::uint64_t, std::uint64_t>& counts) {
  std::uint64_t before = 0;
  require(counts.fetch_add(runs_key, 1, before), "counting");
  return before + 1;
}

void write_diary(durahash::table& diary, std::uint64_t run) {
  require(diary.put("run " + std::to_string(run), "the words of run " + std::to_string(run)),
          "writing the diary");
}

/// Every earlier run must have left its page.
void read_diary(const durahash::table& diary, std::uint64_t run) {
  for (std::uint64_t earlier = 1; earlier < run; ++earlier) {
    auto page = diary.get("run " + std::to_string(earlier));
    if (!page) give_up("the page of run " + std::to_string(earlier) + " is gone");
    std::cout << "  found: " << *page << '\n';
  }
}

}  // namespace

int main(int argc, char** argv) {
  bool die = argc == 3 && std::string(argv[2]) == "--die";
  if (argc < 2 || (argc > 2 && !die)) {
    std::cerr << "usage: embed FOLDER [--die]\n";
    return 2;
  }
  std::string folder = argv[1];
  auto counts = opened(durahash::map<std::uint64_t, std::uint64_t>::open(folder + "/counts.dh"));
  auto diary = opened(durahash::table::open(folder + "/diary.dh"));

  std::uint64_t run = count_this_run(counts);
  std::cout << "run " << run << '\n';
  write_diary(diary, run);
  read_diary(diary, run);

  if (die) {
    std::cout << "  killing this process" << std::endl;
    std::raise(SIGKILL);
  }
  require(diary.close(), "closing the diary");
  require(counts.close(), "closing the counts");
}
