#include "store/backup.hpp"

#include <sys/stat.h>

#include <cstring>
#include <ctime>
#include <memory>
#include <new>
#include <utility>

#include "base/random.hpp"
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

error refused(const std::string& path, const error& e) {
  return {e.code, "cannot back up to " + path + ": " + e.message};
}

/// A file without a name, for a copy of a pool of so many bytes.
result<opening> begin(const std::string& path, const superblock& block, std::uint64_t bytes) {
  if (path.empty() || path.find('\0') != std::string::npos)
    return error{status::invalid_argument, "that is no name of a file"};
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) == 0) return error{status::exists, "it exists"};
  opening o;
  o.path = path;
  o.how.medium = o.mapped = medium_kind::file;
  o.block = block_for(path, block);
  mapping_request request;
  request.path = path;
  request.create = true;
  request.address_space_bytes = 2 * bytes + (std::uint64_t{64} << 30);
  auto map = mapping::open(request);
  if (!map) return map.failure();
  o.map = std::move(*map);
  return o;
}

/// The engine opens it, recovering what is there; `put_all`; then a clean close, and the name.
error finish(opening o, detail::function_ref<status(opened&)> put_all) {
  mapping& file = *o.map;
  const engine_entry* entry = find_engine(o.block.engine);
  if (entry == nullptr) return {status::unusable, "its engine is not in this build"};
  auto made = entry->on_process(std::move(o), std::make_unique<process_medium>());
  if (!made) return made.failure();
  detail::any_table& copy = made->words ? static_cast<detail::any_table&>(*made->words)
                                        : static_cast<detail::any_table&>(*made->bytes);
  status s = put_all(*made);
  if (s == status::ok) s = copy.close();
  if (s == status::ok) s = file.write_to_disk(0, file.backed_bytes());
  if (s == status::ok) s = file.appear();
  if (s == status::exists) return {s, "it exists"};
  return {s, s == status::ok ? std::string() : std::string(message(s)) + file.refusal()};
}

/// Runs it, and tells of what it refuses.
template <class Run>
error copying(const std::string& path, Run&& run) try {
  const error e = run();
  return e.code == status::ok ? e : refused(path, e);
} catch (const std::bad_alloc&) {
  return {status::out_of_memory, "cannot back up to " + path + ": no memory for the copy"};
}

}  // namespace

error back_up(mapping& from, const superblock& block, const std::string& path,
              detail::function_ref<status(image_copy&)> copy) {
  return copying(path, [&]() -> error {
    auto o = begin(path, block, from.backed_bytes());
    if (!o) return o.failure();
    mapping& file = *o->map;
    image_copy to(from, file);
    if (status s = copy(to); s != status::ok) return {s, std::string(message(s)) + file.refusal()};
    std::memset(file.base() + log_record_offset, 0, page_bytes);
    for (std::uint64_t offset : superblock_offsets)
      std::memcpy(file.base() + offset, &o->block, sizeof o->block);
    auto root = read_root(file.base(), file.backed_bytes(), o->block, path);
    if (!root) return root.failure();
    o->root = *root;
    return finish(std::move(*o), [](opened&) { return status::ok; });
  });
}

error back_up_records(const superblock& block, std::uint64_t bytes, const std::string& path,
                      detail::function_ref<status(opened&)> put_all) {
  return copying(path, [&]() -> error {
    superblock copied = block;
    fill_random(copied.uuid.data(), copied.uuid.size());
    // records come in the order of the old hashes: by the same ones they would fill a part of the
    // table after the other, and no table grows that is so empty
    copied.seed_flip = random_word(), copied.seed_multiply = random_word() | 1;
    copied.created_unix_seconds = static_cast<std::uint64_t>(std::time(nullptr));
    auto o = begin(path, copied, bytes);
    if (!o) return o.failure();
    o->creating = true, o->appears = false;
    return finish(std::move(*o), put_all);
  });
}

}  // namespace durahash
