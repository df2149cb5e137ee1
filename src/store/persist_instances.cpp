#include "store/persist_instances.hpp"

namespace durahash {

template class pool<process_medium>;
template class pool<pmem_medium>;
template class heap<process_medium>;
template class heap<pmem_medium>;

}  // namespace durahash
