#include "store/open_beside.hpp"

#include <thread>

#include "disk/followed_medium.hpp"
#include "media/beside_mapping.hpp"
#include "media/file_lock.hpp"
#include "persist/owner.hpp"
#include "store/existing_pool.hpp"
#include "store/levels.hpp"
#include "store/registry.hpp"

namespace durahash {
namespace {

error refuse_unread_beside(const beside_opening& o) {
  auto refused_beside = [&](const std::string& why) {
    return refused(status::unusable, "cannot read " + o.path + " beside its writer: " + why);
  };
  const auto noted = noted_root_of(o.map->descriptor());  // first: what is noted is never newer
  auto root = read_root(o.map->base(), ~std::uint64_t{0}, o.block, o.path);
  constexpr int tries = 100;  // it may be changing
  for (int n = 1; !root && n < tries; ++n) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    root = read_root(o.map->base(), ~std::uint64_t{0}, o.block, o.path);
  }
  if (!root) return root.failure();
  if (!o.map->holds(0, root->pool_bytes))
    return refused(status::unusable, "cannot use " + o.path + " as a pool: the file was cut off");
  if (root->state == pool_state::clean) return {status::ok, {}};
  // whoever has the file: one that opens it may be about to refuse it
  if (o.medium == medium_kind::file && !is_this_boot(root->boot_id) && !is_in_memory(o.path))
    return refused_beside(
        "the machine went down while it was open, and a plain file may be torn "
        "by that; `durahash check --salvage` keeps what is whole");
  const auto here = file_mark_of(o.map->descriptor());
  const bool is_known = here && *here != 0;
  if (is_known ? root->file_mark != *here : here && !o.map->writer_is_there())
    return refused_beside("it may be a copy of a pool that was open and not synced");
  if (noted && *noted > root->sequence)
    return refused_beside(
        "an older copy of it, made while it was open, was written over it, or the system does not "
        "tell; `durahash check --salvage` keeps what is whole");
  return {status::ok, {}};
}

/// What its first pages have to say while a pool's log is followed: what they said when it was
/// opened, but for the level. Returns whether it is power.
result<bool> still_has_a_log(const std::byte* header, const superblock& opened,
                             const std::string& path) {
  auto now = read_superblock(header, ~std::uint64_t{0}, true, path);
  if (!now) return now.failure();
  if (now->uuid != opened.uuid || (now->incompat & has_log) == 0)
    return refused(status::unusable, "it has been converted, or replaced: open it anew");
  return now->durability == durability_level::power;
}

/// A pool on a disk, by an image that follows its log.
error follow(beside_opening& o) {
  auto image =
      followed_mapping::open(o.path, [block = o.block, path = o.path](const std::byte* header) {
        return still_has_a_log(header, block, path);
      });
  if (!image) return image.failure();
  if ((*image)->bytes() < o.block.heap_offset)
    return refused(status::unusable, "cannot use " + o.path + " as a pool: the file was cut off");
  o.followed = image->get();
  o.map = std::move(*image);
  o.medium = medium_kind::disk;
  followed_medium medium(*o.followed);
  std::optional<root_record> root;
  const status s = o.followed->look_at_one_moment([&] {
    medium.will_read(o.map->base(), engine_area_offset);
    auto read = read_root(o.map->base(), ~std::uint64_t{0}, o.block, o.path);
    if (!read) return looked::suspect;
    root = *read;
    return looked::hit;
  });
  if (s == status::unusable) return o.followed->refusal();
  if (s != status::ok) {
    const error why = o.followed->refusal();
    return refused(s, s == status::busy && !why.message.empty()
                          ? why.message
                          : "cannot read " + o.path + ": " + std::string(message(s)));
  }
  if (!o.map->holds(0, root->pool_bytes))
    return refused(status::unusable, "cannot use " + o.path + " as a pool: the file was cut off");
  const auto here = file_mark_of(o.map->descriptor());
  const bool is_known = here && *here != 0 && root->file_mark == *here;
  if (root->state == pool_state::clean || !here || is_known || o.map->writer_is_there())
    return {status::ok, {}};
  return refused(status::unusable, "cannot read " + o.path +
                                       " beside its writer: it may be a copy of a pool that was "
                                       "open and not synced");
}

}  // namespace

result<opened> open_beside(opening o) {
  if (o.how.medium == medium_kind::memory)
    return refused(status::invalid_argument, "a pool in memory is of one process");
  beside_opening made;
  made.path = o.path;
  auto map = beside_mapping::open(o.path);
  if (!map) return map.failure();
  made.map = std::move(*map);
  auto block = read_superblock(made.map->base(), made.map->bytes(), true, o.path);
  if (!block) return block.failure();
  if (error e = refuse_contradictions(o, *block); e.code != status::ok) return e;
  made.block = *block;
  made.medium =
      block->durability == durability_level::power ? medium_kind::pmem : medium_kind::file;
  const bool logs = (block->incompat & has_log) != 0;
  if (error e = logs ? follow(made) : refuse_unread_beside(made); e.code != status::ok) return e;
  if (auto owner = read_owner(made.map->base()))
    if (error e = outlast(*owner, o.path); e.code != status::ok) return e;
  const engine_entry* entry = find_engine(block->engine);
  if (entry == nullptr) return not_in_this_build(block->engine, o.path);
  if (entry->beside == nullptr)
    return refused(status::unusable, "cannot read " + o.path + " beside its writer: the engine " +
                                         std::string(name_of(block->engine)) +
                                         " has no reader for that");
  return entry->beside(std::move(made));
}

}  // namespace durahash
