// What each baseline writes, and what is the same for all: the checks of an operation, growth until
// there is room, counting.
#pragma once

#include <array>
#include <random>

#include "base/hash.hpp"
#include "bench/baselines/registry.hpp"
#include "bench/baselines/space.hpp"
#include "media/emulated_medium.hpp"
#include "media/pmem_medium.hpp"
#include "media/process_medium.hpp"

namespace durahash::baselines {

/// What a design works with.
template <class M>
struct surroundings {
  space<M>& memory;
  std::array<hash_seeds, 2> seeds;  // of two hash functions, which do not spread
  std::uint32_t mended = 0;
  std::uint64_t grows = 0, records_moved = 0, displacements = 0;

  bool mends(unsigned hole) const { return (mended >> hole & 1) != 0; }
  std::uint64_t hash(std::uint64_t key, unsigned function = 0) const {
    return word_hash(key, seeds[function]);
  }
};

/// A table's layout and its steps. `add` is told only keys that are absent, and answers false where
/// it has no place; `grow` then makes one, and answers false where there is no memory.
template <class D>
concept design = requires(D& d, const D& c, std::uint64_t key, std::uint64_t value,
                          std::uint64_t& found, const table::visitor& visit, check_report& report) {
  { D::takes(key) } -> std::same_as<bool>;
  { d.create(key) } -> std::same_as<bool>;  // of so many slots, at least
  { d.recover() } -> std::same_as<error>;   // of code ok where the table can be used
  { d.find(key, found) } -> std::same_as<bool>;
  { d.add(key, value) } -> std::same_as<bool>;
  { d.change(key, value) } -> std::same_as<status>;  // ok, not_found, no_space: grow, and again
  { d.remove(key) } -> std::same_as<bool>;
  { d.grow(key) } -> std::same_as<bool>;
  d.scan(visit);
  { c.slots() } -> std::same_as<std::uint64_t>;
};

inline error recovered() { return {status::ok, {}}; }
inline error unrecoverable(const char* why) { return {status::damaged, why}; }

/// A design as a table: on memory and a medium that others own.
template <template <class> class D, medium M>
class hosted : public table {
 public:
  using table_design = D<M>;

  hosted(mapping& memory, M& m, std::uint64_t seed, std::uint32_t mended)
      : space_(memory, m), around_{space_, seeds_of(seed), mended}, design_(around_) {
    static_assert(design<table_design>);
  }

  /// A new table. Returns false where there is no room.
  bool create(std::uint64_t capacity) {
    return space_.create() == status::ok && design_.create(capacity);
  }

  bool takes(std::uint64_t key) const override { return table_design::takes(key); }

  status insert(std::uint64_t key, std::uint64_t value) override {
    if (!takes(key)) return status::invalid_argument;
    std::uint64_t found;
    if (design_.find(key, found)) return status::exists;
    return add(key, value);
  }
  status update(std::uint64_t key, std::uint64_t value) override {
    return takes(key) ? change(key, value) : status::not_found;
  }
  status put(std::uint64_t key, std::uint64_t value) override {
    if (!takes(key)) return status::invalid_argument;
    status s = change(key, value);
    return s == status::not_found ? add(key, value) : s;
  }
  status get(std::uint64_t key, std::uint64_t& value) override {
    return takes(key) && design_.find(key, value) ? status::ok : status::not_found;
  }
  status erase(std::uint64_t key) override {
    if (!takes(key) || !design_.remove(key)) return status::not_found;
    --size_;
    return status::ok;
  }

  void scan(const visitor& visit) override { design_.scan(visit); }
  std::uint64_t size() const override { return size_; }
  std::uint64_t slots() const override { return design_.slots(); }
  std::uint64_t bytes() const override { return space_.used_bytes(); }

  error recover() override {
    space_.forget();
    error answer = design_.recover();
    if (answer.code != status::ok) return answer;
    size_ = 0;
    design_.scan([this](std::uint64_t, std::uint64_t) { ++size_; });
    return answer;
  }

