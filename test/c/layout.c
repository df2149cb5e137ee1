// The layout that programs were compiled with does not change within a major version: fields are
// added behind these alone, and a struct without a size stays as it is.
#include <durahash/durahash.h>

#define STANDS_AT(type, field, offset) \
  _Static_assert(offsetof(type, field) == (offset), "the field has moved")
#define HAS(type, bytes) _Static_assert(sizeof(type) == (bytes), "the struct has another size")

STANDS_AT(durahash_options, size, 0);
STANDS_AT(durahash_options, mode, 8);
STANDS_AT(durahash_options, engine, 12);
STANDS_AT(durahash_options, key, 16);
STANDS_AT(durahash_options, value, 20);
STANDS_AT(durahash_options, durability, 24);
STANDS_AT(durahash_options, medium, 28);
STANDS_AT(durahash_options, capacity, 32);
STANDS_AT(durahash_options, settings, 40);
STANDS_AT(durahash_options, setting_count, 48);
STANDS_AT(durahash_options, max_bytes, 56);
STANDS_AT(durahash_options, address_space_bytes, 64);
STANDS_AT(durahash_options, log_bytes, 72);
STANDS_AT(durahash_options, lag_milliseconds, 80);
STANDS_AT(durahash_options, salvage, 84);
STANDS_AT(durahash_options, flush_latency_ns, 88);
STANDS_AT(durahash_options, block_latency_ns, 92);
STANDS_AT(durahash_options, read_latency_ns, 96);
STANDS_AT(durahash_options, reserved, 100);
HAS(durahash_options, 104);

STANDS_AT(durahash_info, size, 0);
STANDS_AT(durahash_info, engine, 8);
STANDS_AT(durahash_info, key, 12);
STANDS_AT(durahash_info, value, 16);
STANDS_AT(durahash_info, durability, 20);
STANDS_AT(durahash_info, medium, 24);
STANDS_AT(durahash_info, format_version, 28);
STANDS_AT(durahash_info, records, 32);
STANDS_AT(durahash_info, slots, 40);
STANDS_AT(durahash_info, load_factor, 48);
STANDS_AT(durahash_info, file_bytes, 56);
STANDS_AT(durahash_info, live_bytes, 64);
STANDS_AT(durahash_info, free_bytes, 72);
STANDS_AT(durahash_info, clean, 80);
STANDS_AT(durahash_info, checkpoint_under_way, 84);
STANDS_AT(durahash_info, may_lack_last_moments, 88);
STANDS_AT(durahash_info, reserved, 92);
HAS(durahash_info, 96);

HAS(durahash_setting, 16);
STANDS_AT(durahash_setting, value, 8);

HAS(durahash_strings, 48);
STANDS_AT(durahash_strings, data, 0);
STANDS_AT(durahash_strings, stride, 8);
STANDS_AT(durahash_strings, offsets, 16);
STANDS_AT(durahash_strings, pointers, 24);
STANDS_AT(durahash_strings, lengths, 32);
STANDS_AT(durahash_strings, length, 40);

HAS(durahash_rows, 32);
STANDS_AT(durahash_rows, data, 0);
STANDS_AT(durahash_rows, stride, 8);
STANDS_AT(durahash_rows, capacity, 16);
STANDS_AT(durahash_rows, lengths, 24);

HAS(durahash_cursor, 16);
STANDS_AT(durahash_cursor, position, 0);
STANDS_AT(durahash_cursor, done, 8);

HAS(durahash_process, 32);
STANDS_AT(durahash_process, id, 0);
STANDS_AT(durahash_process, started_unix_seconds, 8);
STANDS_AT(durahash_process, command, 16);
STANDS_AT(durahash_process, writes, 24);

HAS(durahash_record, 32);
STANDS_AT(durahash_record, key, 0);
STANDS_AT(durahash_record, key_length, 8);
STANDS_AT(durahash_record, value, 16);
STANDS_AT(durahash_record, value_length, 24);

_Static_assert(sizeof(durahash_status) == 4, "a status is an int");
