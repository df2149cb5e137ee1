#include <fmt/format.h>

#include <algorithm>

#include "bench/reproduce/laboratory.hpp"
#include "bench/scratch_pool.hpp"

namespace durahash::reproduce {
namespace {

media_counts difference(const media_counts& from, const media_counts& to) {
  return {to.flushes - from.flushes, to.fences - from.fences,
          to.media_read_blocks - from.media_read_blocks,
          to.media_write_blocks - from.media_write_blocks};
}

double load_factor_of(std::uint64_t records, std::uint64_t slots) {
  return static_cast<double>(records) / static_cast<double>(slots);
}

}  // namespace

void expect_right(bool right, const char* operation) {
  if (!right)
    throw bench::failure(status::damaged, fmt::format("the answer to {} was wrong", operation));
}

cost laboratory::cost_of(subject& table, std::uint64_t operations,
                         const std::function<void()>& work) {
  // To look at the counts reads the table, and that is counted, too.
  const media_counts first = table.counts(), before = table.counts();
  work();
  const media_counts all =
      difference(difference(first, before), difference(before, table.counts()));
  auto each = [&](std::uint64_t n) {
    return static_cast<double>(n) / static_cast<double>(operations);
  };
  return {each(all.flushes), each(all.fences), each(all.media_read_blocks),
          each(all.media_write_blocks)};
}

const operation_costs& laboratory::costs_of(const setup& asked) {
  setup made = asked.on(medium_kind::emulated);
  return kept(costs_, made.text(), [&] {
    const std::uint64_t n = keys_, some = std::max<std::uint64_t>(n / 4, 1);
    operation_costs c;
    auto table = make(made, seed_);
    auto each = [&](std::uint64_t count, const char* name, auto&& one) {
      return cost_of(*table, count, [&] {
        for (std::uint64_t i = 0; i < count; ++i) expect_right(one(i), name);
      });
    };
    c.growing = each(n, "insert", [&](std::uint64_t i) { return table->insert(key(i)); });
    const pool_info facts = table->info();
    c.load_factor = facts.load_factor;
    c.bytes_per_key = static_cast<double>(facts.live_bytes) / static_cast<double>(n);
    // Far apart, so that no two lie in one block by the order in which they were inserted.
    auto present = [&](std::uint64_t i) { return key(bench::mix(i) % n); };
    c.hit = each(some, "get", [&](std::uint64_t i) { return table->get(present(i)); });
    c.miss = each(some, "get of an absent key",
                  [&](std::uint64_t i) { return table->get_absent(absent(i)); });
    c.update = each(some, "update", [&](std::uint64_t i) { return table->update(present(i), 1); });
    c.erase =
        each(some, "erase", [&](std::uint64_t i) { return table->erase(key(i * (n / some))); });

    table = make(made, seed_);
    table->reserve(n + some);
    for (std::uint64_t i = 0; i < n; ++i) expect_right(table->insert(key(i)), "insert");
    c.steady = each(some, "insert", [&](std::uint64_t i) { return table->insert(key(n + i)); });
    return c;
  });
}

const load_curve& laboratory::curve_of(const setup& made) {
  return kept(curves_, made.text(), [&] {
    load_curve seen;
    auto table = make(made, seed_);
    const std::uint64_t step = std::max<std::uint64_t>(keys_ / 256, 1);
    seen.least = 1;
    unsigned counted = 0;
    for (std::uint64_t done = 0; done < keys_;) {
      for (const std::uint64_t end = std::min(done + step, keys_); done < end; ++done)
        expect_right(table->insert(key(done)), "insert");
      const double now = table->info().load_factor;
      seen.looks.push_back({done, now});
      if (done < keys_ / 8) continue;
      seen.least = std::min(seen.least, now);
      seen.most = std::max(seen.most, now);
      seen.mean += now;
      ++counted;
    }
    seen.mean /= counted;
    return seen;
  });
}

const std::vector<growth_step>& laboratory::growths_of(const setup& made, std::size_t count,
                                                       unsigned run) {
  return kept(growths_, fmt::format("{} {} {}", made.text(), count, run), [&] {
    std::vector<growth_step> seen;
    auto table = make(made, seed_ + run);
    const std::uint64_t first_key = std::uint64_t{run} << 40;
    std::uint64_t records = 0;
    double rehashed = 0, probes = 0;
    const bool probing = made.engine == engine_kind::turbo,
               tells = !probing && made.engine != engine_kind::cceh;
    auto put_some = [&](std::uint64_t some) {
      for (; some > 0; --some) expect_right(table->insert(key(first_key + records++)), "insert");
    };
    while (seen.size() < count) {
      const std::uint64_t slots = table->info().slots;
      // One by one only where a growth is near: a look costs more than an insertion.
      std::uint64_t looked = 0;
      while (table->info().slots == slots) {
        const bool near = load_factor_of(records, slots) > 0.4;
        if (probing && records >= looked + slots / 32) {
          probes = table->figure("negative_probe_mean");
          looked = records;
        }
        put_some(near ? std::max<std::uint64_t>(slots / 4096, 1)
                      : std::max<std::uint64_t>(slots / 64, 1));
      }
      growth_step step{slots, load_factor_of(records - 1, slots), probes, 0};
      const auto at_growth = static_cast<double>(records);
      // A growth that goes on beside writes has ended when the slots are twice as many.
      if (tells)
        while (table->info().slots != 2 * slots) put_some(std::max<std::uint64_t>(slots / 256, 1));
      if (tells) {
        const double all = table->figure("rehashed");
        step.rehashed = (all - rehashed) / at_growth;
        rehashed = all;
      }
      seen.push_back(step);
    }
    return seen;
  });
}

double laboratory::first_growth_of(const setup& made, unsigned tables) {
  return kept(firsts_, fmt::format("{} {}", made.text(), tables), [&] {
    double sum = 0;
    for (unsigned run = 0; run < tables; ++run) {
      auto table = make(made, seed_ + run);
      const std::uint64_t slots = table->info().slots, first_key = std::uint64_t{run} << 40;
      const std::uint64_t step = std::max<std::uint64_t>(slots / 4096, 1);
      std::uint64_t records = 0;
      while (table->info().slots == slots)
        for (std::uint64_t i = 0; i < step; ++i)
          expect_right(table->insert(key(first_key + records++)), "insert");
      sum += load_factor_of(records - 1, slots);
    }
    return sum / tables;
  });
}

std::unique_ptr<subject> laboratory::filled(const setup& made, double load_factor, unsigned run) {
  // A table that grows on the way is given up, and another one tried: small ones do now and then.
  for (unsigned attempt = 0; attempt < 64; ++attempt) {
    auto table = make(made, seed_ + run);
    const std::uint64_t first_key = std::uint64_t{run} << 40 | std::uint64_t{attempt} << 34;
    std::uint64_t i = 0;
    if (made.engine == engine_kind::turbo)
      for (; i < 64; ++i) expect_right(table->insert(key(first_key + i)), "insert");
    const std::uint64_t slots = table->info().slots;
    const auto wanted = static_cast<std::uint64_t>(load_factor * static_cast<double>(slots));
    for (; i < wanted; ++i) expect_right(table->insert(key(first_key + i)), "insert");
    if (table->info().slots == slots) return table;
  }
  throw bench::failure(status::no_space,
                       fmt::format("{} grows before load factor {}", made.text(), load_factor));
}

double laboratory::figure_at(const setup& made, double load_factor, const std::string& name,
                             unsigned tables) {
  return kept(figures_, fmt::format("{} {} {} {}", made.text(), load_factor, name, tables), [&] {
    double sum = 0;
    for (unsigned run = 0; run < tables; ++run) sum += filled(made, load_factor, run)->figure(name);
    return sum / tables;
  });
}

double laboratory::seconds_to_reopen(const setup& made, std::uint64_t records) {
  return kept(reopenings_, fmt::format("{} {}", made.text(), records),
              [&] { return reproduce::seconds_to_reopen(made, seed_, records); });
}

picture& laboratory::draw(picture as) {
  for (picture& one : pictures_)
    if (one.id == as.id) return one;
  return pictures_.emplace_back(std::move(as));
}

}  // namespace durahash::reproduce
