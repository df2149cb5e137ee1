#include "store/backup.hpp"

#include <sys/stat.h>

#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "disk/log_format.hpp"
#include "media/pmem_mapping.hpp"
#include "store/levels.hpp"
#include "store/registry.hpp"

namespace durahash {
namespace {

/// What the copy is to be where it lies.
superblock block_for(const std::string& path, superblock block) {
  block.incompat &= ~has_log;
  if (!survives_power(block.durability)) return sealed(block);
  bool on_pmem = block.durability == durability_level::power && is_persistent_memory(path);
  if (is_in_memory(path)) block.durability = durability_level::process;
  else if (!on_pmem) block.incompat |= has_log;
  return sealed(block);
}

/// The engine's own recovery, and a clean close.
error recover(opening o) {
  mapping& file = *o.map;
  const std::string path = o.path;
  const engine_entry* entry = find_engine(o.block.engine);
  if (entry == nullptr) return {status::unusable, "its engine is not in this build"};
  auto made = entry->on_process(std::move(o), std::make_unique<process_medium>());
  if (!made) return made.failure();
  detail::any_table& copy = made->words ? static_cast<detail::any_table&>(*made->words)
                                        : static_cast<detail::any_table&>(*made->bytes);
  status s = copy.close();
  if (s == status::ok) s = file.write_to_disk(0, file.backed_bytes());
  if (s == status::ok) s = file.appear();
  if (s == status::exists) return {s, "it exists"};
  return {s, s == status::ok ? std::string() : std::string(message(s)) + file.refusal()};
}

}  // namespace

error back_up(mapping& from, const superblock& block, const std::string& path,
              detail::function_ref<status(image_copy&)> copy) try {
  auto refused = [&](const error& e) {
    return error{e.code, "cannot back up to " + path + ": " + e.message};
  };
  if (path.empty() || path.find('\0') != std::string::npos)
    return refused({status::invalid_argument, "that is no name of a file"});
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) == 0) return refused({status::exists, "it exists"});
  opening o;
  o.path = path;
  o.how.medium = o.mapped = medium_kind::file;
  o.block = block_for(path, block);
  mapping_request request;
  request.path = path;
  request.create = true;
  request.address_space_bytes = 2 * from.backed_bytes() + (std::uint64_t{64} << 30);
  auto map = mapping::open(request);
  if (!map) return refused(map.failure());
  image_copy to(from, **map);
  if (status s = copy(to); s != status::ok)
    return refused({s, std::string(message(s)) + (*map)->refusal()});
  std::byte* base = (*map)->base();
  std::memset(base + log_record_offset, 0, page_bytes);
  for (std::uint64_t offset : superblock_offsets)
    std::memcpy(base + offset, &o.block, sizeof o.block);
  auto root = read_root(base, (*map)->backed_bytes(), o.block, path);
  if (!root) return refused(root.failure());
  o.root = *root;
  o.map = std::move(*map);
  if (error e = recover(std::move(o)); e.code != status::ok) return refused(e);
  return {status::ok, {}};
} catch (const std::bad_alloc&) {
  return {status::out_of_memory, "cannot back up to " + path + ": no memory for the copy"};
}

}  // namespace durahash
