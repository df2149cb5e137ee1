#include "bench/device.hpp"

#include "durahash/gpu_memory.hpp"

namespace durahash::bench {
namespace {

class cuda_gpu final : public device {
 public:
  cuda_gpu(int number, std::string name) : number_(number), name_(std::move(name)) {}

  std::string name() const override { return name_; }
  result<gpu::map> open(const std::string& path, const options& how,
                        const gpu::device_options& on) override {
    return gpu::map::open(path, how, on);
  }
  result<gpu::table> open_rows(const std::string& path, const options& how,
                               const gpu::device_options& on) override {
    return gpu::table::open(path, how, on);
  }
  void* allocate(std::size_t bytes, array_place place) override {
    return place == array_place::host ? gpu::allocate_shared(bytes, number_)
                                      : gpu::allocate_on(number_, bytes);
  }
  void free(void* memory, array_place place) override {
    place == array_place::host ? gpu::free_shared(memory, number_) : gpu::free_on(number_, memory);
  }
  status copy(void* to, const void* from, std::size_t bytes) override {
    return gpu::copy_on(number_, to, from, bytes);
  }

 private:
  int number_;
  std::string name_;
};

}  // namespace

result<std::shared_ptr<device>> cuda_device(int number) {
  auto name = gpu::device_name(number);
  if (!name) return name.failure();
  return std::shared_ptr<device>(
      std::make_shared<cuda_gpu>(number, "cuda:" + std::to_string(number) + " " + *name));
}

}  // namespace durahash::bench
