#include "metrics.hpp"

#include <algorithm>
#include <string>

#include "configuration.hpp"
#include "keyspace.hpp"
#include "settings.hpp"
#include "snapshot.hpp"

namespace durahash::server {
counters& the_counters() {
  static auto* one = new counters;
  return *one;
}

void show_metrics(RedisModuleInfoCtx* to, int for_crash_report) {
  RedisModule_InfoAddSection(to, "");
  keyspace& keys = the_keyspace();
  const counters& n = the_counters();
  const settings& s = the_settings();
  const auto figure = [&](const char* name, std::uint64_t value) {
    RedisModule_InfoAddFieldULongLong(to, name, value);
  };
  figure("tables", keys.tables());
  figure("spare_tables", for_crash_report != 0 ? 0 : keys.spares().count());
  figure("max_tables", s.max_tables);
  figure("max_records", s.max_records);
  figure("max_bytes", s.max_bytes);
  figure("reads_total", n.reads);
  figure("writes_total", n.writes);
  figure("refusals_total", n.refusals);
  figure("clients_waiting", static_cast<std::uint64_t>(std::max<std::int64_t>(n.waiting, 0)));
  figure("start_milliseconds", keys.start_milliseconds());
  figure("catalog_failures", keys.failures());
  figure("names_not_written", keys.unsettled());
  figure("diagnostics_total", n.diagnostics);
  figure("children_served", children_served());
  figure("evicts_any_key", evicts_any_key() ? 1 : 0);
  if (for_crash_report != 0) return;  // no system calls, no locks
  unsigned long long bytes = 0, records = 0, uncounted = 0;
  for (const table_ref& t : keys.all()) {
    bytes += t->file_bytes();
    if (t->counted()) records += t->size();
    else ++uncounted;
  }
  figure("records", records);
  figure("tables_uncounted", uncounted);
  figure("file_bytes", bytes);
}

}  // namespace durahash::server
