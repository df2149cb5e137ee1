// Who has a pool open, as programs are told, and what the tool reads beside a writer.
#include <fcntl.h>

#include <cstdio>
#include <ctime>
#include <thread>

#include "durahash/processes.hpp"
#include "readers/beside_subjects.hpp"
#include "readers/ledger.hpp"
#include "readers/process.hpp"

namespace durahash::test {
namespace {

/// Which processes have it: "w 123 r 124".
std::string list_of(const std::string& path) {
  auto found = processes_with(path);
  if (!found) throw std::runtime_error(found.failure().message);
  std::string text;
  for (const pool_process& one : *found)
    text += (one.writes ? "w " : "r ") + std::to_string(one.id) + " ";
  return text;
}

TEST(Beside, WhoHasAPoolIsListed) {
  scratch_folder folder;
  const std::string path = folder.file("pool.dh");
  ASSERT_EQ(opened(path, {}).close(), status::ok);
  EXPECT_EQ(list_of(path), "");
  const ledger l;
  auto wait_for_ever = [&] {
    l.reads().fetch_add(1);
    while (true) ::pause();
    return 0;
  };
  auto open_and_wait = [&](const options& how) {
    return child_process([&] {
      const table pool = opened(path, how);
      return wait_for_ever();
    });
  };
  auto await = [&](std::uint64_t openings) {
    while (l.reads() < openings) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  child_process writer = open_and_wait({});
  await(1);
  child_process first = open_and_wait(beside);
  await(2);
  child_process second = open_and_wait(beside);
  await(3);
  const std::string w = "w " + std::to_string(writer.id()) + " ",
                    one = "r " + std::to_string(first.id()) + " ",
                    two = "r " + std::to_string(second.id()) + " ";
  EXPECT_EQ(list_of(path), w + one + two);
  EXPECT_EQ((*processes_with(path))[0].command, "readers_test");
  const auto began = (*processes_with(path))[1].started_unix_seconds;
  EXPECT_LE(std::abs(began - static_cast<std::int64_t>(std::time(nullptr))), 100);

  // neither who looks at the bytes alone, nor a reader of this process
  child_process bystander([&] { return ::open(path.c_str(), O_RDONLY) < 0 ? 1 : wait_for_ever(); });
  await(4);
  const table here = opened(path, beside);
  EXPECT_EQ(list_of(path), w + one + two);
  child_process forked(wait_for_ever);  // has the handle of its parent
  await(5);
  EXPECT_EQ(list_of(path), w + one + two + "r " + std::to_string(forked.id()) + " ");
  forked.kill();

  first.kill();
  EXPECT_EQ(list_of(path), w + two);
  writer.kill();
  EXPECT_EQ(list_of(path), two);
  second.kill();
  EXPECT_EQ(list_of(path), "");
  child_process alone = open_and_wait({.mode = open_mode::read_only});
  await(6);
  EXPECT_EQ(list_of(path), "r " + std::to_string(alone.id()) + " ");
  EXPECT_EQ(processes_with(folder.file("none.dh")).failure().code, status::unusable);
}

/// What a command prints; its exit code behind it.
std::string printed(const std::string& arguments) {
  std::FILE* out =
      ::popen((std::string(DURAHASH_TOOL_PATH) + " " + arguments + " 2>&1").c_str(), "r");
  std::string text;
  for (int c = std::fgetc(out); c != EOF; c = std::fgetc(out)) text += static_cast<char>(c);
  return text + std::to_string(WEXITSTATUS(::pclose(out)));
}

class BesideTool : public testing::TestWithParam<durability_level> {};
INSTANTIATE_TEST_SUITE_P(All, BesideTool,
                         testing::Values(durability_level::process, durability_level::power,
                                         durability_level::power_buffered),
                         [](const auto& one) { return std::string(name_of(one.param)); });

TEST_P(BesideTool, ReadsAPoolThatAProcessHasOpen) {
  scratch_folder folder(folder_for({engine_kind::turbo, record_kind::bytes, GetParam()}));
  for (engine_kind engine : all_engines()) {
    if (engine > engine_kind::gphash) continue;
    const std::string path = folder.file(std::string(name_of(engine)) + ".dh");
    table writer =
        opened(path, {.mode = open_mode::create_new, .engine = engine, .durability = GetParam()});
    ASSERT_EQ(writer.put("alice", "1"), status::ok);
    EXPECT_EQ(printed("get " + path + " alice"), "1\n0");
    ASSERT_EQ(writer.put("alice", "2"), status::ok);
    EXPECT_EQ(printed("get " + path + " alice"), "2\n0");
    EXPECT_EQ(printed("dump " + path), "alice\t2\n0");
    EXPECT_NE(printed("info " + path).find("a process has it to write to"), std::string::npos);
    EXPECT_NE(printed("info --json " + path).find("\"records\": 1"), std::string::npos);
    const std::string here = std::to_string(::getpid());
    EXPECT_NE(printed("info " + path).find("  writer        " + here + " (readers_test), which"),
              std::string::npos);
    EXPECT_NE(printed("info --json " + path).find("\"pid\": " + here + ",\n      \"writes\": true"),
              std::string::npos);
    EXPECT_NE(printed("check " + path).find("ok, 1 record"), std::string::npos);
    const std::string copy = path + "-copy";
    const std::string says = printed(std::string("backup ").append(path).append(" ").append(copy));
    EXPECT_NE(says.find("1 record"), std::string::npos);
    EXPECT_EQ(printed("dump " + copy), "alice\t2\n0");
    EXPECT_NE(printed("metrics " + path).find("pool_records"), std::string::npos);
    EXPECT_NE(printed("put " + path + " bob 3").find("locked"), std::string::npos);
  }
}

}  // namespace
}  // namespace durahash::test
