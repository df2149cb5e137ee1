#include "damage.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "base/bits.hpp"
#include "persist/format.hpp"
#include "random.hpp"
#include "scratch.hpp"
#include "subject.hpp"

namespace durahash::test {

std::string image_value(const setup& with, std::uint64_t n) {
  return long_value(with, n + 1, 8 + mixed(n) % 60);
}

std::string pool_image(const setup& with, std::uint64_t count) {
  scratch_folder folder;
  std::string path = folder.file("pool");
  auto opened = open_subject(with, path, with.create_options());
  if (!opened) throw std::runtime_error(opened.failure().message);
  for (std::uint64_t n = 0; n < count; ++n)
    if ((*opened)->put(nth_key(with, n), image_value(with, n)) != status::ok)
      throw std::runtime_error("cannot fill the pool");
  // A few erased records, so that there are deleted slots and free cells.
  for (std::uint64_t n = count; n < count + count / 10; ++n)
    (*opened)->put(nth_key(with, n), image_value(with, n));
  for (std::uint64_t n = count; n < count + count / 10; ++n) (*opened)->erase(nth_key(with, n));
  if ((*opened)->pool().close() != status::ok) throw std::runtime_error("cannot close the pool");
  return read_file(path);
}

damage::damage(const std::string& image) {
  auto add = [&](std::uint64_t offset, std::uint64_t bytes) {
    for (std::uint64_t i = 0; i < bytes; ++i) superblock_bytes_.push_back(offset + i);
  };
  for (std::uint64_t offset : superblock_offsets) add(offset, sizeof(superblock));
  add(selector_offset, sizeof(std::uint64_t));
  for (std::uint64_t offset : root_offsets) add(offset, sizeof(root_record));
  for (std::uint64_t line = 0; line + line_bytes <= image.size(); line += line_bytes)
    if (std::any_of(image.begin() + static_cast<std::ptrdiff_t>(line),
                    image.begin() + static_cast<std::ptrdiff_t>(line + line_bytes),
                    [](char c) { return c != 0; }))
      used_lines_.push_back(line);
}

std::string damage::apply(std::uint64_t which, std::uint64_t seed, std::string& copy) const {
  random_stream random(mixed(seed) ^ which);
  auto flip = [&](std::uint64_t at) {
    unsigned bit = static_cast<unsigned>(random.below(8));
    copy.at(at) = static_cast<char>(copy[at] ^ (1 << bit));
    return "bit " + std::to_string(bit) + " of byte " + std::to_string(at) + " flipped";
  };
  if (which < superblock_bytes_.size()) return flip(superblock_bytes_[which]);
  which -= superblock_bytes_.size();
  if (which < anywhere) {
    std::uint64_t at =
        random.one_in(5) ? random.below(copy.size())
                         : used_lines_[random.below(used_lines_.size())] + random.below(line_bytes);
    if (!random.one_in(3)) return flip(at);
    at = at / 8 * 8;
    // of any magnitude: a small one may pass for an offset
    std::uint64_t word = random.next() >> random.below(64);
    std::memcpy(copy.data() + at, &word, std::min<std::size_t>(sizeof word, copy.size() - at));
    return "word at " + std::to_string(at) + " set to " + std::to_string(word);
  }
  std::uint64_t page = align_down(used_lines_[random.below(used_lines_.size())], page_bytes);
  auto begin = copy.begin() + static_cast<std::ptrdiff_t>(page);
  auto end = copy.begin() +
             static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(copy.size(), page + page_bytes));
  bool zeros = random.one_in(2);
  std::generate(begin, end, [&] { return zeros ? char{0} : static_cast<char>(random.next()); });
  return "page at " + std::to_string(page) + (zeros ? " zeroed" : " overwritten with noise");
}

}  // namespace durahash::test
