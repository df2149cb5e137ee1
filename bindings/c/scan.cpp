// Iterations.
#include "scan.hpp"

#include <cstring>

namespace durahash::c {
namespace {

/// Moves the caller's cursor, also where a scan ends early.
template <class Scan>
status moving(durahash_cursor& at, Scan&& scan) {
  cursor here = from_c(at);
  const status done = here.done ? status::ok : scan(here);
  to_c(here, at);
  return done;
}

/// Records one behind the other in the caller's memory; what does not fit is counted alone.
class record_buffer {
 public:
  struct mark {
    std::size_t count = 0, bytes = 0;
  };

  record_buffer(durahash_record* records, std::size_t capacity, void* bytes, std::size_t room)
      : records_(records), capacity_(capacity), bytes_(static_cast<char*>(bytes)), room_(room) {}

  void add(std::string_view key, std::string_view value) noexcept {
    const std::size_t begin = used_.bytes;
    used_.bytes += key.size() + value.size();
    ++used_.count;
    if (!has_all()) return;
    char* to = bytes_ + begin;
    records_[used_.count - 1] = {to, key.size(), to + key.size(), value.size()};
    if (!key.empty()) std::memcpy(to, key.data(), key.size());
    if (!value.empty()) std::memcpy(to + key.size(), value.data(), value.size());
  }
  bool has_all() const noexcept { return used_.count <= capacity_ && used_.bytes <= room_; }
  bool is_full() const noexcept { return used_.count >= capacity_; }
  std::size_t left() const noexcept { return capacity_ - used_.count; }
  mark used() const noexcept { return used_; }
  void go_back(mark to) noexcept { used_ = to; }

 private:
  durahash_record* records_;
  std::size_t capacity_;
  char* bytes_;
  std::size_t room_;
  mark used_;
};

/// How long the next records are is not known before: what does not fit is tried again with fewer.
status fill_records(const table& all, durahash_cursor& at, record_buffer& into) {
  cursor here = from_c(at);
  std::size_t limit = 256;
  while (!here.done && !into.is_full()) {  // ends: the cursor moves, or the limit is halved
    cursor tried = here;
    const record_buffer::mark before = into.used();
    const status s =
        all.scan(tried, std::min(limit, into.left()),
                 [&](std::string_view key, std::string_view value) { into.add(key, value); });
    if (s != status::ok) return s;
    if (into.has_all()) {
      here = tried;
      continue;
    }
    if (limit == 1 && before.count == 0) return status::no_space;
    into.go_back(before);
    if (limit == 1) break;
    limit /= 2;
  }
  return to_c(here, at), status::ok;
}

}  // namespace
}  // namespace durahash::c

using namespace durahash;
using namespace durahash::c;

durahash_status durahash_u64_scan(const durahash_pool* pool, durahash_cursor* at, size_t limit,
                                  durahash_u64_visitor visit, void* context) {
  if (at == nullptr || visit == nullptr) return refuse("no cursor or no visitor: a null pointer");
  return on_words(pool, [&](word_map& all) {
    return moving(*at, [&](cursor& here) {
      return all.scan(here, limit,
                      [&](std::uint64_t key, std::uint64_t value) { visit(context, key, value); });
    });
  });
}

durahash_status durahash_bytes_scan(const durahash_pool* pool, durahash_cursor* at, size_t limit,
                                    durahash_bytes_visitor visit, void* context) {
  if (at == nullptr || visit == nullptr) return refuse("no cursor or no visitor: a null pointer");
  return on_bytes(pool, [&](table& all) {
    return moving(*at, [&](cursor& here) {
      return all.scan(here, limit, [&](std::string_view key, std::string_view value) {
        visit(context, key.data(), key.size(), value.data(), value.size());
      });
    });
  });
}

durahash_status durahash_bytes_fill(const durahash_pool* pool, durahash_cursor* at,
                                    durahash_record* records, size_t capacity, void* buffer,
                                    size_t buffer_bytes, size_t* count, size_t* needed) {
  if (at == nullptr || records == nullptr || capacity == 0 || count == nullptr ||
      needed == nullptr || is_no_string(buffer, buffer_bytes))
    return refuse("a place for records is a null pointer, or there is none");
  *count = *needed = 0;
  return on_bytes(pool, [&](table& all) {
    record_buffer into(records, capacity, buffer, buffer_bytes);
    const status done = fill_records(all, *at, into);
    *count = into.used().count, *needed = into.used().bytes;
    return done;
  });
}
