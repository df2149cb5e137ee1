// A GPU's warp on the host, for code that is written once for both: its lanes run one after the
// other, step by step.
#pragma once

#include <array>
#include <cstdint>

namespace durahash {

/// What a warp is: control flow is the same in all lanes, and what differs from lane to lane is
/// `varying`, which converts to nothing.
///
///   each(f)       f(lane) in every lane
///   of(v, lane)   what is this lane's, within `each`
///   from(v, lane) what is that lane's
///   ballot(v)     bit `lane` says whether the lane's is true
///   one(f)        f() in one lane; all get what it returns
class lockstep_warp {
 public:
  static constexpr unsigned lanes = 32;
  template <class T>
  using varying = std::array<T, lanes>;

  template <class F>
  auto each(F&& f) const {
    varying<decltype(f(0u))> made{};
    for (unsigned lane = 0; lane < lanes; ++lane) made[lane] = f(lane);
    return made;
  }
  template <class T>
  T of(const varying<T>& v, unsigned lane) const noexcept {
    return v[lane];
  }
  template <class T>
  T from(const varying<T>& v, unsigned lane) const noexcept {
    return v[lane];
  }
  std::uint32_t ballot(const varying<bool>& v) const noexcept {
    std::uint32_t made = 0;
    for (unsigned lane = 0; lane < lanes; ++lane) made |= std::uint32_t{v[lane]} << lane;
    return made;
  }
  template <class F>
  auto one(F&& f) const {
    return f();
  }
};

}  // namespace durahash
