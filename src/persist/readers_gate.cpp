#include "persist/readers_gate.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include "base/process_facts.hpp"
#include "base/shared_zeroes.hpp"

namespace durahash {
namespace {

/// Null where nobody else can map what the pool stores.
readers_line* line_in(mapping& map) noexcept {
  if (!map.is_shared() || map.read_only()) return nullptr;
  std::byte* const apart = map.readers_line_apart();
  return apart != nullptr ? reinterpret_cast<readers_line*>(apart) : &readers_line_at(map.base());
}

}  // namespace

readers_gate::readers_gate(mapping& map) noexcept
    : line_(line_in(map)),
      shows_versions_(line_ != nullptr && map.readers_line_apart() == nullptr) {}

readers_gate::~readers_gate() {
  if (opening_) leave();
  if (versions_descriptor_ >= 0) ::close(versions_descriptor_);
}

void readers_gate::ban() noexcept {
  if (line_ == nullptr) return;
  // behind one that died before it admitted anybody: another one all the same
  const std::uint64_t now = __atomic_load_n(&line_->sequence, __ATOMIC_RELAXED);
  __atomic_store_n(&line_->sequence, now % 2 == 0 ? now + 1 : now + 2, __ATOMIC_SEQ_CST);
  keep_order(std::memory_order_release);  // in front of all that is stored from here on
}

void readers_gate::ban_while_opening() noexcept {
  if (line_ == nullptr) return;
  found_ = line_->sequence;
  opening_ = true;
  ban();
}

void readers_gate::readmit() noexcept {
  if (line_ == nullptr) return;
  opening_ = false;
  __atomic_store_n(&line_->sequence, found_, __ATOMIC_SEQ_CST);
}

/// Another one writes from here on, or nobody.
void readers_gate::open_to_others() noexcept {
  __atomic_fetch_add(&line_->incarnation, 1, __ATOMIC_RELAXED);
  __atomic_fetch_add(&line_->sequence, 1, __ATOMIC_SEQ_CST);
}

void readers_gate::admit() noexcept {
  if (line_ == nullptr) return;
  opening_ = stays_banned_ = false;
  __atomic_store_n(&line_->writer, static_cast<std::uint64_t>(::getpid()), __ATOMIC_RELAXED);
  __atomic_store_n(&line_->start_ticks, start_ticks_of_this_process(), __ATOMIC_RELAXED);
  __atomic_store_n(&line_->versions, static_cast<std::uint64_t>(versions_descriptor_ + 1),
                   __ATOMIC_RELAXED);
  open_to_others();
}

void readers_gate::leave() noexcept {
  if (line_ == nullptr || stays_banned_) return;
  opening_ = false;
  ban();  // who reads from here on asks anew who writes
  __atomic_store_n(&line_->writer, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&line_->versions, 0, __ATOMIC_RELAXED);
  open_to_others();
}

void* readers_gate::show_versions(std::size_t bytes, const std::array<std::uint8_t, 16>& uuid) {
  if (!shows_versions_) return nullptr;
  const shared_zeroes made = shared_zeroes::of(page_bytes + bytes);
  if (made.at == nullptr) return nullptr;
  *static_cast<versions_header*>(made.at) = {versions_magic, page_bytes + bytes, uuid};
  versions_descriptor_ = made.descriptor;
  ::munmap(made.at, page_bytes);
  return static_cast<std::byte*>(made.at) + page_bytes;
}

}  // namespace durahash
