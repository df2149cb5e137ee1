#include "saved_state.hpp"

#include <cstring>
#include <stdexcept>

#include "base/hash.hpp"
#include "patched_pool.hpp"
#include "persist/size_class.hpp"
#include "random.hpp"
#include "scratch.hpp"
#include "subject.hpp"

namespace durahash::test {

// ------------------------------------------------------------------------------------------ a pool

/// Some have extents of their own.
std::string saved_state_pool::value(const setup& with, std::uint64_t n) {
  return long_value(with, n + 1, n % 100 == 99 ? 33'000 + n * 20 : 8 + mixed(n) % 900);
}

std::string saved_state_pool::image(const setup& with) {
  scratch_folder folder;
  std::string path = folder.file("pool");
  auto opened = open_subject(with, path, with.create_options());
  if (!opened) throw std::runtime_error(opened.failure().message);
  for (std::uint64_t n = 0; n < 2 * records; ++n)
    if ((*opened)->put(nth_key(with, n), value(with, n)) != status::ok)
      throw std::runtime_error("cannot fill the pool");
  for (std::uint64_t n = records; n < 2 * records; ++n) (*opened)->erase(nth_key(with, n));
  if ((*opened)->pool().close() != status::ok) throw std::runtime_error("cannot close the pool");
  return read_file(path);
}

// ----------------------------------------------------------------------------------------- damages

saved_state_damage::saved_state_damage(const std::string& image) {
  const root_record root = root_in(image);
  if (root.state != pool_state::clean || root.heap_state_offset == 0)
    throw std::runtime_error("the pool's close has saved nothing");
  pool_bytes_ = root.pool_bytes;
  at_ = root.heap_state_offset;
  words_ = root.heap_state_bytes / 8;
  saved_.resize(words_);
  std::memcpy(saved_.data(), image.data() + at_, words_ * 8);
  is_structure_.assign(words_, false);
  std::uint64_t at = 0;
  auto next = [&] { return is_structure_.at(at) = true, saved_.at(at++); };
  const std::uint64_t slabs = next(), extents = next();
  if (slabs < 3 || extents == 0) throw std::runtime_error("the pool's heap has too little in it");
  for (std::uint64_t n = 0; n < extents; ++n) places_.push_back(next()), next();
  for (std::uint64_t n = 0; n < slabs; ++n) {
    places_.push_back(next());
    at += (slab_bytes / next() + 63) / 64;
  }
  if (at != words_) throw std::runtime_error("the saved state is not what format.md says");
}

bool saved_state_damage::is_tried(std::uint64_t which, std::uint64_t seed) const {
#ifdef DURAHASH_SANITIZED
  constexpr std::uint64_t one_in = 32;
#else
  constexpr std::uint64_t one_in = 4;
#endif
  const std::uint64_t word = which / numbers;
  const bool bits = word < words_ && !is_structure_[word];
  return long_run() || mixed(seed ^ which) % (bits ? 8 * one_in : one_in) == 0;
}

bool saved_state_damage::is_sealed(std::uint64_t which) const { return mixed(which) % 8 != 0; }

/// A number at which arithmetic goes wrong, or one that could be there.
std::uint64_t saved_state_damage::number(std::uint64_t which, std::uint64_t word,
                                         std::uint64_t random) const {
  const std::uint64_t place = places_[random % places_.size()];
  switch (which % numbers) {
    case 0: return 0;
    case 1: return 1;
    case 2: return ~std::uint64_t{0};
    case 3: return ~std::uint64_t{0} - 1;
    case 4: return ~std::uint64_t{0} - 15;
    case 5: return std::uint64_t{1} << 63;
    case 6: return std::uint64_t{1} << 32;
    case 7: return pool_bytes_;
    case 8: return pool_bytes_ - 8;
    case 9: return pool_bytes_ + 8;
    case 10: return pool_bytes_ - slab_bytes;
    case 11: return ~std::uint64_t{0} - pool_bytes_ + 1;
    case 12: return word + 1;
    case 13: return word - 1;
    case 14: return word + 16;
    case 15: return word + page_bytes;
    case 16: return word + slab_bytes;
    case 17: return word - slab_bytes;
    case 18: return word ^ std::uint64_t{1} << random % 64;
    case 19: return place;
    case 20: return place + slab_bytes;
    case 21: return saved_[random % saved_.size()];
    case 22: return ~word;
    default: return random >> (random & 63);  // of any magnitude
  }
}

std::string saved_state_damage::apply(std::uint64_t which, std::uint64_t seed,
                                      std::string& copy) const {
  random_stream random(mixed(seed) ^ which);
  root_record root = root_in(copy);
  std::string told;
  auto set = [&](std::uint64_t index, std::uint64_t chosen) {
    std::uint64_t made = number(chosen, saved_[index], random.next());
    std::memcpy(copy.data() + at_ + index * 8, &made, sizeof made);
    told += "word " + std::to_string(index) + " of " + std::to_string(words_) + ": " +
            std::to_string(made) + " instead of " + std::to_string(saved_[index]) + "; ";
  };
  const std::uint64_t place = which / numbers;
  if (place < words_) {
    set(place, which);
  } else if (place < words_ + fields) {
    std::uint64_t* const of_root[fields] = {&root.heap_state_offset, &root.heap_state_bytes,
                                            &root.heap_state_checksum};
    std::uint64_t& field = *of_root[place - words_];
    field = number(which, field, random.next());
    told = "the root's field " + std::to_string(place - words_) + ": " + std::to_string(field);
  } else {
    for (std::uint64_t n = 2 + random.below(3); n > 0; --n)
      set(random.below(random.one_in(2) ? 20 : words_) % words_, random.next());
  }
  const std::uint64_t from = root.heap_state_offset, bytes = root.heap_state_bytes;
  if (is_sealed(which) && from <= copy.size() && bytes <= copy.size() - from)
    root.heap_state_checksum = checksum(copy.data() + from, bytes);
  put_root(copy, root);
  return told + (is_sealed(which) ? "sealed" : "with a wrong checksum");
}

}  // namespace durahash::test
