// Ctrl-C and its kin while a pool is open for writing: the command closes the pool first, and ends
// by the signal then.
#pragma once

namespace durahash::tool {

/// While one lives, the first SIGINT, SIGTERM or SIGHUP ends nothing: it is told by `asked`, and
/// wakes whoever waits for `descriptor`. Another one, a quarter of a second later or more, ends the
/// process at once; what comes sooner is taken for the same, because `timeout` sends its signal
/// twice. A signal that the caller ignores, as nohup does, stays ignored. Writing to a closed pipe
/// is an error meanwhile, and no signal.
class interruption {
 public:
  interruption();
  ~interruption();
  interruption(const interruption&) = delete;
  interruption& operator=(const interruption&) = delete;

  /// The signal that came, or 0.
  static int asked() noexcept;

  /// Readable once a signal came; -1 while no `interruption` lives, which poll passes over.
  static int descriptor() noexcept;

  /// "SIGINT".
  static const char* name_of_asked() noexcept;

  /// Ends the process by the signal that came, so that a shell sees that; returns if none did. For
  /// the end of main.
  static void end_if_asked() noexcept;
};

}  // namespace durahash::tool
