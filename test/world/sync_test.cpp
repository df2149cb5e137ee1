// sync beside reserve, compact and writers. A pool whose root says clean does not change until a
// write begins: any of its pages may be on the disk, and any may not, so that a mixture of two of
// its moments is what a power cut leaves.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "test/store/patched_pool.hpp"
#include "world.hpp"

namespace durahash::test {
namespace {

/// The file's bytes, by read(2), as cp does.
std::string bytes_of(const std::string& path) {
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  require(file >= 0, "the pool's file can be read");
  struct stat facts {};
  require(::fstat(file, &facts) == 0, "the pool's file can be asked for its length");
  std::string bytes(static_cast<std::size_t>(facts.st_size), '\0');
  std::size_t done = 0;
  while (done < bytes.size()) {
    ssize_t got = ::pread(file, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (got <= 0) break;  // it was cut off meanwhile
    done += static_cast<std::size_t>(got);
  }
  ::close(file);
  bytes.resize(done);
  return bytes;
}
root_record root_now(const std::string& path) {
  std::string head(engine_area_offset, '\0');
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  require(
      file >= 0 && ::pread(file, head.data(), head.size(), 0) == static_cast<ssize_t>(head.size()),
      "the pool's root can be read");
  ::close(file);
  return root_in(head);
}

bool same_and_clean(const root_record& a, const root_record& b) {
  return a.state == pool_state::clean && a.sequence == b.sequence && b.state == a.state;
}

/// A power cut while the root said clean: it opens, checks clean, and has exactly the records that
/// were synced.
void require_whole(const place& at, const std::string& image, std::uint64_t records,
                   const std::string& what) {
  write_file(at.file("image"), after_reboot(image, pool_state::clean));
  auto opened = open_subject(at.with, at.file("image"), plain_options(at.with));
  require(static_cast<bool>(opened), what + " opens: " + (opened ? "" : opened.failure().message));
  require((*opened)->pool().info().clean, what + " is clean");
  require_records(**opened, at.with, 0, records, "in " + what);
  require((*opened)->pool().size() == records,
          "in " + what + " size is " + std::to_string(records));
  require_sound(**opened, "in " + what);
  (void)(*opened)->pool().close();
  std::filesystem::remove(at.file("image"));
}

/// Writes, syncs, and looks at the file as long as its root stays clean, while another thread works
/// on the pool's shape.
int sync_beside(const child_arguments& arguments) {
  place at(arguments);
  const std::string& beside = arguments.at(2);
  random_stream random(std::stoull(arguments.at(3)));
  auto pool = make_or_end(at.with, at.file("pool"));
  std::uint64_t records = 6000;
  put_records(*pool, at.with, 0, records);
  std::atomic<bool> over{false};
  std::thread other([&] {
    // Each pool.reserve makes the table larger than the last one, until a compact makes it small
    // again.
    for (std::uint64_t room = 20'000; !over; room = room > 160'000 ? 20'000 : room * 3 / 2) {
      if (beside != "compact") require_ok(pool->pool().reserve(room), "reserve beside sync");
      if (beside == "compact" || room > 160'000)
        require_ok(pool->pool().compact(), "compact beside sync");
    }
  });
  std::uint64_t mixtures = 0, max_mixtures = 25;
  auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(stress_seconds());
  while (std::chrono::steady_clock::now() < until && mixtures < max_mixtures) {
    if (random.one_in(2)) {
      put_records(*pool, at.with, records, records + 20);
      records += 20;
    }
    require_ok(pool->pool().sync(), "sync");
    root_record synced = root_now(at.file("pool"));
    if (synced.state != pool_state::clean) continue;  // something has begun since
    std::string early = bytes_of(at.file("pool"));
    if (!same_and_clean(synced, root_now(at.file("pool")))) continue;
    for (int looks = 0; looks < 20; ++looks) {
      std::this_thread::sleep_for(std::chrono::microseconds(random.below(300)));
      std::string late = bytes_of(at.file("pool"));
      if (!same_and_clean(synced, root_now(at.file("pool")))) break;
      if (late == early) continue;
      std::string mixed = late;
      for (std::size_t page = 0; page + page_bytes <= std::min(early.size(), late.size());
           page += page_bytes)
        if (random.one_in(2)) mixed.replace(page, page_bytes, early, page, page_bytes);
      ++mixtures;
      require_whole(at, mixed, records, "a mixture of two moments of a pool whose root said clean");
      break;
    }
    if (random.one_in(8)) require_whole(at, early, records, "a pool as it was when sync returned");
  }
  over = true;
  other.join();
  require_records(*pool, at.with, 0, records, "beside " + beside);
  require_sound(*pool, "beside " + beside);
  return passed;
}

/// The same with other threads that write; the root is clean only between a sync and their next
/// write.
int sync_beside_writers(const child_arguments& arguments) {
  place at(arguments);
  auto pool = make_or_end(at.with, at.file("pool"));
  constexpr std::uint64_t threads = 2, of_each = 1'000'000;
  std::atomic<std::uint64_t> told[threads] = {};
  std::atomic<bool> over{false};
  std::vector<std::thread> writers;
  for (std::uint64_t t = 0; t < threads; ++t)
    writers.emplace_back([&, t] {
      for (std::uint64_t n = 0; !over && n < of_each; ++n) {
        require_ok(
            pool->put(nth_key(at.with, t * of_each + n), nth_value(at.with, t * of_each + n)),
            "put beside sync");
        told[t] = n + 1;
        if (n % 50 == 49) std::this_thread::sleep_for(std::chrono::milliseconds(3));
      }
    });
  std::thread shaper([&] {
    for (std::uint64_t room = 10'000; !over; room += 10'000) {
      require_ok(pool->pool().reserve(room % 80'000), "reserve beside sync");
      require_ok(pool->pool().compact(), "compact beside sync");
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  });
  std::uint64_t images = 0;
  auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(stress_seconds());
  while (std::chrono::steady_clock::now() < until && images < 12) {
    std::uint64_t before[threads];
    for (std::uint64_t t = 0; t < threads; ++t) before[t] = told[t];
    require_ok(pool->pool().sync(), "sync");
    root_record synced = root_now(at.file("pool"));
    std::string early = bytes_of(at.file("pool")), late = bytes_of(at.file("pool"));
    if (!same_and_clean(synced, root_now(at.file("pool")))) continue;
    ++images;
    for (std::size_t page = 0; page + page_bytes <= std::min(early.size(), late.size());
         page += page_bytes)
      if (page / page_bytes % 2 == images % 2)
        late.replace(page, page_bytes, early, page, page_bytes);
    write_file(at.file("image"), after_reboot(late, pool_state::clean));
    auto opened = open_subject(at.with, at.file("image"), plain_options(at.with));
    require(static_cast<bool>(opened), "an image of a pool whose root said clean opens: " +
                                           (opened ? "" : opened.failure().message));
    require_sound(**opened, "in an image of a pool whose root said clean");
    for (std::uint64_t t = 0; t < threads; ++t)
      require_records(**opened, at.with, t * of_each, t * of_each + before[t],
                      "in an image behind a sync");
  }
  over = true;
  for (std::thread& writer : writers) writer.join();
  shaper.join();
  for (std::uint64_t t = 0; t < threads; ++t)
    require_records(*pool, at.with, t * of_each, t * of_each + told[t], "beside syncs");
  require_sound(*pool, "beside syncs");
  return passed;
}

const child_role roles_of_sync[] = {{"sync_beside", sync_beside},
                                    {"sync_beside_writers", sync_beside_writers}};

class SyncBeside : public testing::TestWithParam<setup> {
 protected:
  void survives(const std::string& role, const std::string& beside) {
    scratch_folder folder(GetParam().folder());
    play(role,
         {GetParam().name(), folder.path().string(), beside,
          std::to_string(stream_seed(GetParam().name() + beside))},
         patience_seconds + 4 * stress_seconds());
  }
};
INSTANTIATE_TEST_SUITE_P(Every, SyncBeside, testing::ValuesIn(world_setups()), setup_name());

TEST_P(SyncBeside, ReserveLeavesACleanPoolAlone) { survives("sync_beside", "reserve"); }
TEST_P(SyncBeside, CompactLeavesACleanPoolAlone) { survives("sync_beside", "compact"); }
TEST_P(SyncBeside, WritersAndReserveAndCompactKeepsWhatItSynced) {
  survives("sync_beside_writers", "writers");
}

}  // namespace
}  // namespace durahash::test
