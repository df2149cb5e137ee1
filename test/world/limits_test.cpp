// Numbers that somebody else chose: a thousand pools in a process, capacities that nothing can
// hold, keys made for a pool's own seed.
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/hash.hpp"
#include "test/store/patched_pool.hpp"
#include "world.hpp"

namespace durahash::test {
namespace {

// -------------------------------------------------------------------------------------------------
// a thousand pools

constexpr int pools = 1000, killed = 8;
constexpr std::uint64_t many_records =
    40'000;  // so many that an opener does not count them at once

std::string name_of_pool(const std::string& folder, int n) {
  return folder + "/pool" + std::to_string(n);
}
/// The n-th pool's engine: they take turns.
options options_of_pool(int n) {
  options how;
  how.engine = all_engines()[static_cast<std::size_t>(n) % all_engines().size()];
  return how;
}

/// folder: fills the first pools, and dies.
int fill_eight_pools_and_die(const child_arguments& arguments) {
  std::vector<table> all;
  for (int n = 0; n < killed; ++n) {
    auto opened = table::open(name_of_pool(arguments.at(0), n), options_of_pool(n));
    require(static_cast<bool>(opened), "a pool opens: " + (opened ? "" : opened.failure().message));
    all.push_back(std::move(*opened));
    for (std::uint64_t i = 0; i < many_records; ++i)
      require_ok(all.back().put("key/" + std::to_string(i), "value " + std::to_string(i)), "put");
  }
  die();
}

/// What options.hpp says of small pools: memory of the process, and addresses.
constexpr std::uint64_t memory_of_a_pool = 512 << 10,
                        addresses_of_a_pool = (std::uint64_t{64} << 30) + (16 << 20);

/// Bytes, of the line of /proc/self/status that begins so.
std::uint64_t bytes_of_this_process(const std::string& line) {
  std::ifstream facts("/proc/self/status");
  for (std::string text; std::getline(facts, text);)
    if (text.starts_with(line)) return std::stoull(text.substr(line.size())) << 10;
  require(false, "the system tells " + line);
  return 0;
}
void require_little(const std::string& line, std::uint64_t before, std::uint64_t of_a_pool) {
  std::uint64_t each = (bytes_of_this_process(line) - before) / (pools - killed);
  std::printf("%s %llu bytes for each pool\n", line.c_str(), static_cast<unsigned long long>(each));
  require(each <= of_a_pool, line + " " + std::to_string(each) + " bytes for each of a thousand " +
                                 "pools, of " + std::to_string(of_a_pool));
}

/// folder, pools
int open_a_thousand_pools(const child_arguments& arguments) {
  const std::string& folder = arguments.at(0);
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &files);
    if (files.rlim_cur < 3 * pools) return not_possible_here;
  }
  std::vector<table> all;
  std::uint64_t memory = 0, addresses = 0;
  for (int n = 0; n < pools;
       ++n) {  // the first are found as their killed owner left them, and counted
    if (n == killed) {
      memory = bytes_of_this_process("RssAnon:");
      addresses = bytes_of_this_process("VmSize:");
    }
    auto opened = table::open(name_of_pool(folder, n), options_of_pool(n));
    require(static_cast<bool>(opened),
            "pool " + std::to_string(n) + " opens: " + (opened ? "" : opened.failure().message));
    all.push_back(std::move(*opened));
  }
  constexpr std::size_t few = 4;
  std::size_t threads = threads_of_this_process();
  require(threads <= few, "a thousand pools need at most " + std::to_string(few) +
                              " threads; there are " + std::to_string(threads));

