// What belongs to the process that opened it, and is left alone by a fork of that one.
#pragma once

#include <memory>
#include <utility>

#include "durahash/status.hpp"

namespace durahash::detail {

/// Keeps it for ever: its threads, locks and files are another process's. It stays reachable, so
/// that no leak is seen where none can be mended.
void leave_alone(void* opened) noexcept;

/// Deletes what this process opened. `Opened` says so by opened_here().
template <class Opened>
struct deleter_of_its_own {
  void operator()(Opened* o) const noexcept {
    if (o->opened_here()) delete o;
    else leave_alone(o);
  }
};

/// Something open, or nothing.
template <class Opened>
class owned {
 public:
  explicit owned(std::unique_ptr<Opened> o) noexcept : it_(o.release()) {}

  /// Whether it may be used: it is open, by this process and not by one that this is a fork of.
  bool here() const noexcept { return it_ != nullptr && it_->opened_here(); }
  /// Why not; closed where it is here, and no longer open.
  status refusal() const noexcept {
    return it_ == nullptr || it_->opened_here() ? status::closed : status::forked;
  }
  Opened* operator->() const noexcept { return it_.get(); }

 private:
  std::unique_ptr<Opened, deleter_of_its_own<Opened>> it_;
};

}  // namespace durahash::detail
