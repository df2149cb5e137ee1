#include "store/existing_pool.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "media/file_lock.hpp"
#include "persist/owner.hpp"
#include "store/levels.hpp"

namespace durahash {
namespace {

template <class Kind>
std::string contradiction(const char* what, const std::optional<Kind>& asked, Kind has) {
  if (!asked || *asked == has) return {};
  return std::string(what) + " is " + std::string(name_of(has)) + ", not " +
         std::string(name_of(*asked));
}

/// A boot that is not known may have been another one.
bool perhaps_torn(const opening& o) {
  bool interrupted = o.root.state == pool_state::changing && !is_this_boot(o.root.boot_id);
  return interrupted && o.mapped == medium_kind::file && !is_in_memory(o.path);
}

}  // namespace

error refuse_contradictions(const opening& o, const superblock& block) {
  for (const std::string& why :
       {contradiction("its engine", o.how.engine, block.engine),
        contradiction("its key kind", o.how.key, block.key),
        contradiction("its value kind", o.how.value, block.value),
        contradiction("its durability", o.how.durability, block.durability)})
    if (!why.empty())
      return refused(status::unusable, "cannot open " + o.path + " as asked: " + why);
  return {status::ok, {}};
}

error read_pool(opening& o) {
  auto block =
      read_superblock(o.map->base(), o.map->file_bytes_at_open(), o.map->read_only(), o.path);
  if (!block) return block.failure();
  o.block = *block;
  return refuse_contradictions(o, o.block);
}

error read_root_of(opening& o) {
  // refuse_cut_off looks at it, once it is known why the file may be short
  constexpr std::uint64_t any_length = ~std::uint64_t{0};
  auto root = read_root(o.map->base(), any_length, o.block, o.path);
  if (!root) return root.failure();
  o.root = *root;
  return {status::ok, {}};
}

error refuse_torn(const opening& o) {
  if (o.how.salvage || !perhaps_torn(o)) return {status::ok, {}};
  const bool is_known = this_boot() != std::array<std::uint8_t, 16>{};
  return refused(status::unusable,
                 "cannot use " + o.path + " as a pool: " +
                     (is_known ? "the machine went down while it was open and not synced"
                               : "it was open and not synced, and without /proc nothing here tells "
                                 "that the machine has not gone down since") +
                     ", and a plain file may be torn by that; `durahash check --salvage " + o.path +
                     "` verifies everything and keeps what is whole");
}

error refuse_copy(const opening& o) {
  std::uint32_t written_to = o.root.file_mark;
  std::optional<std::uint32_t> here = o.map->file_mark();
  bool is_known = written_to != 0 && here != 0;
  bool perhaps = o.root.state == pool_state::changing && here && !(is_known && here == written_to);
  if (o.how.salvage || !perhaps) return {status::ok, {}};
  return refused(status::unusable,
                 "cannot use " + o.path +
                     " as a pool: " + (is_known ? "it is" : "nothing here tells that it is not") +
                     " a copy of a pool that was open and not synced, and may hold pages of "
                     "several moments; "
                     "copy the pool when it is closed, or let `durahash check --salvage " +
                     o.path + "` verify everything and keep what is whole");
}

error refuse_older_root(const opening& o) {
  std::optional<std::uint64_t> noted = o.map->noted_root();
  if (!noted || *noted <= o.root.sequence) return {status::ok, {}};
  std::string why =
      *noted == unreadable_note
          ? std::string("whether an older copy was written over it cannot be told (") +
                std::strerror(errno) + ")"
          : "an older copy of it, made while it was open, was written over it";
  if (!o.how.salvage && o.root.state == pool_state::changing)
    return refused(status::unusable,
                   "cannot use " + o.path + " as a pool: " + why +
                       ", and it may hold pages of several moments; `durahash check --salvage " +
                       o.path + "` verifies everything and keeps what is whole");
  if (o.map->read_only() || o.map->note_root(o.root.sequence)) return {status::ok, {}};
  return system_error(status::unusable, "cannot note which root it has at", o.path);
}

error refuse_cut_off(opening& o) {
  std::uint64_t bytes = o.map->backed_bytes();
  if (o.root.pool_bytes <= bytes) return {status::ok, {}};
  if (o.how.salvage && o.root.state == pool_state::changing) {
    if (status s = o.map->grow(o.root.pool_bytes); s != status::ok)
      return refused(s, "cannot salvage " + o.path +
                            ": no room for the end that the power cut took, " +
                            std::to_string(o.root.pool_bytes - bytes) + " bytes");
    return {status::ok, {}};
  }
  return refused(status::unusable, "cannot use " + o.path + " as a pool: the file has " +
                                       std::to_string(o.map->file_bytes_at_open()) +
                                       " bytes, and the pool needs " +
                                       std::to_string(o.root.pool_bytes) + ": it was cut off");
}

void believe_file(opening& o) {
  if (o.how.salvage && o.mapped == medium_kind::file && o.root.state == pool_state::changing)
    o.root.pool_bytes = std::max(o.root.pool_bytes, o.map->backed_bytes());
}

error await_owner(const opening& o) {
  auto owner = read_owner(o.map->base());
  return owner ? outlast(*owner, o.path) : error{status::ok, {}};
}

}  // namespace durahash
