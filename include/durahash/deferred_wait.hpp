// Operations that do not wait for the disk: for event loops, which never block.
#pragma once

#include "durahash/detail/deferral.hpp"
#include "durahash/handle.hpp"

namespace durahash {

/// Within its life, the operations of this thread on that handle's pool return before the pool's
/// log is durable. What they answered may be told on when `position()` is: handle::wait_durable
/// waits for that, handle::when_durable calls back.
///
///     durahash::deferred_wait later(*users);
///     status answer = users->put(key, value);
///     users->when_durable(later.position(),
///                         [=](status s) { reply(s == status::ok ? answer : s); });
///
/// That goes for reads as well: at the level power a value that somebody else has just written is
/// given before it is durable, and may be undone by a loss of power until then.
/// Where operations wait for nothing (no log), it changes nothing. It may be nested; it must not
/// outlive the handle, and belongs to the thread that made it.
/// Cost      of an operation: it looks through the thread's deferrals where it would have waited.
class deferred_wait {
 public:
  /// From here on, for this thread.
  explicit deferred_wait(const handle& of) noexcept;
  ~deferred_wait() { detail::innermost_deferral() = own_.outer; }
  deferred_wait(const deferred_wait&) = delete;
  deferred_wait& operator=(const deferred_wait&) = delete;

  /// What the operations so far need: 0 if that is nothing. A position of handle::position.
  std::uint64_t position() const noexcept { return own_.end; }

 private:
  detail::deferral own_;
};

}  // namespace durahash
