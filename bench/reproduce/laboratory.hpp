// What the claims share: tables are filled and measured once, and kept by how they were made.
#pragma once

#include <algorithm>
#include <any>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench/device.hpp"
#include "bench/histogram.hpp"
#include "bench/reproduce/claim.hpp"
#include "bench/reproduce/subject.hpp"

namespace durahash::reproduce {

/// Of one operation, the mean.
struct cost {
  double flushes = 0, fences = 0, blocks_read = 0, blocks_written = 0;
};

/// Costs on the medium emulated, without latencies.
struct operation_costs {
  cost growing;  ///< insert while the table grows
  cost steady;   ///< insert into a table with room reserved
  cost hit, miss, update, erase;
  double load_factor = 0, bytes_per_key = 0;
};

/// A load, seen at equal distances.
struct load_curve {
  struct look {
    std::uint64_t records = 0;
    double load_factor = 0;
  };
  std::vector<look> looks;
  double least = 0, most = 0, mean = 0;  ///< over the last three doublings of the records
};

/// The moment before a table gets more slots.
struct growth_step {
  std::uint64_t slots = 0;
  double load_factor = 0;
  double probe_mean = 0;  ///< `negative_probe_mean` a little before
  double rehashed = 0;    ///< records that this growth moved, per record; where the engine tells
};

enum class operation : std::uint8_t { insert, hit, miss, update, erase };

/// Tables that take turns, so that what disturbs one disturbs the others. ns per operation.
struct contest {
  std::vector<std::string> names;
  std::vector<double> ns;  ///< medians of the turns
  double ratio(std::size_t of, std::size_t to) const { return ns[of] / ns[to]; }
};

/// Operations that arrive when they arrive, whether or not those before have ended.
struct arrivals {
  double per_second = 0;
  bench::histogram ns;  ///< from its arrival to its end
  double at(double share) const { return static_cast<double>(ns.quantile(share)); }
};

class laboratory {
 public:
  laboratory(std::uint64_t keys, std::uint64_t seed, bool quick,
             result<std::shared_ptr<bench::device>> on = bench::no_device_wanted())
      : keys_(keys), seed_(seed), quick_(quick), on_(std::move(on)) {}

  std::uint64_t keys() const noexcept { return keys_; }
  std::uint64_t seed() const noexcept { return seed_; }
  /// A size that the papers fix: as it is, and much less in a quick run.
  std::uint64_t size(std::uint64_t full, std::uint64_t quick) const noexcept {
    return quick_ ? quick : full;
  }
  unsigned runs(unsigned full) const noexcept { return quick_ ? 1 : full; }
  /// Another one, of at most so many records: for what takes long, and tells ratios.
  laboratory of_at_most(std::uint64_t keys) const {
    return {std::min(keys_, keys), seed_, quick_, on_};
  }
  /// Null: there is none, or none is wanted; then a sentence says so.
  std::shared_ptr<bench::device> device() const { return on_ ? *on_ : nullptr; }
  std::string why_no_device() const { return on_ ? std::string() : on_.failure().message; }

  // ---- Counts

  const operation_costs& costs_of(const setup&);
  const load_curve& curve_of(const setup&);
  /// Up to `count` growths.
  const std::vector<growth_step>& growths_of(const setup&, std::size_t count, unsigned run = 0);
  /// Load factor at the first growth, the mean of some tables with different keys.
  double first_growth_of(const setup&, unsigned tables);
  /// A new table with so many of its first slots filled. It must not grow on the way. The slots of
  /// turbo are those that its shards get with the first records.
  std::unique_ptr<subject> filled(const setup&, double load_factor, unsigned run = 0);
  /// The mean over some tables filled so; those that grow on the way are made again.
  double figure_at(const setup&, double load_factor, const std::string& name, unsigned tables);
  /// Of any work on the medium emulated.
  cost cost_of(subject&, std::uint64_t operations, const std::function<void()>& work);

  /// What a paper's own measuring function found, kept by a name of its own.
  template <class Make>
  const auto& once(const std::string& name, Make&& make) {
    using result = decltype(make());
    std::any& kept = once_[name];
    if (!kept.has_value()) kept = make();
    return *std::any_cast<result>(&kept);
  }

  // ---- Times

  /// All are loaded with keys() records first, but for insert, which loads them.
  contest compare(const std::vector<setup>&, operation);
  /// The same in `threads` threads.
  contest compare_with_threads(const std::vector<setup>&, operation, unsigned threads);
  /// A mix: so many of a hundred are writes. Writes update, or insert.
  contest compare_mixes(const std::vector<setup>&, unsigned percent_writes, operation write,
                        double theta);
  /// The longest of the insertions that load so many records. ns
  double longest_insertion(const setup&, std::uint64_t records);
  arrivals load_with_arrivals(const setup&, double per_second);
  double seconds_to_reopen(const setup&, std::uint64_t records);

  // ---- Keys

  std::uint64_t key(std::uint64_t index) const noexcept { return space_.key(index); }
  std::uint64_t absent(std::uint64_t index) const noexcept {
    return space_.key(bench::key_space::absent + index);
  }

  // ---- Pictures

  /// The picture of that id, made with the first call.
  picture& draw(picture as);
  const std::vector<picture>& pictures() const noexcept { return pictures_; }

 private:
  template <class Result, class Make>
  const Result& kept(std::map<std::string, Result>& all, const std::string& by, Make&& make) {
    auto found = all.find(by);
    if (found == all.end()) found = all.emplace(by, make()).first;
    return found->second;
  }

  std::uint64_t keys_, seed_;
  bool quick_;
  result<std::shared_ptr<bench::device>> on_;
  bench::key_space space_{seed_};
  std::map<std::string, operation_costs> costs_;
  std::map<std::string, load_curve> curves_;
  std::map<std::string, std::vector<growth_step>> growths_;
  std::map<std::string, double> firsts_, figures_, reopenings_;
  std::map<std::string, contest> contests_;
  std::map<std::string, arrivals> arrivals_;
  std::map<std::string, std::any> once_;
  std::vector<picture> pictures_;
};

/// Ends the run with a sentence: an answer was wrong.
void expect_right(bool right, const char* operation);

}  // namespace durahash::reproduce
