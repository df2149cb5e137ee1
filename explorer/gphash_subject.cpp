#include <array>

#include "engine/gphash/beside.hpp"
#include "engine/gphash/table.hpp"
#include "explorer/engine_subject.hpp"
#include "explorer/leased_rows_table.hpp"
#include "explorer/subjects.hpp"

namespace durahash::crash {
namespace {

// of two slots' keys one lies in the line of its state, the other one does not
constexpr std::size_t fixed_bytes = 32;

const std::string by_a_device = "by a device", by_a_device_apart = "by a device, values apart",
                  by_a_device_few_keys = "by a device, keys of escape slots",
                  by_a_device_copies = "by a device, with copies",
                  killed_device = "by a device that dies in a kernel",
                  in_its_memory = "by a device, in its own memory",
                  rows_by_a_device = "rows on a device",
                  rows_killed_device = "rows on a device that dies in a kernel";

/// One of two insertions of a key finds the other's.
threaded_program a_key_twice() {
  operation other{act::put, {3}, 1}, insert{act::insert, {4}, 2}, insert_too{act::insert, {4}, 3},
      seek{act::get, {4}, 0};
  return {{{other}, 5}, {{insert, seek}, {insert_too, seek}}};
}

/// A table of four buckets with two slots each, one of them full. Who finds it so has the table
/// grow beside an update, a removal and an insertion in the others.
threaded_program written_while_growing() {
  const gphash::mixer mixture(explored_seeds);
  std::array<std::vector<key_number>, 1u << gphash::min_bottom> keys;
  for (key_number n = 4; n < 40; ++n)  // those before are special
    keys[mixture.mix(word_key(n)) >> (64 - gphash::min_bottom)].push_back(n);
  const key_number updated = keys[0][0], removed = keys[1][0], added = keys[2][0];
  const std::vector<key_number>& crowd = keys[3];
  threaded_program made;
  for (key_number k : {updated, removed, crowd[0], crowd[1]})
    made.first.operations.push_back({act::put, {k}, 1});
  made.first.keys = 40;
  made.threads = {{{act::insert, {crowd[2]}, 2}},
                  {{act::update, {updated}, 3}, {act::erase, {removed}, 0}},
                  {{act::insert, {added}, 4}}};
  return made;
}

/// A load of the cache goes on beside a write: it is over before, during, or after that.
threaded_program a_copy_opens() {
  operation first{act::put, {4}, 1}, seek{act::get, {4}, 0}, update{act::update, {4}, 2};
  return {{{first}, 5}, {{seek, seek, seek}, {update, seek}}};
}

/// A key that lies in the bucket of another one.
template <class HashOf>
key_number rival_of(key_number hot, HashOf hash_of) {
  auto bucket = [&](key_number n) { return hash_of(n) >> (64 - gphash::min_bottom); };
  auto rival = static_cast<key_number>(hot + 1u);
  while (bucket(rival) != bucket(hot)) ++rival;
  return rival;
}

/// A slot is another key's for a while, and the first one's again: who looks for that one meanwhile
/// must not take the other's value for its own.
threaded_program a_slot_lent(act read = act::get) {
  const gphash::mixer mixture(explored_seeds);
  key_number hot = 4, rival = rival_of(hot, [&](key_number n) { return mixture.mix(word_key(n)); });
  operation first{act::put, {hot}, 1}, seek{read, {hot}, 0};
  operation leave{act::erase, {hot}, 0}, lend{act::put, {rival}, 2},
      give_back{act::erase, {rival}, 0}, again{act::put, {hot}, 3};
  return {{{first}, static_cast<key_number>(rival + 1u)},
          {{seek}, {leave, lend}, {give_back, again}}};
}

/// The slot is another key's behind the moment in which a reader has compared the key in it. Long
/// values besides, in other buckets: of a small heap the one record that is removed is so large a
/// part that the writer would wait for the reader.
threaded_program a_slot_given_away(act read = act::get) {
  key_number hot = 4, rival = rival_of(hot, [](key_number n) {
                        return bytes_hash(fixed_key(n, fixed_bytes), explored_seeds);
                      });
  constexpr std::uint32_t long_value = 10;
  operation others{act::put_many, {2, 3, 5, 6, 8}, long_value}, first{act::put, {hot}, 1};
  operation seek{read, {hot}, 0}, leave{act::erase, {hot}, 0}, move_in{act::put, {rival}, 2};
  return {{{others, first}, static_cast<key_number>(rival + 1u)}, {{seek}, {leave, move_in}}};
}

std::unique_ptr<subject> make_gphash(const subject_kind& kind, region& r, tracer& t, bool create,
                                     std::string& why_not) {
  using power = recording_medium<false>;
  using process = recording_medium<true>;
  if (kind.variant == killed_device && kind.level == durability_level::power)
    return make_subject<leased_table<power, loose_side<power>>, power>(kind, r, t, create, why_not);
  if (kind.variant == in_its_memory && kind.level == durability_level::power)
    return make_subject<leased_table<power, side_of_a_mirror>, power>(kind, r, t, create, why_not);
  if (kind.variant == in_its_memory)
    return make_subject<leased_table<process, side_of_a_mirror>, process>(kind, r, t, create,
                                                                          why_not);
  if (kind.variant == rows_killed_device && kind.level == durability_level::power)
    return make_subject<leased_rows_table<power, loose_side<power>>, power>(kind, r, t, create,
                                                                            why_not);
  if (kind.variant.starts_with(rows_by_a_device))
    return kind.level == durability_level::power
               ? make_subject<leased_rows_table<power>, power,
                              gphash::beside<power, fixed_records>>(kind, r, t, create, why_not)
               : make_subject<leased_rows_table<process>, process,
                              gphash::beside<process, fixed_records>>(kind, r, t, create, why_not);
  if (kind.settings.contains("key_bytes"))
    return make_either<gphash::table, fixed_records, gphash::beside>(kind, r, t, create, why_not);
  if (!kind.variant.starts_with(by_a_device))
    return make_any<gphash::table, gphash::beside>(kind, r, t, create, why_not);
  if (kind.level == durability_level::power)
    return make_subject<leased_table<power>, power, gphash::beside<power, word_records>>(
        kind, r, t, create, why_not);
  return make_subject<leased_table<process>, process, gphash::beside<process, word_records>>(
      kind, r, t, create, why_not);
}

}  // namespace

explored_engine gphash_subject() {
  // Warps of a device at once are explored where visible is durable: elsewhere a find beside a
  // commit may see what it makes durable.
  return {engine_kind::gphash,
          make_gphash,
          {with_readers({"",
                         {{"levels", 1}, {"hashes", 1}, {"slots", 2}},
                         std::nullopt,
                         durability_level::power,
                         0,
                         {written_while_growing()}},
                        {a_slot_lent(act::get_beside)}),
           with_readers({"two levels",
                         {{"levels", 2}, {"hashes", 2}, {"slots", 2}},
                         std::nullopt,
                         durability_level::process,
                         0,
                         {a_key_twice()}}),
           {"as in the paper", {}},
           {"with copies",
            {{"levels", 1}, {"hashes", 1}, {"slots", 2}, {"cache", 50}},
            data_kind::u64,
            durability_level::power,
            0,
            {a_copy_opens()}},
           with_readers({by_a_device,
                         {{"levels", 1}, {"hashes", 1}, {"slots", 2}},
                         data_kind::u64,
                         durability_level::process,
                         0,
                         {a_slot_lent()}},
                        {a_slot_lent(act::get_beside)}),
           {by_a_device_few_keys,
            {{"levels", 1}, {"hashes", 1}, {"slots", 2}},
            data_kind::u64,
            durability_level::process,
            4},
           {by_a_device_copies,
            {{"levels", 1}, {"hashes", 2}, {"slots", 2}, {"cache", 50}},
            data_kind::u64,
            durability_level::process,
            0,
            {a_copy_opens(), a_slot_lent()}},
           {by_a_device_apart,
            {{"levels", 1}, {"hashes", 1}, {"slots", 8}},
            data_kind::u64,
            durability_level::process},
           {killed_device,
            {{"levels", 1}, {"hashes", 1}, {"slots", 8}},
            data_kind::u64,
            durability_level::process},
           {in_its_memory,
            {{"levels", 1}, {"hashes", 1}, {"slots", 8}},
            data_kind::u64,
            durability_level::process},
           with_readers({rows_by_a_device,
                         {{"levels", 1}, {"hashes", 1}, {"slots", 8}, {"key_bytes", fixed_bytes}},
                         data_kind::bytes,
                         durability_level::process,
                         12},
                        {a_slot_given_away(act::get_beside)}),
           {rows_killed_device,
            {{"levels", 1}, {"hashes", 1}, {"slots", 2}, {"key_bytes", fixed_bytes}},
            data_kind::bytes,
            durability_level::process,
            12},
           with_readers({"with keys in the buckets",
                         {{"levels", 1}, {"hashes", 1}, {"slots", 2}, {"key_bytes", fixed_bytes}},
                         data_kind::bytes,
                         durability_level::power,
                         12,
                         {a_slot_given_away()}},
                        {a_slot_given_away(act::get_beside)})}};
}

}  // namespace durahash::crash
