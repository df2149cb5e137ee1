// What the layers above ask of memory: reads and writes of aligned words, write-back, ordering. A
// model is chosen once, at open, and is a template parameter from there on; every store to a pool
// passes through one, so that a recording model sees each.
#pragma once

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/bits.hpp"
#include "base/processor.hpp"
#include "durahash/info.hpp"
#include "media/site.hpp"

namespace durahash {

/// Which verb (persist/order.hpp) acts, and where in our sources it was called: told to the medium
/// before it does. Only models that record listen.
enum class verb : std::uint8_t { store, store_bytes, flush, fence, publish_unfenced };

/// `visible_is_durable`: no crash that the medium promises to survive undoes a store that another
/// thread has seen. A medium may have `most_unit_bits`: tables on it have at most so many bits of
/// stripes (engine/frame/stripes.hpp), since they are opened often.
template <class M>
concept medium = requires(M& m, const M& c, std::uint64_t* word, void* at, const void* from,
                          std::size_t bytes, verb which, const site& where) {
  { M::visible_is_durable } -> std::convertible_to<bool>;
  { M::planted("a bug") } -> std::same_as<bool>;
  m.enter(which, where);
  { m.read(word) }
  noexcept->std::same_as<std::uint64_t>;  // acquire
  // release; 1, 2, 4 or 8 bytes, aligned
  m.write(word, std::uint64_t{});
  // in any order, torn at 8-byte boundaries
  m.write_bytes(at, from, bytes);
  { m.exchange_if(word, std::uint64_t{}, std::uint64_t{}) } -> std::same_as<bool>;
  m.will_read(from, bytes);  // the caller reads these bytes itself
  m.flush(from, bytes);      // write-back of the lines started
  // this thread's started write-backs are durable
  m.fence();
  { c.counts() } -> std::same_as<media_counts>;
};

/// Whether what the pool holds at open is durable as it is. Elsewhere a killed process may have
/// left words in caches that nobody ever flushed.
template <class M>
bool opens_durable(const M& m) noexcept {
  if constexpr (requires { m.opens_durable(); }) return m.opens_durable();
  else return false;
}

/// Whether a store must be written back before it is durable.
template <class M>
bool writes_back(const M& m) noexcept {
  if constexpr (M::visible_is_durable) return false;
  else if constexpr (requires { m.writes_back(); }) return m.writes_back();
  else return true;
}

/// Whether a word is there: an acquire load and a comparison, by gcc in one instruction.
template <class T>
[[gnu::always_inline]] inline bool word_is(const T* at, T word) noexcept {
#if !defined(__x86_64__) || defined(__clang__) || defined(DURAHASH_SANITIZED)
  return __atomic_load_n(at, __ATOMIC_ACQUIRE) == word;
#else
  bool same;
  asm volatile("cmp%z1 %2, %1" : "=@cce"(same) : "m"(*at), "re"(word));
  std::atomic_signal_fence(std::memory_order_acquire);
  return same;
#endif
}
template <class T>
[[gnu::always_inline]] inline bool word_is(const std::atomic<T>& at, T word) noexcept {
  static_assert(sizeof at == sizeof word && std::atomic<T>::is_always_lock_free);
  return word_is(reinterpret_cast<const T*>(&at), word);
}

/// Plain loads and stores: what every model that runs at speed shares.
struct direct_access {
  template <class T>
  T read(const T* at) const noexcept {
    return __atomic_load_n(at, __ATOMIC_ACQUIRE);
  }
  /// Whether a word is there: as read and a comparison, in one instruction.
  template <class T>
  [[gnu::always_inline]] bool holds(const T* at, T word) const noexcept {
    return word_is(at, word);
  }
  template <class T>
  void write(T* at, T value) noexcept {
    __atomic_store_n(at, value, __ATOMIC_RELEASE);
  }
  /// Of 8 to 16, as most keys have, without a call.
  [[gnu::always_inline]] void write_bytes(void* at, const void* from, std::size_t bytes) noexcept {
    if (bytes >= 8 && bytes <= 16) {
      const std::size_t last = bytes - 8;
      std::uint64_t words[2];
      std::memcpy(&words[0], from, 8);
      std::memcpy(&words[1], static_cast<const char*>(from) + last, 8);
      std::memcpy(at, &words[0], 8);
      std::memcpy(static_cast<char*>(at) + last, &words[1], 8);
    } else if (bytes != 0) {
      std::memcpy(at, from, bytes);
    }
  }
  template <class T>
  bool exchange_if(T* at, T expected, T desired) noexcept {
    return __atomic_compare_exchange_n(at, &expected, desired, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_ACQUIRE);
  }
  void will_read(const void*, std::size_t) const noexcept {}
  void enter(verb, const site&) const noexcept {}
  static constexpr bool planted(mutant) noexcept { return false; }
};

/// Whether a read is a plain load that nobody listens to, so that several may be one instruction.
/// ThreadSanitizer knows no such instructions.
#if defined(__SANITIZE_THREAD__) || defined(DURAHASH_SANITIZED_FOR_THREADS)
template <class M>
inline constexpr bool reads_plainly = false;
#else
template <class M>
inline constexpr bool reads_plainly =
    std::is_same_v<decltype(&M::template read<std::uint64_t>),
                   decltype(&direct_access::template read<std::uint64_t>)>;
#endif

/// Behind such a plain read, which stays in front of what is read next.
[[gnu::always_inline]] inline void read_before_what_follows() noexcept {
  keep_order(std::memory_order_acquire);
}

}  // namespace durahash
