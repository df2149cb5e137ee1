// Random numbers whose every run can be repeated: one seed per process, printed, and one stream per
// test drawn from it.
#pragma once

#include <cstdint>
#include <string_view>

namespace durahash::test {

/// The seed of this run: `--seed N`, else the environment's DURAHASH_SEED, else a fresh one. main()
/// prints it.
std::uint64_t run_seed();
void set_run_seed(std::uint64_t seed);

/// Whether the environment asks for everything (DURAHASH_LONG=1) where a run otherwise takes a
/// sample.
bool long_run();

/// A seed of its own for every stream: the same run seed and name give the same stream.
std::uint64_t stream_seed(std::string_view name);

/// splitmix64: small, fast, and the same on every machine, which std::uniform_int_distribution is
/// not.
class random_stream {
 public:
  explicit random_stream(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  /// Uniform in [0, bound); 0 for bound 0.
  std::uint64_t below(std::uint64_t bound) { return bound == 0 ? 0 : next() % bound; }
  bool one_in(std::uint64_t n) { return below(n) == 0; }

 private:
  std::uint64_t state_;
};

/// One value of a stream, without the stream: a hash of `n`.
inline std::uint64_t mixed(std::uint64_t n) { return random_stream(n).next(); }

}  // namespace durahash::test
