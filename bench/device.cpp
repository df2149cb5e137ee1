#include "bench/device.hpp"

#include "durahash/gpu_memory.hpp"

namespace durahash::bench {
namespace {

class cuda_gpu final : public device {
 public:
  explicit cuda_gpu(std::string name) : name_(std::move(name)) {}

  std::string name() const override { return name_; }
  result<gpu::map> open(const std::string& path, const options& how, const gpu::device_options& on) override { return gpu::map::open(path, how, on); }
  void* allocate(std::size_t bytes) override { return gpu::allocate_shared(bytes); }
  void free(void* memory) override { gpu::free_shared(memory); }

 private:
  std::string name_;
};

}  // namespace

result<std::shared_ptr<device>> cuda_device(int number) {
  auto name = gpu::device_name(number);
  if (!name) return name.failure();
  return std::shared_ptr<device>(std::make_shared<cuda_gpu>("cuda:" + std::to_string(number) + " " + *name));
}

}  // namespace durahash::bench
