// Records of a table for whoever writes them out: an RDB file, a full synchronisation, a rewrite of
// the AOF, DUMP.
//
// The server writes snapshots in a child (fork), where a table's handle answers `forked`: versions
// and epochs are the parent's. So the child asks its parent. Each fork gets a pair of sockets, and
// each child a thread in the parent, which scans tables beside the writers and sends what it finds.
//   - What is sent is not one moment's: a record that is written meanwhile comes old or new. That
//     is enough for a replica, which gets every write since the fork behind it.
//   - The event loop never waits for it: the thread waits where the child is slow.
//   - A child that dies closes its end; the thread drops what it holds, and ends.
//   - A parent that dies, or a table that cannot be read, ends the child: half a table is no file.
//   - Tables that are deleted meanwhile are kept until the child has ended.
#pragma once

#include <functional>
#include <string_view>

#include "hosted_table.hpp"

namespace durahash::server {

/// Prepares for children; once, when the module is loaded.
void watch_for_children();

using record_visitor = std::function<void(std::string_view key, std::string_view value)>;

/// Visits all records, from the process that has the table or from a child of it.
/// Returns   false where the table could not be read to its end, in the server's own process. In a
///           child that ends the process, so that the server refuses the file.
bool visit_records(hosted_table& table, const record_visitor& visit);

/// Children that are served at this moment.
unsigned children_served() noexcept;

}  // namespace durahash::server
