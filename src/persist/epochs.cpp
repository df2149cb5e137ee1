#include "persist/epochs.hpp"

#include <urcu/urcu-bp.h>

#include <cstddef>

namespace durahash {

epoch_guard::epoch_guard() noexcept { urcu_bp_read_lock(); }
epoch_guard::~epoch_guard() { urcu_bp_read_unlock(); }

namespace epochs {
namespace {

struct envelope {
  rcu_head head{};
  std::unique_ptr<retired_job> job;
};

}  // namespace

void after_readers(std::unique_ptr<retired_job> job) {
  auto* letter = new envelope{{}, std::move(job)};
  urcu_bp_call_rcu(&letter->head, [](rcu_head* head) {
    std::unique_ptr<envelope> opened(reinterpret_cast<envelope*>(reinterpret_cast<std::byte*>(head) - offsetof(envelope, head)));
    opened->job->run();
  });
}

void drain() { urcu_bp_barrier(); }

}  // namespace epochs
}  // namespace durahash
