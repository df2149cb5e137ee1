#include "sound_pool.hpp"

#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <utility>

#include "durahash/table.hpp"
#include "persist/format.hpp"

namespace durahash::fuzz {
namespace {

void require(status answer, const char* what) {
  if (answer != status::ok)
    throw std::runtime_error(std::string(what) + ": " + std::string(message(answer)));
}

std::string file_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool is_zero_word(const std::string& bytes, std::size_t at) {
  std::uint64_t word;
  std::memcpy(&word, bytes.data() + at, sizeof word);
  return word == 0;
}

/// A word of 0 beside one that is not is as interesting: it may be a count, an end, an empty slot.
std::vector<std::size_t> interesting_words(const std::string& bytes) {
  std::vector<std::size_t> found;
  bool neighbour = false;
  for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
    bool zero = is_zero_word(bytes, at);
    if (!zero || neighbour) found.push_back(at);
    neighbour = !zero;
  }
  return found;
}

sound_pool snapshot(const std::string& path, engine_kind engine, data_kind key, data_kind value,
                    std::size_t key_bytes, bool clean) {
  sound_pool made;
  made.name = std::string(name_of(engine)) + " " + std::string(name_of(key)) + "/" +
              std::string(name_of(value)) +
              (key_bytes != 0 ? ", keys of " + std::to_string(key_bytes) : "") +
              (clean ? ", closed" : ", killed");
  made.key = key;
  made.value = value;
  made.clean = clean;
  made.bytes = file_bytes(path);
  name_the_file(made.bytes, 0);  // they are the same in every process
  made.words = interesting_words(made.bytes);
  return made;
}

/// Inserts, updates and erases, so that every state of a slot occurs.
void fill(table& t, data_kind kind, data_kind value, std::size_t key_bytes) {
  auto key = [&](std::uint64_t n) { return nth_key(kind, n, key_bytes); };
  for (std::uint64_t n = 0; n < sound_records + 20; ++n)
    require(t.put(key(n), nth_value(value, n + 7)), "put");
  for (std::uint64_t n = 0; n < sound_records; ++n)
    require(t.put(key(n), nth_value(value, n)), "put again");
  for (std::uint64_t n = sound_records; n < sound_records + 20; ++n)
    require(t.erase(key(n)), "erase");
}

/// Takes the chance out of a pool without records: the same input must mean the same damage in
/// every process.
void fix_what_was_drawn(const std::string& path) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  superblock block;
  file.read(reinterpret_cast<char*>(&block), sizeof block);
  block.seed_flip = 0x0123456789abcdef;
  block.seed_multiply = 0x9e3779b97f4a7c15;
  block.uuid.fill(7);
  block.created_unix_seconds = 1'700'000'000;
  block = sealed(block);
  for (std::uint64_t at : superblock_offsets)
    file.seekp(static_cast<std::streamoff>(at))
        .write(reinterpret_cast<const char*>(&block), sizeof block);
  if (!file.flush()) throw std::runtime_error("cannot rewrite " + path);
}

table opened(const std::string& path, options how) {
  auto made = table::open(path, how);
  if (!made) throw std::runtime_error(made.failure().message);
  return std::move(*made);
}

void add_pools(std::vector<sound_pool>& pools, const std::string& path, engine_kind engine,
               data_kind key, data_kind value, std::size_t key_bytes = 0) {
  options how;
  how.engine = engine;
  // small: there are many
  if (engine == engine_kind::cceh)
    how.settings = {{"segment", 3}, {"probe", 2}, {"copy_on_write", key == value}};
  if (engine == engine_kind::level)
    how.settings = {{"slots", key == value ? 7 : 3}, {"in_place", key == value}};
  if (engine == engine_kind::gphash && key == value) how.settings = {{"levels", 1}, {"slots", 4}};
  if (key_bytes != 0) how.settings = {{"key_bytes", key_bytes}};
  how.mode = open_mode::create_new;
  how.key = key;
  how.value = value;
  how.medium = medium_kind::file;
  how.capacity = 64;
  require(opened(path, how).close(), "close the new pool");
  fix_what_was_drawn(path);

  how.mode = open_mode::open_existing;
  table t = opened(path, how);
  fill(t, key, value, key_bytes);
  pools.push_back(snapshot(path, engine, key, value, key_bytes, false));
  require(t.close(), "close");
  pools.push_back(snapshot(path, engine, key, value, key_bytes, true));
}

}  // namespace

std::string nth_key(data_kind kind, std::uint64_t n, std::size_t key_bytes) {
  if (key_bytes != 0) {
    std::string key = "key " + std::to_string(n);
    return key + std::string(key_bytes - key.size(), static_cast<char>('a' + n % 26));
  }
  if (kind == data_kind::bytes)
    return n == 0 ? "" : "key " + std::to_string(n) + std::string(n % 40, 'k');
  std::uint64_t word = n == 1 ? ~std::uint64_t{0} : n * 0x9e3779b97f4a7c15u;  // 0 is a key too
  return {reinterpret_cast<const char*>(&word), sizeof word};
}

void name_the_file(std::string& bytes, std::uint32_t mark) {
  for (std::uint64_t offset : root_offsets) {
    if (bytes.size() < offset + sizeof(root_record)) return;
    root_record root;
    std::memcpy(&root, bytes.data() + offset, sizeof root);
    if (root.file_mark == mark || root.checksum != sealed(root).checksum) continue;
    root.file_mark = mark;
    root = sealed(root);
    std::memcpy(bytes.data() + offset, &root, sizeof root);
  }
}

std::string nth_value(data_kind kind, std::uint64_t n) {
  if (kind == data_kind::u64) return {reinterpret_cast<const char*>(&n), sizeof n};
  std::size_t length = n % 50 == 3 ? 20'000 : n % 7 * 30;
  return "value " + std::to_string(n) + std::string(length, static_cast<char>('a' + n % 26));
}

std::vector<sound_pool> make_sound_pools() {
  auto folder = std::filesystem::is_directory("/dev/shm") ? std::filesystem::path("/dev/shm")
                                                          : std::filesystem::temp_directory_path();
  std::string path = (folder / ("durahash-fuzz-" + std::to_string(::getpid()) + ".dh")).string();
  std::vector<sound_pool> made;
  for (engine_kind engine : all_engines())
    for (data_kind key : {data_kind::u64, data_kind::bytes})
      for (data_kind value : {data_kind::u64, data_kind::bytes}) {
        add_pools(made, path, engine, key, value);
        std::filesystem::remove(path);
      }
  add_pools(made, path, engine_kind::gphash, data_kind::bytes, data_kind::bytes, 24);
  std::filesystem::remove(path);
  return made;
}

const std::vector<sound_pool>& sound_pools() {
  static const std::vector<sound_pool> pools = make_sound_pools();
  return pools;
}

}  // namespace durahash::fuzz
