// Everything beside everything: sync, reserve, compact, check, size, info, scans whose visitors
// write another table, and forks, beside writers and readers. The process is killed at a random
// moment; what it was told is done must be there, key by key.
//
// A writer owns its keys. Version v of a key is a value that names it, or the key's absence; both
// are told before and after each write. A word tells of each thread that it goes on: one that does
// not is a deadlock. DURAHASH_STRESS_SECONDS=60 makes a round that long, DURAHASH_KILLS=250 makes
// as many rounds of each test.
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "test/store/versioned_value.hpp"
#include "world.hpp"

namespace durahash::test {
namespace {

constexpr std::uint64_t writers = 2, keys_of_each = 400, all_keys = writers * keys_of_each;
enum helper : std::uint64_t {
  writer_one,
  writer_two,
  reader,
  syncer,
  shaper,
  checker,
  visitor,
  forker,
  helpers
};
constexpr const char* names[helpers] = {
    "a writer",    "a writer", "the reader", "sync", "reserve and compact", "check, size and info",
    "the visitor", "fork"};

/// What the process has told.
class told_words {
 public:
  explicit told_words(const std::string& path)
      : words_(path, 2 * (all_keys + all_keys) + helpers + 1) {}
  std::atomic<std::uint64_t>& begun(std::uint64_t key) { return words_[2 * key]; }
  std::atomic<std::uint64_t>& done(std::uint64_t key) { return words_[2 * key + 1]; }
  /// The same of the table that the visitor writes.
  std::atomic<std::uint64_t>& other_begun(std::uint64_t key) {
    return words_[2 * (all_keys + key)];
  }
  std::atomic<std::uint64_t>& other_done(std::uint64_t key) {
    return words_[2 * (all_keys + key) + 1];
  }
  std::atomic<std::uint64_t>& steps(std::uint64_t helper) { return words_[4 * all_keys + helper]; }
  std::atomic<std::uint64_t>& open() { return words_[4 * all_keys + helpers]; }

 private:
  shared_words words_;
};

/// Version v of a key; nothing: it is absent.
std::optional<std::string> version_of(const setup& with, std::uint64_t key, std::uint64_t version) {
  if (version == 0 || mixed(key << 32 | version) % 4 == 0) return std::nullopt;
  return versioned_value(with, key, version);
}

class busy_process {
 public:
  busy_process(const place& at, std::uint64_t seed, bool forks)
      : with_(at.with),
        told_(at.file("told")),
        pool_(open_or_end(with_, at.file("pool"))),
        other_(open_or_end(with_, at.file("other"))),
        seed_(seed),
        forks_(forks) {}

