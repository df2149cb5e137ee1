// Visitors that write, and readers that stay: nothing of one table waits for another, and what a
// reader holds back is told.
#include <atomic>
#include <thread>

#include "durahash/table.hpp"
#include "world.hpp"

namespace durahash::test {
namespace {

constexpr std::uint64_t records = 2000;

/// Puts keys [first, last) of a table again and again; tells how often.
class rewriter {
 public:
  rewriter(subject& pool, const setup& with, std::uint64_t first, std::uint64_t last)
      : thread_([&pool, with, first, last, this] {
          for (std::uint64_t round = 0; !over_; ++round)
            for (std::uint64_t n = first; n < last && !over_; ++n) {
              require_ok(pool.put(nth_key(with, n), nth_value(with, n)), "put of another writer");
              ++writes_;
            }
        }) {}
  ~rewriter() { finish(); }
  void finish() {
    over_ = true;
    if (thread_.joinable()) thread_.join();
  }
  std::uint64_t writes() const { return writes_; }

 private:
  std::atomic<bool> over_{false};
  std::atomic<std::uint64_t> writes_{0};
  std::thread thread_;
};

/// A thread that got a record from a scan, and stays there.
class parked_reader {
 public:
  explicit parked_reader(subject& pool)
      : thread_([&pool, this] {
          cursor at;
          (void)pool.scan(at, 1, [&](std::string_view, std::string_view) {
            parked_ = true;
            while (!leave_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
            parked_ = false;
          });
        }) {
    require(wait_until([&] { return parked_.load(); }), "the reader gets a record");
  }
  ~parked_reader() { leave(); }
  void leave() {
    leave_ = true;
    if (thread_.joinable()) thread_.join();
  }
  bool parked() const { return parked_; }

 private:
  std::atomic<bool> parked_{false}, leave_{false};
  std::thread thread_;
};

void scan_all(subject& pool, const record_visitor& visit) {
  for (cursor at; !at.done;) require_ok(pool.scan(at, 200, visit), "scan");
}

// -------------------------------------------------------------------------------------------------
// visitors that write

int visitor_writes_another_table(const child_arguments& arguments) {
  place at(arguments);
  auto a = make_or_end(at.with, at.file("a")), b = make_or_end(at.with, at.file("b"));
  put_records(*a, at.with, 0, records);
  put_records(*b, at.with, 0, records);
  {
    rewriter beside(*b, at.with, 0, records), beside_too(*b, at.with, 0, records);
    for (int pass = 0; pass < 4; ++pass)
      scan_all(*a, [&](std::string_view key, std::string_view value) {
        require_ok(b->put(key, value), "put of a visitor into another table");
      });
    require(wait_until([&] { return beside.writes() > 1000; }), "the other writer goes on");
  }
  require_records(*a, at.with, 0, records, "in the table that was visited");
  require_records(*b, at.with, 0, records, "in the table that was written");
  require_sound(*b, "in the table that was written");
  return passed;
}

/// Two tables, each visited by a thread that writes into the other one.
int visitors_write_each_others_tables(const child_arguments& arguments) {
  place at(arguments);
  auto a = make_or_end(at.with, at.file("a")), b = make_or_end(at.with, at.file("b"));
  put_records(*a, at.with, 0, records);
  put_records(*b, at.with, 0, records);
  auto visit = [&](subject& from, subject& to) {
    for (int pass = 0; pass < 3; ++pass)
      scan_all(from, [&](std::string_view key, std::string_view value) {
        require_ok(to.put(key, value), "put of a visitor into the other table");
      });
  };
  std::thread one(visit, std::ref(*a), std::ref(*b)), other(visit, std::ref(*b), std::ref(*a));
  one.join();
  other.join();
  for (subject* each : {a.get(), b.get()}) {
    require_records(*each, at.with, 0, records, "behind visitors of both");
    require_sound(*each, "behind visitors of both");
  }
  return passed;
}

int visitor_writes_its_own_table(const child_arguments& arguments) {
  place at(arguments);
  auto pool = make_or_end(at.with, at.file("pool"));
  put_records(*pool, at.with, 0, records);
  {
    rewriter beside(*pool, at.with, 0, records);
    std::uint64_t added = 0, visits = 0;
    for (int pass = 0; pass < 3; ++pass)
      scan_all(*pool, [&](std::string_view key, std::string_view value) {
        std::string same(key), as_before(value);  // what it was given ends with the record
        require_ok(pool->put(same, as_before), "put of a visitor into its own table");
        if (added < 3 * records) {
          require_ok(
              pool->put(nth_key(at.with, records + added), nth_value(at.with, records + added)),
              "a new record of a visitor");
          ++added;
        }
        if (++visits % 7 == 0 && added > 0)
          require_ok(pool->erase(nth_key(at.with, records + --added)), "erase of a visitor");
      });
    put_records(*pool, at.with, records + added, 4 * records);
  }
  require_records(*pool, at.with, 0, 4 * records, "behind a visitor that writes");
  require_sound(*pool, "behind a visitor that writes");
  return passed;
}

// -------------------------------------------------------------------------------------------------
// readers that stay

void update_often(subject& pool, const setup& with, std::uint64_t updates) {
  for (std::uint64_t i = 0; i < updates; ++i)
    require_ok(pool.put(nth_key(with, i % records), nth_value(with, i % records)),
               "update beside a parked reader");
}

double held_by_readers(subject& pool) {
  auto held = figure_of(pool.pool(), "bytes_held_by_readers");
  require(held.has_value(), "stats tell bytes_held_by_readers");
  return *held;
}

int reader_parks_in_another_pool(const child_arguments& arguments) {
  place at(arguments);
  auto a = make_or_end(at.with, at.file("a")), b = make_or_end(at.with, at.file("b"));
  put_records(*a, at.with, 0, records);
  put_records(*b, at.with, 0, records);
  parked_reader reader(*a);
  update_often(*b, at.with, 30'000);
  require_ok(b->pool().sync(), "sync beside a parked reader");
  require_sound(*b, "beside a parked reader");
  require_ok(b->pool().reserve(20'000), "reserve beside a parked reader");
  require_ok(b->pool().compact(), "compact beside a parked reader");
  update_often(*b, at.with, 10'000);
  require_records(*b, at.with, 0, records, "beside a parked reader");
  require_ok(b->pool().close(), "close beside a parked reader");
  auto again = open_or_end(at.with, at.file("b"));
  require(again->pool().info().clean, "the pool was closed cleanly beside a parked reader");
  require_records(*again, at.with, 0, records, "after reopen");
  require(reader.parked(), "the reader stayed all the time");
  return passed;
}

int figures_of_a_parked_reader(const child_arguments& arguments) {
  place at(arguments);
  bool holds = at.with.value() == data_kind::bytes;  // of words a reader holds nothing
  auto a = make_or_end(at.with, at.file("a")), b = make_or_end(at.with, at.file("b"));
  put_records(*a, at.with, 0, records);
  put_records(*b, at.with, 0, records);
  require(held_by_readers(*a) == 0, "nothing is held before a reader came");
  {
    parked_reader reader(*a);
    update_often(*a, at.with, 5'000);
    update_often(*b, at.with, 5'000);
    require(!holds || held_by_readers(*a) > 0, "what a parked reader holds back is told");
    require(wait_until([&] { return held_by_readers(*b) == 0; }, 5),
            "of another pool nothing is held");
    require(reader.parked(), "the reader stayed all the time");
  }
  require(wait_until([&] { return held_by_readers(*a) == 0; }, 5),
          "soon after the reader left nothing is held");
  return passed;
}

int reader_parks_in_the_pool(const child_arguments& arguments) {
  place at(arguments);
  auto pool = make_or_end(at.with, at.file("pool"));
  put_records(*pool, at.with, 0, records);
  {
    parked_reader reader(*pool);
    update_often(*pool, at.with, 20'000);
    put_records(*pool, at.with, records, 4 * records);  // the table grows, too
    for (std::uint64_t n = records; n < 4 * records; ++n)
      require_ok(pool->erase(nth_key(at.with, n)), "erase beside a parked reader");
    require_records(*pool, at.with, 0, records, "beside a parked reader");
    require(reader.parked(), "the reader stayed all the time");
  }
  require_sound(*pool, "after the reader left");
  require_ok(pool->pool().close(), "close after the reader left");
  return passed;
}

/// A full pool whose free space a reader keeps back: a batch waits for it once, not for each write.
int batches_beside_a_reader_in_a_full_pool(const child_arguments& arguments) {
  place at(arguments);
  options how = at.with.create_options();
  how.max_bytes = 4 << 20;
  auto pool = open_or_end(at.with, at.file("pool"), how);
  auto large = [&](std::uint64_t n) { return long_value(at.with, n, 3000); };
  std::uint64_t there = 0;
  while (pool->put(nth_key(at.with, there), large(there)) == status::ok) ++there;
  strings keys, values;
  for (std::uint64_t n = there; n < there + 600; ++n) {
    keys.push_back(nth_key(at.with, n));
    values.push_back(large(n));
  }
  {
    parked_reader reader(*pool);
    for (std::uint64_t n = 0; n < there; n += 2)
      require_ok(pool->erase(nth_key(at.with, n)), "erase in a full pool");
    require(held_by_readers(*pool) > 0, "the reader keeps back what was erased");
    std::uint64_t refused = 0;  // some find what was free before the reader came
    for (status answer : pool->put_many(keys, values)) refused += answer == status::no_space;
    require(refused > keys.size() / 2, "what a reader keeps back is not handed out");
    require(pool->put(nth_key(at.with, there + 5000), values[0]) == status::no_space,
            "nor by a single write");
    require(pool->pool().compact() != status::forked, "compact comes back, too");
    std::string value;
    require_ok(pool->get(nth_key(at.with, 1), value), "nothing stays locked: get");
    require_ok(pool->erase(nth_key(at.with, 1)), "nothing stays locked: erase");
    require(reader.parked(), "the reader stayed all the time");
  }
  std::uint64_t taken = 0;
  for (status answer : pool->put_many(keys, values)) taken += answer == status::ok;
  require(taken > 0, "when the reader has left there is room");
  require_sound(*pool, "behind a full pool");
  return passed;
}

// -------------------------------------------------------------------------------------------------
// visitors that throw

struct thrown {};

/// Nothing stays locked and nothing is kept back when an exception of the caller's passes through.
int visitors_throw(const child_arguments& arguments) {
  place at(arguments);
  auto pool = make_or_end(at.with, at.file("pool"));
  put_records(*pool, at.with, 0, records);
  for (std::uint64_t round = 0; round < 50; ++round) {
    bool passed_through = false;
    std::uint64_t visits = 0;
    try {
      scan_all(*pool, [&](std::string_view, std::string_view) {
        if (visits++ == round * 30) throw thrown();
      });
    } catch (const thrown&) {
      passed_through = true;
    }
    require(passed_through, "what a visitor throws comes to the caller");
    update_often(*pool, at.with, 200);
  }
  if (at.with.api == api_kind::bytes) {
    bool passed_through = false;
    try {
      (void)static_cast<table&>(pool->pool()).read(nth_key(at.with, 1), [](std::string_view) {
        throw thrown();
      });
    } catch (const thrown&) {
      passed_through = true;
    }
    require(passed_through, "what a reader throws comes to the caller");
  }
  update_often(*pool, at.with, 5000);
  require(wait_until([&] { return held_by_readers(*pool) == 0; }, 5), "nothing is kept back");
  require_ok(pool->pool().compact(), "compact behind visitors that threw");
  require_records(*pool, at.with, 0, records, "behind visitors that threw");
  require_sound(*pool, "behind visitors that threw");
  require_ok(pool->pool().close(), "close behind visitors that threw");
  return passed;
}

const child_role roles_of_visitor[] = {
    {"batches_beside_a_reader_in_a_full_pool", batches_beside_a_reader_in_a_full_pool},
    {"visitors_throw", visitors_throw},
    {"visitor_writes_another_table", visitor_writes_another_table},
    {"visitors_write_each_others_tables", visitors_write_each_others_tables},
    {"visitor_writes_its_own_table", visitor_writes_its_own_table},
    {"reader_parks_in_another_pool", reader_parks_in_another_pool},
    {"figures_of_a_parked_reader", figures_of_a_parked_reader},
    {"reader_parks_in_the_pool", reader_parks_in_the_pool}};

class Visitor : public testing::TestWithParam<setup> {
 protected:
  void plays(const std::string& role) {
    scratch_folder folder(GetParam().folder());
    play(role, {GetParam().name(), folder.path().string()});
  }
};
INSTANTIATE_TEST_SUITE_P(Every, Visitor, testing::ValuesIn(world_and_logged_setups()),
                         setup_name());

TEST_P(Visitor, WritesAnotherTableBesideOtherWritersOfIt) { plays("visitor_writes_another_table"); }
TEST_P(Visitor, OfEachOfTwoTablesWritesTheOther) { plays("visitors_write_each_others_tables"); }
TEST_P(Visitor, WritesItsOwnTableBesideAnotherWriter) { plays("visitor_writes_its_own_table"); }

TEST_P(Visitor, ThatThrowsLeavesNothingLockedAndNothingKeptBack) { plays("visitors_throw"); }

class ParkedReader : public Visitor {};
INSTANTIATE_TEST_SUITE_P(Every, ParkedReader, testing::ValuesIn(world_and_logged_setups()),
                         setup_name());

TEST_P(ParkedReader, OfOnePoolKeepsNothingOfAnotherWaiting) {
  plays("reader_parks_in_another_pool");
}
TEST_P(ParkedReader, KeepsNoUpdateOfItsOwnPoolWaiting) { plays("reader_parks_in_the_pool"); }
TEST_P(ParkedReader, OfAFullPoolIsWaitedForOnceByABatch) {
  if (GetParam().value() != data_kind::bytes) GTEST_SKIP() << "readers of words keep nothing back";
  plays("batches_beside_a_reader_in_a_full_pool");
}
TEST_P(ParkedReader, IsToldByWhatItHoldsBack) { plays("figures_of_a_parked_reader"); }

}  // namespace
}  // namespace durahash::test
