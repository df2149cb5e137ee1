#include "memory.hpp"

#include <durahash/gpu_memory.hpp>

namespace durahash::python {
namespace {

void require(const error& e) {
  if (e.code != status::ok) raise(e.code, e.message);
}
/// Where there is no memory or stream: the device may be none, which has its own words.
[[noreturn]] void raise_lack(int number, const std::string& of_what) {
  result<std::string> name = [&] {
    require_devices();
    without_gil others;
    return gpu::device_name(number);
  }();
  if (!name) raise(name.failure().code, name.failure().message);
  raise(status::out_of_memory,
        "the CUDA device " + std::to_string(number) + " (" + *name + ") has no " + of_what);
}

}  // namespace

device_memory::device_memory(std::size_t bytes, int number, bool pinned)
    : bytes_(bytes), number_(number), pinned_(pinned) {
  const std::size_t most = bytes == 0 ? 1 : bytes;  // an empty array lies somewhere, too
  {
    require_devices();
    without_gil others;
    memory_ = pinned ? gpu::allocate_shared(most, number) : gpu::allocate_on(number, most);
  }
  if (memory_ == nullptr)
    raise_lack(number,
               std::to_string(bytes) + " bytes of " + (pinned ? "pinned " : "") + "memory left");
}
device_memory::~device_memory() {
  // The GIL is kept, though this may wait for kernels: an end has no way out for a thread without.
  if (is_forked()) return;
  pinned_ ? gpu::free_shared(memory_, number_) : gpu::free_on(number_, memory_);
}

device_stream::device_stream(int number) : number_(number) {
  {
    require_devices();
    without_gil others;
    made_ = gpu::make_stream(number);
  }
  if (made_ == nullptr) raise_lack(number, "stream left");
}
device_stream::~device_stream() {
  if (is_forked()) return;
  gpu::free_stream(number_, made_);
}

moment::moment(int number, address on) {
  auto set = [&] {
    require_devices();
    without_gil others;
    return gpu::mark::set(number, stream_of(on));
  }();
  if (!set) raise(set.failure().code, set.failure().message);
  mark_.emplace(std::move(*set));
}
void moment::wait() const {
  require([&] {
    require_devices();
    without_gil others;
    return mark_->wait();
  }());
}

std::vector<std::size_t> lent::shape() const {
  std::vector<std::size_t> made(array_.ndim());
  for (std::size_t i = 0; i < made.size(); ++i) made[i] = array_.shape(i);
  return made;
}
bool lent::is_contiguous() const {
  if (array_.size() == 0) return true;
  std::int64_t wanted = 1;
  for (std::size_t i = array_.ndim(); i-- > 0;) {
    if (array_.shape(i) != 1 && array_.stride(i) != wanted) return false;
    wanted *= static_cast<std::int64_t>(array_.shape(i));
  }
  return true;
}
nb::tuple lent::element() const {
  const nb::dlpack::dtype is = array_.dtype();
  return nb::make_tuple(is.code, is.bits, is.lanes);
}
nb::tuple lent::device() const { return nb::make_tuple(array_.device_type(), array_.device_id()); }

nb::object lend(nb::handle owner, address where, const std::vector<std::size_t>& shape, int code,
                int bits, int kind, int number) {
  const nb::dlpack::dtype of{static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(bits), 1};
  return nb::cast(
      nb::ndarray<>(at<void>(where), shape.size(), shape.data(), owner, nullptr, of, kind, number));
}

void copy(int number, address to, address from, std::size_t bytes) {
  const status s = [&] {
    require_devices();
    without_gil others;
    return gpu::copy_on(number, at<void>(to), at<const void>(from), bytes);
  }();
  if (s != status::ok)
    raise(s, "cannot copy " + std::to_string(bytes) + " bytes by the CUDA device " +
                 std::to_string(number));
}
void wait_for(int number, address on) {
  require([&] {
    require_devices();
    without_gil others;
    return gpu::wait_for_stream(number, stream_of(on));
  }());
}

}  // namespace durahash::python
