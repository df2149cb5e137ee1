#include "explorer/tracer.hpp"

#include <algorithm>
#include <cstring>

namespace durahash::crash {

std::string elision::text() const {
  const char* names[] = {"the flush", "the fence", "the order"};
  return std::string(names[static_cast<int>(kind)]) + " of " + place;
}

void tracer::watch_for_plain_stores(std::function<void(const std::string&)> complain) {
  complain_ = std::move(complain);
  shadow_ = complain_ ? region_.copy() : bytes{};
}

void tracer::compare_now() {
  if (!complain_) return;
  if (shadow_.empty() || std::memcmp(shadow_.data(), region_.base(), shadow_.size()) == 0) return;
  auto at = std::mismatch(shadow_.begin(), shadow_.end(), region_.base()).first - shadow_.begin();
  auto complain = std::exchange(complain_, nullptr);
  complain("a store bypassed the verbs: the byte at offset " + std::to_string(at) +
           " differs from all that was recorded");
}

void tracer::forget_touched() {
  for (std::uint32_t line : touched_) is_touched_[line] = false;
  touched_.clear();
}

void tracer::log_reads(const std::vector<bool>* interesting) {
  interesting_ = interesting;
  reads_.clear();
  if (interesting != nullptr) is_read_.assign(interesting->size(), false);
}

void tracer::length(std::uint64_t now) {
  append({.kind = event::what::length, .value = now});
  if (!complain_) return;
  std::uint64_t before = shadow_.size();
  shadow_.resize(now);
  if (now > before) std::memcpy(shadow_.data() + before, region_.base() + before, now - before);
}

void tracer::step() {
  if (--left_ == 0) stuck_();
  if (scheduler_ != nullptr) scheduler_->yield();
}

void tracer::append(event e) {
  if (out_ == nullptr) return;
  e.thread = static_cast<std::uint8_t>(thread());
  e.where = now_[e.thread];
  out_->push_back(e);
}

void tracer::touch(std::uint64_t offset, std::uint64_t count) {
  for (std::uint64_t line = offset / line_bytes; line <= (offset + count - 1) / line_bytes;
       ++line) {
    if (is_touched_[line]) continue;
    is_touched_[line] = true;
    touched_.push_back(static_cast<std::uint32_t>(line));
  }
}

bool tracer::elides(elision::what kind) {
  if (elided_ == nullptr || elided_->kind != kind) return false;
  place_index at = now_[thread()];
  while (is_elided_.size() <= at)
    is_elided_.push_back(places_[static_cast<place_index>(is_elided_.size())].text() ==
                         elided_->place);
  left_out_ += is_elided_[at];
  return is_elided_[at];
}

void tracer::entering(verb which, const site& where) {
  now_[thread()] = places_.index_of(which, where);
}

void tracer::reading(const void* at, std::size_t count) {
  step();
  if (interesting_ == nullptr) return;
  std::uint64_t offset = region_.offset_of(at);
  for (std::uint64_t line = offset / line_bytes;
       line <= (offset + count - 1) / line_bytes && line < interesting_->size(); ++line) {
    if (!(*interesting_)[line] || is_read_[line]) continue;
    is_read_[line] = true;
    if (!is_touched_[line]) reads_.push_back(static_cast<std::uint32_t>(line));
  }
}

void tracer::stored(const void* at, std::size_t size) {
  std::uint64_t offset = region_.offset_of(at), value = 0;
  std::memcpy(&value, at, size);
  if (complain_) std::memcpy(&shadow_[offset], at, size);
  touch(offset, size);
  // group 1: not even ordered behind the stores before it to its line
  append({.kind = event::what::store,
          .size = static_cast<std::uint8_t>(size),
          .group = elides(elision::what::order) ? 1u : 0u,
          .offset = offset,
          .value = value});
}

void tracer::stored_bytes(const void* at, std::size_t count) {
  std::uint64_t offset = region_.offset_of(at), end = offset + count;
  if (complain_) std::memcpy(&shadow_[offset], at, count);
  touch(offset, count);
  if (out_ == nullptr) return;
  std::uint32_t group = ++next_group_;
  for (std::uint64_t from = offset; from < end;) {
    std::uint64_t to = std::min(end, align_down(from, 8) + 8), value = 0;
    std::memcpy(&value, region_.base() + from, to - from);
    append({.kind = event::what::piece,
            .size = static_cast<std::uint8_t>(to - from),
            .group = group,
            .offset = from,
            .value = value});
    from = to;
  }
}

void tracer::exchanged(const void* at, std::size_t size, bool succeeded) {
  event e{.kind = event::what::exchange};
  if (succeeded) {
    e.offset = region_.offset_of(at);
    e.size = static_cast<std::uint8_t>(size);
    std::memcpy(&e.value, at, size);
    if (complain_) std::memcpy(&shadow_[e.offset], at, size);
    touch(e.offset, size);
  }
  append(e);
}

void tracer::flushed(const void* at, std::size_t count) {
  if (elides(elision::what::flush)) return;
  append({.kind = event::what::flush, .offset = region_.offset_of(at), .value = count});
}

void tracer::fenced() {
  compare_now();
  if (elides(elision::what::fence)) return;
  append({.kind = event::what::fence});
}

}  // namespace durahash::crash
