// The verbs: the only code that changes bytes of a pool. docs/explanation/persistence.md has the
// model they are written against.
//
//   store    visible; may become durable at any moment        flush    write-back started
//   fence    what was flushed is durable                       persist  flush + fence
//   publish  the commit point: one aligned 8-byte release store, then made durable
//
// That no reader gives away what a crash could undo is the matter of persist/unsettled.hpp.
//
// The tokens `flushed` and `durable` make a forgotten fence a compile error; that the fence covered
// the right lines is shown by the recording medium. They are empty and cost nothing.
#pragma once

#include <utility>

#include "base/check.hpp"
#include "media/medium.hpp"
#include "persist/pm.hpp"

namespace durahash {

/// A range of bytes of the pool.
struct extent {
  const void* at;
  std::size_t bytes;
};

template <class T>
extent extent_of(const T& object) noexcept {
  return {&object, sizeof(T)};
}

class [[nodiscard]] flushed {
 public:
  flushed() = default;  // nothing, the start of a sum
  flushed(flushed&&) noexcept = default;
  flushed& operator=(flushed&&) noexcept = default;
  flushed& operator+=(flushed) noexcept { return *this; }
};

class [[nodiscard]] durable {
 public:
  durable(durable&&) noexcept = default;
  durable& operator=(durable&&) noexcept = default;

 private:
  durable() = default;
  friend struct fencing;
};

/// For fence alone.
struct fencing {
  template <medium M>
  static durable on(M& m) {
    m.fence();
    return {};
  }
};

inline bool in_one_line(const void* a, const void* b) noexcept {
  return (reinterpret_cast<std::uintptr_t>(a) ^ reinterpret_cast<std::uintptr_t>(b)) < line_bytes;
}

/// What a publication comes after: evidence that its payload is durable, or the reason why it needs
/// none.
class [[nodiscard]] ordered {
 private:
  ordered() = default;
  friend ordered after(durable);
  friend ordered after_group(const durable&);
  friend ordered after_nothing(const char*);
  friend ordered after_same_line(const void*, const void*, std::size_t);
  template <class T>
  friend ordered after_same_line(const T&);
};

inline ordered after(durable) { return {}; }

/// For publications that share one fence.
inline ordered after_group(const durable&) { return {}; }

/// `why` is for the reader of the code.
inline ordered after_nothing([[maybe_unused]] const char* why) { return {}; }

/// The trick of one cache line: a line becomes durable as a prefix of its stores, so a payload
/// stored before the commit word and in its line needs no flush of its own.
[[gnu::always_inline]] inline ordered after_same_line(const void* word, const void* payload,
                                                      std::size_t payload_bytes) {
  auto last = reinterpret_cast<std::uintptr_t>(payload) + payload_bytes - 1;
  check(in_one_line(word, payload) && in_one_line(word, reinterpret_cast<const void*>(last)),
        "payload shares the commit word's line");
  return {};
}

/// The same, known when it is compiled: word and payload are fields of one object, which no line's
/// end cuts.
template <class T>
[[gnu::always_inline]] inline ordered after_same_line(const T&) {
  static_assert(sizeof(T) <= alignof(T) && line_bytes % alignof(T) == 0);
  return {};
}

template <medium M, class T>
T load(M& m, const pm<T>& field) noexcept {
  return std::bit_cast<T>(m.read(field.raw()));
}

/// Whether the field holds this: a load and a comparison.
template <medium M, class T>
[[gnu::always_inline]] inline bool holds(M& m, const pm<T>& field,
                                         std::type_identity_t<T> value) noexcept {
  if constexpr (reads_plainly<M>)
    return m.holds(field.raw(), std::bit_cast<typename pm<T>::word>(value));
  else return load(m, field) == value;
}

// Every verb tells the medium where it was called. Those that write back are given a name
// (media/site.hpp).

template <medium M, class T>
void store(M& m, pm<T>& field, std::type_identity_t<T> value, site where = {}) noexcept {
  m.enter(verb::store, where);
  m.write(field.raw(), std::bit_cast<typename pm<T>::word>(value));
}

/// As store, if the field still holds `old`; of several threads one gets its way. Returns whether
/// this one did.
template <medium M, class T>
bool store_if(M& m, pm<T>& field, std::type_identity_t<T> old, std::type_identity_t<T> value,
              site where = {}) noexcept {
  using bits = typename pm<T>::word;
  m.enter(verb::store, where);
  return m.exchange_if(field.raw(), std::bit_cast<bits>(old), std::bit_cast<bits>(value));
}

/// Bytes in any order, torn at 8-byte boundaries: for payloads that nothing refers to yet.
template <medium M>
void store_bytes(M& m, void* at, const void* from, std::size_t bytes, site where = {}) noexcept {
  m.enter(verb::store_bytes, where);
  m.write_bytes(at, from, bytes);
}

/// As store_bytes, of bytes that nobody flushes: the file has them when the pool is closed.
template <medium M>
void store_bytes_for_close(M& m, void* at, const void* from, std::size_t bytes,
                           site where = {}) noexcept {
  store_bytes(m, at, from, bytes, where);
  if constexpr (requires { m.keep(at, bytes); }) m.keep(at, bytes);
}

template <medium M>
flushed flush(M& m, const extent& bytes, site where = {}) {
  m.enter(verb::flush, where);
  m.flush(bytes.at, bytes.bytes);
  return {};
}

/// Of an object that lies in one line.
template <medium M, class T>
flushed flush_in_line(M& m, const T& object, site where = {}) {
  static_assert(line_bytes % alignof(T) == 0 && alignof(T) >= sizeof(T));
  m.enter(verb::flush, where);
  if constexpr (requires { m.flush_line(&object); }) m.flush_line(&object);
  else m.flush(&object, sizeof(T));
  return {};
}

template <medium M>
durable fence(M& m, flushed, site where = {}) {
  m.enter(verb::fence, where);
  return fencing::on(m);
}

template <medium M>
durable persist(M& m, const extent& bytes, site where = {}) {
  return fence(m, flush(m, bytes, where), where);
}

/// First half of publish, for publications that share a fence: visible now, durable with the next
/// fence.
template <medium M, class T>
  requires(sizeof(T) == 8)
[[gnu::always_inline]] inline flushed publish_unfenced(M& m, pm<T>& word,
                                                       std::type_identity_t<T> value, ordered,
                                                       site where = {}) {
  m.enter(verb::publish_unfenced, where);
  m.write(word.raw(), std::bit_cast<typename pm<T>::word>(value));
  return flush_in_line(m, word, where);
}

template <medium M, class T>
durable publish(M& m, pm<T>& word, std::type_identity_t<T> value, ordered before, site where = {}) {
  return fence(m, publish_unfenced(m, word, value, std::move(before), where), where);
}

/// As publish, if the word still holds `old`. Returns whether it did; durable then.
template <medium M, class T>
  requires(sizeof(T) == 8)
bool publish_if(M& m, pm<T>& word, std::type_identity_t<T> old, std::type_identity_t<T> value,
                ordered, site where = {}) {
  using bits = typename pm<T>::word;
  m.enter(verb::publish_unfenced, where);
  if (!m.exchange_if(word.raw(), std::bit_cast<bits>(old), std::bit_cast<bits>(value)))
    return false;
  [[maybe_unused]] durable done = persist(m, extent_of(word), where);
  return true;
}

}  // namespace durahash