  constexpr std::size_t gigabyte = std::size_t{1} << 30;
  void* of_malloc = std::malloc(gigabyte);
  require(of_malloc != nullptr, "malloc gets 1 GB beside a thousand pools");
  void* of_mmap =
      mmap(nullptr, gigabyte, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  require(of_mmap != MAP_FAILED, "mmap gets 1 GB beside a thousand pools");
  static_cast<volatile char*>(of_malloc)[gigabyte / 2] = 1;
  static_cast<volatile char*>(of_mmap)[gigabyte / 2] = 1;
  std::free(of_malloc);
  munmap(of_mmap, gigabyte);

  for (int n = 0; n < pools; ++n)
    for (int i = 0; i < 20; ++i)
      require_ok(
          all[static_cast<std::size_t>(n)].put("new/" + std::to_string(i), std::to_string(n + i)),
          "put into one of a thousand pools");
  require_little("RssAnon:", memory, memory_of_a_pool);
  require_little("VmSize:", addresses, addresses_of_a_pool);
  for (int n = 0; n < pools; ++n) {
    table& pool = all[static_cast<std::size_t>(n)];
    for (int i = 0; i < 20; ++i)
      require(pool.get("new/" + std::to_string(i)) == std::to_string(n + i),
              "each of a thousand pools has its own records");
    require(pool.size() == 20 + (n < killed ? many_records : 0),
            "pool " + std::to_string(n) + " counts its records");
  }
  for (int n = 0; n < killed; ++n) {
    for (std::uint64_t i = 0; i < many_records; ++i)
      require(all[static_cast<std::size_t>(n)].get("key/" + std::to_string(i)) ==
                  "value " + std::to_string(i),
              "a killed pool among a thousand has its records");
    require(all[static_cast<std::size_t>(n)].check().ok,
            "a killed pool among a thousand checks clean");
  }
  threads = threads_of_this_process();
  require(threads <= few, "a thousand pools at work need at most " + std::to_string(few) +
                              " threads; there are " + std::to_string(threads));
  for (table& pool : all) require_ok(pool.close(), "close of one of a thousand pools");
  return passed;
}

/// folder: with the library's defaults, empty and with a record each.
int hold_a_thousand_small_pools(const child_arguments& arguments) {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &files);
    if (files.rlim_cur < 3 * pools) return not_possible_here;
  }
  constexpr std::uint64_t most_of_an_empty_file = 64 << 10;
  // 64 KiB of each are the words, locks and counts of 4,096 shards; 44 are pages of its file
  constexpr std::uint64_t most_bytes = pools * std::uint64_t{128 << 10};
  auto require_small = [](const char* what) {
    const std::uint64_t bytes = bytes_of_this_process("VmRSS:");
    std::printf("%s: %llu bytes resident\n", what, static_cast<unsigned long long>(bytes));
    require(bytes <= most_bytes, std::string(what) + " take " + std::to_string(bytes) + " bytes");
  };
  std::vector<table> all;
  for (int n = 0; n < pools; ++n) {
    auto opened = table::open(name_of_pool(arguments.at(0), n));
    require(static_cast<bool>(opened), opened ? "" : opened.failure().message);
    all.push_back(std::move(*opened));
    const auto bytes = std::filesystem::file_size(name_of_pool(arguments.at(0), n));
    require(bytes <= most_of_an_empty_file, "an empty pool has " + std::to_string(bytes));
  }
  require_small("a thousand empty pools");
  for (table& pool : all) require_ok(pool.put("key", "value"), "put into one of a thousand pools");
  require_small("a thousand pools of one record");
  return passed;
}

TEST(ThousandPools, OfTheDefaultsTakeLittleMemory) {
  scratch_folder folder;
  play("hold_a_thousand_small_pools", {folder.path().string()}, 3 * patience_seconds);
}

TEST(ThousandPools, AreOpenAtOnceWithFewThreadsAndLeaveAddressesForOthers) {
  scratch_folder folder;
  ASSERT_NO_FATAL_FAILURE(play_until_death("fill_eight_pools_and_die", {folder.path().string()}));
  play("open_a_thousand_pools", {folder.path().string()}, 3 * patience_seconds);
}

// -------------------------------------------------------------------------------------------------
// capacities of dreams

/// Whether the sentence names a number of bytes that is at least `least`: "1099511627776 bytes",
/// "1.0 TiB", "1 TB".
bool names_bytes(const std::string& sentence, double least) {
  for (std::size_t at = 0; at < sentence.size(); ++at) {
    if (!std::isdigit(static_cast<unsigned char>(sentence[at])) ||
        (at > 0 &&
         (std::isalnum(static_cast<unsigned char>(sentence[at - 1])) || sentence[at - 1] == '.')))
      continue;
    char* end = nullptr;
    double number = std::strtod(&sentence[at], &end);
    while (*end == ' ') ++end;
    constexpr const char* prefixes = "KMGTPE";
    double unit = 0;
    if (std::string_view(end).starts_with("byte")) unit = 1;
    for (int power = 1; const char* p = prefixes + power - 1; ++power) {
      if (*p == '\0') break;
      bool here =
          std::toupper(static_cast<unsigned char>(*end)) == *p && (end[1] == 'B' || end[1] == 'i');
      if (here) unit = std::pow(end[1] == 'i' ? 1024.0 : 1000.0, power);
    }
    if (unit != 0 && number * unit >= least) return true;
  }
  return false;
}

/// The most that a file system had in use while something was done, looked at all the time.
class usage_watch {
 public:
  explicit usage_watch(const std::string& folder)
      : before_(used(folder)), thread_([folder, this] {
          while (!over_) max_ = std::max(max_.load(), used(folder));
        }) {}
  std::uint64_t max_added() {
    over_ = true;
    if (thread_.joinable()) thread_.join();
    return max_ > before_ ? max_ - before_ : 0;
  }
  ~usage_watch() { max_added(); }