  check_report check() override {
    check_report report;
    std::uint64_t found;
    design_.scan([&](std::uint64_t key, std::uint64_t value) {
      ++report.records;
      if (design_.find(key, found) && found == value) return;
      report.ok = false;
      report.violations.push_back("the scan meets a record of key " + std::to_string(key) +
                                  " that a search does not find");
    });
    return report;
  }

  media_counts counts() const override { return space_.medium().counts(); }
  std::vector<std::pair<std::string, double>> figures() const override {
    std::vector<std::pair<std::string, double>> all{
        {"grows", static_cast<double>(around_.grows)},
        {"records_moved", static_cast<double>(around_.records_moved)},
        {"displacements", static_cast<double>(around_.displacements)}};
    if constexpr (requires { design_.add_figures(all); }) design_.add_figures(all);
    return all;
  }

 private:
  // Each growth doubles at least a part of the table; more of them than bits cannot help.
  static constexpr int max_grows = 64;

  static std::array<hash_seeds, 2> seeds_of(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::uint64_t first = random(), second = random();
    return {hash_seeds{random(), first | 1, 1}, hash_seeds{random(), second | 1, 1}};
  }

  status add(std::uint64_t key, std::uint64_t value) {
    for (int i = 0; i < max_grows; ++i) {
      if (design_.add(key, value)) return ++size_, status::ok;
      if (!grow(key)) return status::no_space;
    }
    return status::no_space;
  }
  status change(std::uint64_t key, std::uint64_t value) {
    for (int i = 0; i < max_grows; ++i) {
      status s = design_.change(key, value);
      if (s != status::no_space) return s;
      if (!grow(key)) return status::no_space;
    }
    return status::no_space;
  }
  bool grow(std::uint64_t key) {
    bool done = design_.grow(key);
    around_.grows += done;
    return done;
  }

  space<M> space_;
  surroundings<M> around_;
  table_design design_;
  std::uint64_t size_ = 0;
};

/// The same with memory and a medium of its own.
template <template <class> class D, medium M>
class housed final : public hosted<D, M> {
 public:
  template <class... Arguments>
  static result<std::unique_ptr<table>> make(const request& wanted, Arguments&&... of_medium) {
    mapping_request request;
    request.medium = medium_kind::memory;
    request.address_space_bytes = request.max_bytes = wanted.max_bytes;
    result<std::unique_ptr<mapping>> memory = mapping::open(request);
    if (!memory) return memory.failure();
    auto m = std::make_unique<M>(std::forward<Arguments>(of_medium)...);
    std::unique_ptr<housed> made(new housed(std::move(*memory), std::move(m), wanted));
    if (!made->create(wanted.capacity))
      return error{status::no_space, "no room for a table of that capacity"};
    return std::unique_ptr<table>(std::move(made));
  }

 private:
  housed(std::unique_ptr<mapping> memory, std::unique_ptr<M> m, const request& wanted)
      : hosted<D, M>(*memory, *m, wanted.seed, wanted.mended),
        memory_(std::move(memory)),
        medium_(std::move(m)) {}

  std::unique_ptr<mapping> memory_;
  std::unique_ptr<M> medium_;
};

template <template <class> class D>
result<std::unique_ptr<table>> make_baseline(const request& wanted) {
  if (wanted.capacity == 0) return error{status::invalid_argument, "a capacity of 0 slots"};
  switch (wanted.medium) {
    case medium_kind::memory: return housed<D, process_medium>::make(wanted);
    case medium_kind::pmem:
      return housed<D, pmem_medium>::make(wanted, persistence_domain::memory_bus);
    case medium_kind::emulated: {
      emulated_medium::latency added{wanted.added.flush_ns, wanted.added.block_ns,
                                     wanted.added.read_ns};
      return housed<D, emulated_medium>::make(wanted, added);
    }
    default:
      return error{status::invalid_argument,
                   "a baseline lies on the medium memory, pmem or emulated"};
  }
}

}  // namespace durahash::baselines
