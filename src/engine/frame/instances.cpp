// What of the frame depends on no medium, compiled once.
#include "engine/frame/live_record.hpp"
#include "engine/frame/rests.hpp"

namespace durahash {

template class hash_order<live_record>;
template class hash_order<keyed_record>;
template class rests_of_scans<word_records>;
template class rests_of_scans<byte_records>;
template class rests_of_scans<fixed_records>;

}  // namespace durahash