 private:
  static std::uint64_t used(const std::string& folder) {
    struct statvfs facts {};
    require(::statvfs(folder.c_str(), &facts) == 0, "a file system can be asked for its room");
    return (facts.f_blocks - facts.f_bfree) * facts.f_frsize;
  }
  std::uint64_t before_;
  std::atomic<std::uint64_t> max_{0};
  std::atomic<bool> over_{false};
  std::thread thread_;
};

/// Mounts a file system of 256 MB of its own over the folder.
bool mount_own(const std::string& folder) {
  if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  return mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("none", folder.c_str(), "tmpfs", 0, "size=256m") == 0;
}

/// setup, folder, capacity, "limited" or "wide"
int ask_for_a_capacity(const child_arguments& arguments) {
  setup with = world_setup(arguments.at(0));
  const std::string& folder = arguments.at(1);
  if (!mount_own(folder)) return not_possible_here;
  std::uint64_t capacity = std::stoull(arguments.at(2));
  options how = with.create_options();
  how.settings.clear();
  how.capacity = capacity;
  if (arguments.at(3) == "limited") how.max_bytes = 64 << 20;
  if (arguments.at(3) == "wide")
    how.address_space_bytes = std::uint64_t{1} << 46;  // so that addresses are not what is short
  usage_watch watch(folder);
  auto opened = open_subject(with, folder + "/pool", how);
  std::uint64_t added = watch.max_added();
  require(!opened, "a capacity of " + arguments.at(2) + " is refused");
  const error& why = opened.failure();
  require(why.code == status::no_space || why.code == status::invalid_argument,
          "the refusal is no_space or invalid_argument: " + why.message);
  constexpr double min_bytes_per_record = 16;  // a key and a value, or what names them
  require(names_bytes(why.message, static_cast<double>(capacity) * min_bytes_per_record),
          "the refusal says how many bytes it would need: " + why.message);
  require(added <= 1 << 20,
          "nothing is filled before the refusal; it was " + std::to_string(added) + " bytes");
  require(!std::filesystem::exists(folder + "/pool"), "no file is left");
  options sane = with.create_options();
  auto made = open_or_end(with, folder + "/pool", sane);
  put_records(*made, with, 0, 100);
  return passed;
}

class Capacity : public testing::TestWithParam<setup> {
 protected:
  void is_refused(std::uint64_t capacity, const std::string& how) {
    scratch_folder folder(GetParam().folder());
    play("ask_for_a_capacity",
         {GetParam().name(), folder.path().string(), std::to_string(capacity), how});
  }
};
INSTANTIATE_TEST_SUITE_P(Every, Capacity, testing::ValuesIn(world_setups()), setup_name());

TEST_P(Capacity, OfTwoToThe36IsRefusedWithWhatItWouldNeed) {
  is_refused(std::uint64_t{1} << 36, "default");
}
TEST_P(Capacity, OfTwoToThe36IsRefusedWhereAddressesWouldDo) {
  is_refused(std::uint64_t{1} << 36, "wide");
}
TEST_P(Capacity, OfTwoToThe36IsRefusedInALimitedPool) {
  is_refused(std::uint64_t{1} << 36, "limited");
}
TEST_P(Capacity, ThatTheFileSystemCannotHoldIsRefusedBeforeAnythingIsWritten) {
  is_refused(std::uint64_t{1} << 27, "default");
}
TEST_P(Capacity, ThatThePoolMayNotGrowToIsRefusedBeforeAnythingIsWritten) {
  is_refused(std::uint64_t{1} << 23, "limited");
}

// -------------------------------------------------------------------------------------------------
// keys made for the pool

std::uint64_t inverse_of(std::uint64_t odd) {  // modulo 2^64
  std::uint64_t inverse = odd;
  for (int bits = 3; bits < 64; bits *= 2) inverse *= 2 - odd * inverse;
  return inverse;
}

/// The string of 8 bytes that has this hash: XXH3 of so many can be undone, step by step.
std::uint64_t key_of_hash(std::uint64_t hash, const hash_seeds& seeds) {
  constexpr std::uint64_t multiplier = 0x9fb21c651e98df25, length = 8,
                          of_secret = 0xc73ab174c5ecd5a2;
  const std::uint64_t inverse = inverse_of(multiplier);
  std::uint64_t x = hash;
  x ^= x >> 28 ^ x >> 56;
  x *= inverse;
  x ^= (x >> 35) + length;
  x *= inverse;
  // x ^ rotl(x, 49) ^ rotl(x, 24) was done once; done 64 times it is nothing
  for (int power = 0; power < 6; ++power)
    x ^= std::rotl(x, (49 << power) % 64) ^ std::rotl(x, (24 << power) % 64);
  const std::uint64_t seed =
      seeds.flip ^ std::uint64_t{__builtin_bswap32(static_cast<std::uint32_t>(seeds.flip))} << 32;
  return std::rotl(x ^ (of_secret - seed), 32);
}

