// What a reader beside the writer of a pool on a disk looks at: an image that gets its pages when
// they are looked at, and that makes what is read durable itself.
#pragma once

#include "disk/followed_mapping.hpp"
#include "media/medium.hpp"

namespace durahash {

class followed_medium : public direct_access {
 public:
  static constexpr bool visible_is_durable = true;
  explicit followed_medium(followed_mapping& image) : image_(&image) {}

  template <class T>
  T read(const T* at) const noexcept {
    image_->see(at, sizeof(T));
    return direct_access::read(at);
  }
  void will_read(const void* at, std::size_t bytes) const noexcept {
    if (bytes != 0) image_->see(at, bytes);
  }
  template <class Look>
  status look_at_one_moment(Look&& look) {
    return image_->look_at_one_moment(look);
  }
  void flush(const void*, std::size_t) noexcept {}
  void fence() noexcept {}
  media_counts counts() const { return {}; }

 private:
  followed_mapping* image_;
};

static_assert(medium<followed_medium>);

}  // namespace durahash
