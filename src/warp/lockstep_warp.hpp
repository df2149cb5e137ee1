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
///   some(first, end, f)  in these; the others' is not to be used
///   of(v, lane)   what is this lane's, within `each`
///   from(v, lane) what is that lane's
///   ballot(v)     bit `lane` says whether the lane's is true; of some lanes, with first and end
///   put(to, first, end, from)  what is of these lanes
///   one(f)        f() in one lane; all get what it returns. one(does, f): if `does`, else nothing
///   one_does(does, f)  likewise, and nobody gets anything
///
/// On a device a warp may be several tiles, each with an operation of its own, whose 32 lanes fewer
/// ones of the machine are: `width`. Tiles differ in what they have, and go through the same lines
/// together: what only some are to do they are told, and loops go on while any tile needs it. What
/// each lane of the machine has is `held`:
///
///   hold(f)       f(n) for each
///   of, from, ballot   as of `varying`
///   any_of(first, end, is), chosen(first, end, v, is)   whether any of those that a lane has is,
///                 and that one
///   keep(h, n, value)  the n-th is that from now on
///   agreed(before, behind)  whether all have the same, in both
///   in_any_tile(what)  whether it is so in any tile
///
/// Across tiles what is `held` has a number, number_of(n), of fewer than 32:
///
///   alike(h, takes_part)  by bits, those that have the same as this one, and take part; none if
///                 it takes no part
///   from_far(h, number)   what that one has; each may ask for another
class lockstep_warp {
 public:
  static constexpr unsigned lanes = 32, width = 8, numbers = width;
  template <class T>
  using varying = std::array<T, lanes>;
  template <class T>
  using held = std::array<T, width>;

  template <class F>
  auto each(F&& f) const {
    return some(0, lanes, f);
  }
  template <class F>
  auto some(unsigned first, unsigned end, F&& f) const {
    varying<decltype(f(0u))> made{};
    for (unsigned lane = first; lane < end && lane < lanes; ++lane) made[lane] = f(lane);
    return made;
  }
  template <class T, std::size_t Count>
  T of(const std::array<T, Count>& v, unsigned lane) const noexcept {
    return v[lane];
  }
  template <class T, std::size_t Count>
  T from(const std::array<T, Count>& v, unsigned lane) const noexcept {
    return v[lane];
  }
  template <std::size_t Count>
  std::uint32_t ballot(const std::array<bool, Count>& v) const noexcept {
    std::uint32_t made = 0;
    for (unsigned lane = 0; lane < Count; ++lane) made |= std::uint32_t{v[lane]} << lane;
    return made;
  }
  std::uint32_t ballot(unsigned first, unsigned end, const varying<bool>& v) const noexcept {
    std::uint32_t made = 0;
    for (unsigned lane = first; lane < end && lane < lanes; ++lane)
      made |= std::uint32_t{v[lane]} << lane;
    return made;
  }
  held<bool> any_of(unsigned first, unsigned end, const varying<bool>& is) const noexcept {
    held<bool> made{};
    for (unsigned lane = first; lane < end && lane < lanes; ++lane) made[lane % width] |= is[lane];
    return made;
  }
  template <class T>
  held<T> chosen(unsigned first, unsigned end, const varying<T>& v, const varying<bool>& is) const {
    held<T> made{};
    for (unsigned lane = first; lane < end && lane < lanes; ++lane)
      if (is[lane]) made[lane % width] = v[lane];
    return made;
  }

  template <class T>
  void put(varying<T>& to, unsigned first, unsigned end, const varying<T>& from) const {
    for (unsigned lane = first; lane < end && lane < lanes; ++lane) to[lane] = from[lane];
  }

  template <class F>
  auto one(bool does, F&& f) const {
    return does ? f() : decltype(f()){};
  }
  template <class F>
  auto one(F&& f) const {
    return f();
  }
  template <class F>
  void one_does(bool does, F&& f) const {
    if (does) f();
  }

  template <class F>
  auto hold(F&& f) const {
    held<decltype(f(0u))> made{};
    for (unsigned n = 0; n < width; ++n) made[n] = f(n);
    return made;
  }
  template <class T>
  void keep(held<T>& v, unsigned n, T value) const noexcept {
    v[n] = value;
  }
  template <class T>
  bool agreed(const held<T>& before, const held<T>& behind) const noexcept {
    for (unsigned n = 0; n < width; ++n)
      if (before[n] != before[0] || behind[n] != before[0]) return false;
    return true;
  }
  bool in_any_tile(bool what) const noexcept { return what; }

  template <class T>
  held<std::uint32_t> alike(const held<T>& v, const held<bool>& takes_part) const noexcept {
    held<std::uint32_t> made{};
    for (unsigned n = 0; n < width; ++n)
      for (unsigned m = 0; m < width; ++m)
        made[n] |= std::uint32_t{takes_part[n] && takes_part[m] && v[n] == v[m]} << m;
    return made;
  }
  template <class T>
  T from_far(const held<T>& v, unsigned number) const noexcept {
    return v[number];
  }
  unsigned number_of(unsigned n) const noexcept { return n; }
};

}  // namespace durahash
