#include "test/engine/instances.hpp"

template class durahash::heap<durahash::test::plain_medium>;
template class durahash::heap<durahash::test::hooked_medium>;
template class durahash::heap<durahash::test::probing_medium>;
template class durahash::heap<durahash::test::counted_medium>;
template class durahash::pool<durahash::test::plain_medium>;
template class durahash::pool<durahash::test::hooked_medium>;
template class durahash::pool<durahash::test::probing_medium>;
template class durahash::pool<durahash::test::counted_medium>;