/// Words, or strings of 8 bytes, whose hashes begin with the same bits, for the seeds that stand in
/// the pool's superblock.
std::vector<std::uint64_t> keys_for(const setup& with, const std::string& path, std::size_t count,
                                    unsigned equal_bits, std::uint64_t seed) {
  superblock block = superblock_in(read_file(path));
  const hash_seeds seeds = seeds_of(block);
  random_stream random(seed);
  const std::uint64_t wanted = random.next() >> (64 - equal_bits);
  std::vector<std::uint64_t> keys;
  if (with.key() == data_kind::u64) {  // to be found by trying
    for (std::uint64_t key = random.next(); keys.size() < count; ++key)
      if (word_hash(key, seeds) >> (64 - equal_bits) == wanted) keys.push_back(key);
    return keys;
  }
  while (keys.size() < count) {
    const std::uint64_t hash = wanted << (64 - equal_bits) | random.next() >> equal_bits;
    keys.push_back(key_of_hash(hash, seeds));
    require(bytes_hash({reinterpret_cast<const char*>(&keys.back()), sizeof hash}, seeds) == hash,
            "a key is made for its hash");
  }
  return keys;
}

/// setup, folder, seed, how many, of how many equal bits: what all engines promise of keys that one
/// shard, segment or bucket has to hold.
int put_chosen_keys(const child_arguments& arguments) {
  setup with = world_setup(arguments.at(0));
  std::string path = arguments.at(1) + "/pool";
  rlimit file_size{std::uint64_t{1} << 30,
                   std::uint64_t{1} << 30};  // the machine's other users want some memory, too
  (void)setrlimit(RLIMIT_FSIZE, &file_size);
  ::signal(SIGXFSZ, SIG_IGN);
  options how = with.create_options();
  how.settings.clear();
  // Keys of more equal bits take long to find: few have to fill a segment.
  std::uint64_t chosen_keys = std::stoull(arguments.at(3));
  bool few_keys = chosen_keys < 100;
  if (few_keys && with.engine == engine_kind::cceh) how.settings["segment"] = 2;
  auto pool = open_or_end(with, path, how);
  std::vector<std::uint64_t> keys =
      keys_for(with, path, chosen_keys, static_cast<unsigned>(std::stoul(arguments.at(4))),
               std::stoull(arguments.at(2)));
  std::uint64_t taken = 0;
  std::vector<bool> has(keys.size());
  for (std::size_t n = 0; n < keys.size(); ++n) {
    status answer = pool->put(word_bytes(keys[n]), word_bytes(n));
    require(answer == status::ok || answer == status::no_space,
            "put of a chosen key answers ok or no_space: " + std::string(message(answer)));
    has[n] = answer == status::ok;
    taken += has[n];
  }
  std::uint64_t bytes = pool->pool().info().file_bytes;
  std::printf("%s: %llu of %llu chosen keys taken, %.1f MB\n", with.name().c_str(),
              static_cast<unsigned long long>(taken), static_cast<unsigned long long>(chosen_keys),
              static_cast<double>(bytes) / 1e6);
  constexpr std::uint64_t bound = 64 << 20;
  require(bytes <= bound,
          "chosen keys take at most 64 MB; they take " + std::to_string(bytes) + " bytes");
  // Shards and segments grow alone. Elsewhere a key has few buckets, and a larger table has twice
  // as many for all: there the bound is a clear no_space.
  bool grows_in_parts = with.engine == engine_kind::turbo || with.engine == engine_kind::cceh;
  require(taken >= (few_keys         ? 16
                    : grows_in_parts ? 1000
                                     : 20),
          "some of the chosen keys are taken");
  for (std::size_t n = 0; n < keys.size(); ++n)
    require(
        pool->get(word_bytes(keys[n])) == (has[n] ? std::optional(word_bytes(n)) : std::nullopt),
        "a chosen key reads as it was answered");
  // Asked again, the same keys are refused again, and nothing grows for them.
  auto grown = [&] {
    return std::pair(figure_of(pool->pool(), "splits"), pool->pool().info().slots);
  };
  auto before = grown();
  for (std::size_t n = 0; n < keys.size(); ++n)
    if (!has[n])
      require(pool->put(word_bytes(keys[n]), word_bytes(n)) == status::no_space,
              "a chosen key that was refused is refused again");
  require(grown() == before, "nothing grows for keys that are refused");
  // A bucket that chosen keys fill is met by few others, and a larger table sets those apart: what
  // is refused is one of many slots for each record.
  constexpr std::uint64_t ordinary = 20'000, few = 8;
  std::uint64_t refused = 0;
  for (std::uint64_t n = 0; n < ordinary; ++n) {
    status answer = pool->put(word_bytes(mixed(n)), word_bytes(n));
    require(answer == status::ok || answer == status::no_space,
            "put of an ordinary key answers ok or no_space: " + std::string(message(answer)));
    refused += answer == status::no_space;
  }
  require(refused <= (!grows_in_parts || few_keys ? few : 0),
          std::to_string(refused) + " ordinary keys are refused beside chosen ones");
  bytes = pool->pool().info().file_bytes;
  require(bytes <= bound, "with ordinary keys the file has " + std::to_string(bytes) + " bytes");
  require_sound(*pool, "with chosen keys");
  return passed;
}

