#include "media/pmem_medium.hpp"

namespace durahash {

[[gnu::cold]] void pmem_medium::flush_otherwise(const void* at, std::size_t bytes) noexcept {
  if (log_ != nullptr) return log_->flush(at, bytes);
  for_each_line(at, bytes, [this](const void* line) { write_back(how_, line); });
}

}  // namespace durahash