  [[noreturn]] void work_until_killed() {
    told_.open() = 1;
    std::vector<std::thread> threads;
    auto add = [&](helper which, auto step) {
      threads.emplace_back([this, which, step] {
        for (random_stream random(mixed(seed_ ^ which));;) {
          step(random);
          ++told_.steps(which);
        }
      });
    };
    add(writer_one, [this](random_stream& random) { write(0, random); });
    add(writer_two, [this](random_stream& random) { write(1, random); });
    add(reader, [this](random_stream& random) { read(random); });
    add(syncer, [this](random_stream& random) {
      require_ok(pool_->pool().sync(), "sync");
      if (random.one_in(3)) require_ok(other_->pool().sync(), "sync of the other table");
      pause_up_to(random, 3000);
    });
    add(shaper, [this](random_stream& random) {
      if (random.one_in(2)) require_ok(pool_->pool().reserve(random.below(20'000)), "reserve");
      else require_ok(pool_->pool().compact(), "compact");
      pause_up_to(random, 5000);
    });
    add(checker, [this](random_stream& random) {
      check_report report = pool_->pool().check();
      require(report.ok, "check beside everything finds nothing: " +
                             (report.violations.empty() ? "" : report.violations.front()));
      require(pool_->pool().size() <= all_keys && pool_->pool().info().records <= all_keys,
              "size and info count at most all keys");
      (void)pool_->pool().stats();
      pause_up_to(random, 5000);
    });
    add(visitor, [this](random_stream& random) { visit(random); });
    add(forker, [this](random_stream& random) {
      if (forks_) fork_one(random.below(4));
      pause_up_to(random, 20'000);
    });
    for (std::thread& thread : threads) thread.join();
    std::_Exit(failed);
  }

 private:
  static void pause_up_to(random_stream& random, std::uint64_t microseconds) {
    std::this_thread::sleep_for(std::chrono::microseconds(random.below(microseconds)));
  }

  void write(std::uint64_t which, random_stream& random) {
    std::uint64_t key = random.below(keys_of_each) * writers + which, version = told_.done(key) + 1;
    told_.begun(key) = version;
    auto before = version_of(with_, key, version - 1), now = version_of(with_, key, version);
    status answer = now ? pool_->put(nth_key(with_, key), *now) : pool_->erase(nth_key(with_, key));
    require(answer == status::ok || (!now && !before && answer == status::not_found),
            "a write beside everything is done: " + std::string(message(answer)));
    told_.done(key) = version;
  }

  /// A value is whole, its key's, and not older than what was told before it was read.
  void read(random_stream& random) {
    std::uint64_t key = random.below(all_keys), before = told_.done(key);
    std::string value;
    status answer = pool_->get(nth_key(with_, key), value);
    std::uint64_t after = told_.begun(key);
    if (answer == status::ok) {
      auto version = version_in(with_, key, value);
      require(version.has_value(), "a value is whole, and its key's");
      require(*version >= before && *version <= after,
              "a value is one of those that the key had meanwhile");
    } else {
      require(answer == status::not_found, "get answers: " + std::string(message(answer)));
      bool was_absent = false;
      for (std::uint64_t version = before; version <= after && !was_absent; ++version)
        was_absent = !version_of(with_, key, version);
      require(was_absent, "a key that was there all the time is found");
    }
  }

  /// Scans the table, and writes what it finds into the other one, which nobody else writes.
  void visit(random_stream& random) {
    for (cursor at; !at.done;)
      require_ok(pool_->scan(at, 50 + random.below(200),
                             [&](std::string_view key_bytes, std::string_view value) {
                               require(describes_itself(with_, key_bytes, value),
                                       "a scan gives whole values");
                               auto key = random.below(all_keys),
                                    version = told_.other_done(key) + 1;
                               told_.other_begun(key) = version;
                               auto now = version_of(with_, key, version);
                               status answer = now ? other_->put(nth_key(with_, key), *now)
                                                   : other_->erase(nth_key(with_, key));
                               require(answer == status::ok || answer == status::not_found,
                                       "a visitor's write into the other table is done: " +
                                           std::string(message(answer)));
                               told_.other_done(key) = version;
                             }),
                 "scan");
  }

  void fork_one(std::uint64_t how) {
    in_forked_child("a child forked beside everything", [&] {
      std::string key = nth_key(with_, 1), value;
      if (how == 0) ::_exit(passed);
      require(pool_->put(key, nth_value(with_, 1)) == status::forked,
              "in a child put answers forked");
      require(pool_->get(key, value) == status::forked, "in a child get answers forked");
      if (how == 1) return;
      require(pool_->pool().sync() == status::forked && pool_->pool().compact() == status::forked,
              "in a child sync and compact answer forked");
      pool_.reset();
      other_.reset();
    });
  }

  setup with_;
  told_words told_;
  std::unique_ptr<subject> pool_, other_;
  std::uint64_t seed_;
  bool forks_;
};

/// setup, folder, seed, "forks" or not
int work_beside_everything(const child_arguments& arguments) {
  busy_process(place(arguments), std::stoull(arguments.at(2)), arguments.at(3) == "forks")
      .work_until_killed();
}
const child_role role("work_beside_everything", work_beside_everything);

std::uint64_t kills_wanted() {
  const char* text = std::getenv("DURAHASH_KILLS");
  return text && *text ? std::strtoull(text, nullptr, 10) : 3;
}

class UntidyStress : public testing::TestWithParam<setup> {
 protected:
  void survives(const std::string& forks) {
    ASSERT_NO_FATAL_FAILURE(make_pools());
    std::uint64_t round = 0;
    for (; round < kills_wanted() && !HasFailure(); ++round) {
      SCOPED_TRACE("round " + std::to_string(round) + ", again with --seed " +
                   std::to_string(run_seed()));
      ASSERT_NO_FATAL_FAILURE(run_and_kill(round, forks));
      verify();
    }
    tell(round, forks == "forks");
  }

 private:
  void tell(std::uint64_t kills, bool forks) {
    auto done = [&](std::initializer_list<helper> who) {
      std::uint64_t sum = 0;
      for (helper each : who) sum += told_.steps(each);
      return static_cast<unsigned long long>(sum);
    };
    std::printf(
        "%s: %llu kills, seed %llu; beside them %llu writes, %llu syncs, %llu reserves and "
        "compactions, %llu scans, %llu forks\n",
        GetParam().name().c_str(), static_cast<unsigned long long>(kills),
        static_cast<unsigned long long>(run_seed()), done({writer_one, writer_two}), done({syncer}),
        done({shaper}), done({visitor}), forks ? done({forker}) : 0);
  }

  void make_pools() {
    for (const char* name : {"pool", "other"})
      ASSERT_TRUE(open_subject(GetParam(), folder_.file(name), GetParam().create_options()));
  }

  void run_and_kill(std::uint64_t round, const std::string& forks) {
    random_stream random(stream_seed(GetParam().name() + "/untidy/" + std::to_string(round)));
    told_.open() = 0;
    child_process child("work_beside_everything", {GetParam().name(), folder_.path().string(),
                                                   std::to_string(random.next()), forks});
    ASSERT_TRUE(wait_until([&] { return told_.open() == 1 || !child.running(); }));
    double seconds =
        stress_seconds() * (0.5 + 0.5 * static_cast<double>(random.below(1000)) / 1000);
    auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    wait_until([&] { return std::chrono::steady_clock::now() > until || !child.running(); },
               seconds + 1);
    expect_all_go_on(child);
    bool working = child.running();
    child_end end = child.kill();
    ASSERT_TRUE(working && end.signal == SIGKILL) << "it ended by itself: its stderr says why";
  }
  /// Each thread gets on from here, or it hangs.
  void expect_all_go_on(child_process& child) {
    std::uint64_t before[helpers];
    for (std::uint64_t n = 0; n < helpers; ++n) before[n] = told_.steps(n);
    for (std::uint64_t n = 0; n < helpers && child.running(); ++n)
      EXPECT_TRUE(wait_until([&] { return told_.steps(n) != before[n] || !child.running(); },
                             patience_seconds))
          << names[n] << " hangs";
  }

  void verify() {
    auto pool = opened("pool"), other = opened("other");
    if (!pool || !other) return;
    verify(*pool,
           [&](std::uint64_t key) { return std::pair(&told_.begun(key), &told_.done(key)); });
    verify(*other, [&](std::uint64_t key) {
      return std::pair(&told_.other_begun(key), &told_.other_done(key));
    });
  }
  std::unique_ptr<subject> opened(const std::string& name) {
    auto found = open_subject(GetParam(), folder_.file(name), plain_options(GetParam()));
    if (!found) ADD_FAILURE() << found.failure().message;
    return found ? std::move(*found) : nullptr;
  }
  template <class Told>
  void verify(subject& pool, Told told) {
    std::uint64_t lost = 0, wrong = 0, undead = 0, records = 0;
    for (std::uint64_t key = 0; key < all_keys; ++key) {
      auto [begun, done] = told(key);
      auto found = pool.get(nth_key(GetParam(), key)), wanted = version_of(GetParam(), key, *done);
      records += found.has_value();
      if (found != wanted && *begun > *done && found == version_of(GetParam(), key, *begun))
        *done = begun->load();  // in flight, and done
      else if (found != wanted && !found) ++lost;
      else if (found != wanted && !wanted) ++undead;
      else wrong += found != wanted;
      *begun = done->load();
    }
    EXPECT_EQ(lost, 0u) << "acknowledged records are gone";
    EXPECT_EQ(wrong, 0u) << "records hold another value than the acknowledged one";
    EXPECT_EQ(undead, 0u) << "erased records are back";
    EXPECT_EQ(pool.pool().size(), records);
    expect_sound(pool);
    EXPECT_EQ(pool.pool().close(), status::ok);
  }

  scratch_folder folder_{GetParam().folder()};
  told_words told_{folder_.file("told")};
};
INSTANTIATE_TEST_SUITE_P(Every, UntidyStress, testing::ValuesIn(world_and_logged_setups()),
                         setup_name());

TEST_P(UntidyStress, OfOperationsBesideOperationsLosesNothingThatWasAcknowledged) {
  survives("none");
}
TEST_P(UntidyStress, OfOperationsAndForksBesideOperationsLosesNothingThatWasAcknowledged) {
#ifdef DURAHASH_SANITIZED
  GTEST_SKIP() << "a child that is made beside threads that allocate hangs in the sanitizer";
#else
  survives("forks");
#endif
}

}  // namespace
}  // namespace durahash::test