class ChosenKeys : public testing::TestWithParam<setup> {};
INSTANTIATE_TEST_SUITE_P(Every, ChosenKeys, testing::ValuesIn(world_setups()), setup_name());

void play_with_chosen_keys(const setup& with, int count, int equal_bits) {
  scratch_folder folder;
  play("put_chosen_keys",
       {with.name(), folder.path().string(), std::to_string(stream_seed("chosen keys")),
        std::to_string(count), std::to_string(equal_bits)},
       3 * patience_seconds);
}

TEST_P(ChosenKeys, TakeBoundedSpace) { play_with_chosen_keys(GetParam(), 4656, 16); }

/// A directory on the first bits of hashes would have to tell all of these bits apart.
TEST_P(ChosenKeys, OfMoreEqualBitsThanADirectoryHasTakeBoundedSpace) {
  play_with_chosen_keys(GetParam(), 24, 24);
}

// -------------------------------------------------------------------------------------------------
// few addresses

/// setup, folder, megabytes of addresses that the process may have (ulimit -v)
int use_few_addresses(const child_arguments& arguments) {
  setup with = setup_named(arguments.at(0));
  std::uint64_t bytes = std::stoull(arguments.at(2)) << 20;
  rlimit addresses{bytes, bytes};
  if (setrlimit(RLIMIT_AS, &addresses) != 0) return not_possible_here;
  auto pool = make_or_end(with, arguments.at(1) + "/pool");
  std::size_t quarter = bytes / 4;
  void* of_program = std::malloc(quarter);
  require(of_program != nullptr, "the program beside the pool has memory of its own");
  static_cast<volatile char*>(of_program)[quarter / 2] = 1;
  put_records(*pool, with, 0, 20'000);
  require_records(*pool, with, 0, 20'000, "with few addresses");
  require_sound(*pool, "with few addresses");
  std::free(of_program);
  require_ok(pool->pool().close(), "close with few addresses");
  return passed;
}

class FewAddresses : public testing::TestWithParam<setup> {};
std::vector<setup> files_and_logs() {
  std::vector<setup> all = byte_setups();
  for (std::size_t n = 0, count = all.size(); n < count; ++n)
    if (is_shipped(all[n].engine))
      all.push_back(
          {all[n].engine, place_kind::logged, api_kind::bytes, durability_level::power_buffered});
  return all;
}
INSTANTIATE_TEST_SUITE_P(Every, FewAddresses, testing::ValuesIn(files_and_logs()), setup_name());

TEST_P(FewAddresses, AreSharedWithTheProgramBesideThePool) {
#ifdef DURAHASH_SANITIZED
  GTEST_SKIP() << "a sanitizer wants terabytes of addresses";
#else
  // half a gigabyte would do for the pool alone
  for (const char* megabytes : {"700", "1500"}) {
    scratch_folder folder(GetParam().folder());
    play("use_few_addresses", {GetParam().name(), folder.path().string(), megabytes});
  }
#endif
}

const child_role roles_of_limits[] = {{"use_few_addresses", use_few_addresses},
                                      {"fill_eight_pools_and_die", fill_eight_pools_and_die},
                                      {"open_a_thousand_pools", open_a_thousand_pools},
                                      {"hold_a_thousand_small_pools", hold_a_thousand_small_pools},
                                      {"ask_for_a_capacity", ask_for_a_capacity},
                                      {"put_chosen_keys", put_chosen_keys}};

}  // namespace
}  // namespace durahash::test
