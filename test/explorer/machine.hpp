// A machine of eight cache lines whose stores are recorded, and every image that the model allows
// when it stops now.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "explorer/images.hpp"
#include "explorer/tracer.hpp"
#include "persist/order.hpp"

namespace durahash::crash {

using word = pm<std::uint64_t>;
using image_bytes = std::string;  // of the whole medium
inline image_bytes text_of(const bytes& all) {
  return {reinterpret_cast<const char*>(all.data()), all.size()};
}
/// What chosen words hold, over all images.
using outcomes = std::set<std::vector<std::uint64_t>>;

/// All of the medium as one image leaves it.
inline image_bytes content_of(cache_model& model, const image& chosen) {
  image_bytes made = text_of(model.durable());
  for (choice c : chosen) {
    const line_content& line = model.pending().at(c.line).options[c.option].content;
    std::memcpy(&made[std::uint64_t{c.line} * line_bytes], line.data(), line_bytes);
  }
  return made;
}

/// Every image, each visited once, and counted rightly.
inline std::set<image_bytes> all_images(cache_model& model) {
  constexpr std::size_t no_limit = 1 << 20;
  std::set<image_bytes> found;
  std::set<std::uint64_t> hashes;
  std::mt19937_64 random(1);
  std::size_t visited = 0;
  legal_images legal = images_of(model, {.all_up_to = no_limit, .options_per_line = no_limit},
                                 random, [&](const image& chosen) {
                                   ++visited;
                                   found.insert(content_of(model, chosen));
                                   hashes.insert(hash_of(model, chosen));
                                   return true;
                                 });
  EXPECT_TRUE(legal.all);
  EXPECT_EQ(found.size(), visited) << "an image was visited twice";
  EXPECT_EQ(hashes.size(), visited) << "two images have one hash, or one image two";
  EXPECT_NEAR(std::pow(10, legal.log10), static_cast<double>(visited),
              1e-6 * static_cast<double>(visited));
  return found;
}

class recorded_machine : public scheduler {
 public:
  static constexpr std::size_t lines = 8;

  explicit recorded_machine(const elision* left_out = nullptr)
      : tracer_(region_, places_), medium_(tracer_) {
    region_.load(bytes(lines * line_bytes));
    before_ = region_.copy();
    tracer_.use(this);
    tracer_.write_to(&events_);
    tracer_.leave_out(left_out);
  }

  recording_medium<false>& medium() { return medium_; }
  region& memory() { return region_; }
  tracer& listener() { return tracer_; }
  places& sources() { return places_; }
  const trace& events() const { return events_; }

  word& at(std::size_t line, std::size_t index) {
    return *reinterpret_cast<word*>(region_.base() + line * line_bytes + index * sizeof(word));
  }
  std::byte* bytes_at(std::size_t line, std::size_t byte) {
    return region_.base() + line * line_bytes + byte;
  }

  /// What follows is done by this thread.
  recorded_machine& as(unsigned thread) {
    thread_ = thread;
    return *this;
  }

  cache_model model() const {
    cache_model made(before_);
    for (const event& e : events_) made.apply(e, places_);
    return made;
  }
  std::set<image_bytes> images() const {
    cache_model now = model();
    return all_images(now);
  }
  std::size_t count() const { return images().size(); }

  /// What these words hold in the images.
  outcomes of(const std::vector<const word*>& words) const {
    outcomes made;
    for (const image_bytes& i : images()) {
      std::vector<std::uint64_t> now;
      for (const word* w : words) {
        std::uint64_t value;
        std::memcpy(&value, &i[region_.offset_of(w)], sizeof value);
        now.push_back(value);
      }
      made.insert(now);
    }
    return made;
  }

  unsigned thread() override { return thread_; }
  void yield() override {}

 private:
  region region_;
  places places_;
  tracer tracer_;
  recording_medium<false> medium_;
  trace events_;
  bytes before_;
  unsigned thread_ = 0;
};

}  // namespace durahash::crash
