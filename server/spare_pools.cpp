#include "spare_pools.hpp"

#include <linux/magic.h>
#include <sys/vfs.h>

#include <utility>

#include "api.hpp"
#include "fault.hpp"
#include "worker.hpp"

namespace durahash::server {
namespace {

/// Its own: checks and recounts of large tables take their time.
worker& the_maker() {
  static auto* one = new worker;
  return *one;
}

bool lies_in_memory(const std::string& folder) {
  struct statfs facts {};
  return ::statfs(folder.c_str(), &facts) == 0 && facts.f_type == TMPFS_MAGIC;
}

std::size_t wanted() { return static_cast<std::size_t>(the_settings().spare_pools); }

/// What the first write to a pool waits for, too: the disk is told that it changes.
void mark_as_changing(hosted_table& t) {
  const std::string some(8, '\0');  // a word, or bytes
  (void)t.pool().erase(some);
}

}  // namespace

void spare_pools::start() {
  waits_for_disk_ =
      !lies_in_memory(the_settings().folder) && !planted("tables-are-made-when-they-are-asked-for");
  if (!waits_for_disk_) return;
  std::scoped_lock lock(lock_);
  refill(shelf_for(usual_kind()));
}

spare_pools::shelf* spare_pools::shelf_of(const table_kind& kind) {
  for (shelf& s : shelves_)
    if (s.kind == kind) return &s;
  return nullptr;
}

/// The kind's shelf, which may take the place of another one's.
spare_pools::shelf& spare_pools::shelf_for(const table_kind& kind) {
  if (shelf* known = shelf_of(kind)) return *known;
  shelf& s = shelves_[kind == usual_kind() ? 0 : 1];
  clear(s);
  s.kind = kind;
  return s;
}

void spare_pools::refill(shelf& s) {
  for (; !ended_ && s.ready.size() + s.under_way < wanted(); ++s.under_way)
    the_maker().submit([this, kind = *s.kind] { make(kind); });
}

void spare_pools::clear(shelf& s) {
  for (table_ref& t : std::exchange(s.ready, {})) let_go(std::move(t));
  for (auto& call : std::exchange(s.waiting, {})) call();
  s.under_way = 0;  // what comes yet is of no kind that is wanted
}

table_ref spare_pools::take(const table_kind& kind) {
  if (!waits_for_disk_ || wanted() == 0) return {};
  std::scoped_lock lock(lock_);
  shelf& s = shelf_for(kind);
  table_ref taken;
  if (!s.ready.empty()) {
    taken = std::move(s.ready.back());
    s.ready.pop_back();
  }
  refill(s);
  return taken;
}

bool spare_pools::plenty(const table_kind& kind) {
  if (!waits_for_disk_ || wanted() == 0) return true;
  std::scoped_lock lock(lock_);
  const shelf* s = shelf_of(kind);
  return s == nullptr || 2 * s->ready.size() >= wanted();
}

void spare_pools::when_made(const table_kind& kind, std::function<void()> call) {
  std::scoped_lock lock(lock_);
  shelf* s = shelf_of(kind);
  if (s == nullptr || s->under_way == 0) return call();
  s->waiting.push_back(std::move(call));
}

void spare_pools::make(const table_kind& kind) {
  auto is_wanted = [&](const shelf* s) {
    return s != nullptr && !ended_ && s->ready.size() < wanted();
  };
  bool wanted_still = false;
  {
    std::scoped_lock lock(lock_);
    wanted_still = is_wanted(shelf_of(kind));
  }
  table_ref made;
  if (wanted_still) {
    auto created = hosted_table::create(kind);
    if (created) mark_as_changing(*(made = std::move(*created)));
    else if (!std::exchange(failed_, true))
      log(nullptr, "warning", "no table is made ahead: " + created.failure().message);
  }
  std::scoped_lock lock(lock_);
  if (made) failed_ = false;
  shelf* s = shelf_of(kind);
  if (made && is_wanted(s)) s->ready.push_back(std::move(made));
  let_go(std::move(made));
  if (s == nullptr) return;
  if (s->under_way != 0) --s->under_way;
  // each made one lets one go on; the last one all of them
  while (!s->waiting.empty()) {
    s->waiting.front()();
    s->waiting.pop_front();
    if (s->under_way != 0) break;
  }
}

std::size_t spare_pools::count() {
  std::scoped_lock lock(lock_);
  std::size_t sum = 0;
  for (const shelf& s : shelves_) sum += s.ready.size();
  return sum;
}

void spare_pools::drop_all() {
  std::scoped_lock lock(lock_);
  ended_ = true;
  for (shelf& s : shelves_) s.ready.clear(), clear(s);
}

}  // namespace durahash::server
