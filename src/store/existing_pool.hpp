// What lies in the file that an opening has mapped, and whether it may be believed.
#pragma once

#include "store/opening.hpp"

namespace durahash {

error refuse_contradictions(const opening& o, const superblock& block);
/// Its superblock, which is as asked for.
error read_pool(opening& o);
error read_root_of(opening& o);
/// A plain file that the machine went down with.
error refuse_torn(const opening& o);
/// A copy that was made while the pool was written has pages of many moments; one that was made
/// later looks the same. A file that is not known is not known to be the one that was written to.
error refuse_copy(const opening& o);
/// What is written over the file's bytes does not change what is noted beside them. Before an older
/// root is built on, it is noted.
error refuse_older_root(const opening& o);
/// A file that a power cut tore may lack its end, too: the page of the root was written back, and
/// the file's new length was not.
error refuse_cut_off(opening& o);
/// The root of a torn file may be older than what lies behind the end that it names. Salvage looks
/// at all of the file; what nothing reaches there is free.
void believe_file(opening& o);
/// Readers wait, too: what they would read is being written.
error await_owner(const opening& o);

}  // namespace durahash
