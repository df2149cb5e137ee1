#include "gpu/cuda_backend.hpp"

#include "base/process_mark.hpp"

#pragma weak durahash_cuda_backend

namespace durahash::gpu {
namespace {

const cuda_backend* linked() noexcept { return &durahash_cuda_backend; }

error none() {
  return {status::unusable,
          "this build of durahash has no CUDA backend: build it where nvcc is, with "
          "-DDURAHASH_CUDA=ON, and link durahash::cuda"};
}

}  // namespace

result<std::unique_ptr<device>> cuda_device(int number) {
  if (linked() == nullptr) return none();
  return linked()->open(number);
}
result<std::string> device_name(int number) {
  if (linked() == nullptr) return none();
  return linked()->name(number);
}
void* allocate_shared(std::size_t bytes, int number) {
  return linked() == nullptr ? nullptr : linked()->allocate_shared(bytes, number);
}
void free_shared(void* memory, int number) {
  if (linked() != nullptr) linked()->free_shared(memory, number);
}
void* allocate_on(int number, std::size_t bytes) {
  return linked() == nullptr ? nullptr : linked()->allocate_on(number, bytes);
}
void free_on(int number, void* memory) {
  if (linked() != nullptr) linked()->free_on(number, memory);
}
status copy_on(int number, void* to, const void* from, std::size_t bytes) {
  return linked() == nullptr ? status::unusable : linked()->copy_on(number, to, from, bytes);
}

// ----------------------------------------------------------------------------------------- streams

stream make_stream(int number) {
  return linked() == nullptr ? nullptr : linked()->streams->make(number);
}
void free_stream(int number, stream made) {
  if (linked() != nullptr && made != nullptr) linked()->streams->free(number, made);
}
error wait_for_stream(int number, stream on) {
  return linked() == nullptr ? none() : linked()->streams->wait(number, on);
}
bool is_captured(int number, stream on) {
  return linked() != nullptr && linked()->streams->is_captured(number, on);
}
bool is_reached(int number, const void* memory, std::size_t bytes) {
  return linked() != nullptr && linked()->streams->is_reached(number, memory, bytes);
}

class mark::part {
 public:
  part(int number, void* event) : number_(number), event_(event) {}
  ~part() {
    if (is_ours()) linked()->streams->free_mark(number_, event_);
  }
  part(const part&) = delete;

  bool is_reached() const {
    return !is_ours() || linked()->streams->mark_is_reached(number_, event_);
  }
  error wait() const {
    return is_ours() ? linked()->streams->wait_for_mark(number_, event_) : error{status::ok, {}};
  }

 private:
  /// A child has no device.
  bool is_ours() const { return *set_by_ != 0; }

  const volatile unsigned char* set_by_ = this_process_mark();
  int number_;
  void* event_;
};

mark::mark(std::unique_ptr<part> made) : part_(std::move(made)) {}
mark::mark(mark&&) noexcept = default;
mark& mark::operator=(mark&&) noexcept = default;
mark::~mark() = default;

result<mark> mark::set(int number, stream on) {
  if (linked() == nullptr) return none();
  auto event = linked()->streams->set_mark(number, on);
  if (!event) return event.failure();
  return mark(std::make_unique<part>(number, *event));
}
bool mark::is_reached() const { return part_ == nullptr || part_->is_reached(); }
error mark::wait() const { return part_ == nullptr ? error{status::ok, {}} : part_->wait(); }

}  // namespace durahash::gpu
