// A library that is loaded late, as a Python wheel's or a server module's is: with its variables of
// each thread, and in threads that were there before it.
#include <dlfcn.h>

#include <atomic>
#include <thread>

#include "world.hpp"

namespace durahash::test {
namespace {

TEST(LateLibrary, ServesThreadsThatWereThereBeforeIt) {
  scratch_folder folder;
  std::atomic<int (*)(const char*)> use{nullptr};
  std::atomic<int> answers[2] = {-1, -1};
  std::thread threads[2];
  for (int i : {0, 1})
    threads[i] = std::thread([&, i] {
      use.wait(nullptr);
      answers[i] = use.load()(folder.file("pool" + std::to_string(i)).c_str());
    });
  void* module = ::dlopen(DURAHASH_LATE_MODULE, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(module, nullptr) << ::dlerror();
  use = reinterpret_cast<int (*)(const char*)>(::dlsym(module, "use_a_pool"));
  use.notify_all();
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(answers[0], 0);
  EXPECT_EQ(answers[1], 0);
}

}  // namespace
}  // namespace durahash::test
