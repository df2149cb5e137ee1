#include "crash/engine_subject.hpp"
#include "crash/lent_table.hpp"
#include "crash/subjects.hpp"
#include "table/gphash/table.hpp"

namespace durahash::crash {
namespace {

const std::string by_a_device = "by a device", by_a_device_apart = "by a device, values apart", killed_device = "by a device that dies in a kernel";

/// A load of the cache goes on beside a write: it is over before, during, or after that.
threaded_program a_copy_opens() {
  operation first{act::put, {4}, 1}, seek{act::get, {4}, 0}, update{act::update, {4}, 2};
  return {{{first}, 5}, {{seek, seek, seek}, {update, seek}}};
}

/// A slot is another key's for a while, and the first one's again: who looks for that one meanwhile must not take the other's value for its own.
threaded_program a_slot_lent() {
  const gphash::mixer mixture(explored_seeds);
  auto bucket = [&](key_number n) { return mixture.mix(word_key(n)) >> (64 - gphash::least_bottom); };
  key_number hot = 4, rival = 5;
  while (bucket(rival) != bucket(hot)) ++rival;
  operation first{act::put, {hot}, 1}, seek{act::get, {hot}, 0};
  operation leave{act::erase, {hot}, 0}, lend{act::put, {rival}, 2}, give_back{act::erase, {rival}, 0}, again{act::put, {hot}, 3};
  return {{{first}, static_cast<key_number>(rival + 1u)}, {{seek}, {leave, lend}, {give_back, again}}};
}

std::unique_ptr<subject> make_gphash(const subject_kind& kind, region& r, tracer& t, bool create, std::string& why_not) {
  using power = recording_medium<false>;
  using process = recording_medium<true>;
  if (kind.variant == killed_device && kind.level == durability_level::power)
    return make_subject<lent_table<power, loose_side<power>>, power>(kind, r, t, create, why_not);
  if (!kind.variant.starts_with(by_a_device)) return make_any<gphash::table>(kind, r, t, create, why_not);
  if (kind.level == durability_level::power) return make_subject<lent_table<power>, power>(kind, r, t, create, why_not);
  return make_subject<lent_table<process>, process>(kind, r, t, create, why_not);
}

}  // namespace

explored_engine gphash_subject() {
  // Warps of a device at once are explored where visible is durable: elsewhere a find beside a commit may see what it makes durable.
  return {engine_kind::gphash,
          make_gphash,
          {{"", {{"levels", 1}, {"hashes", 1}, {"slots", 2}}},
           {"two levels", {{"levels", 2}, {"hashes", 2}, {"slots", 2}}},
           {"as in the paper", {}},
           {"with copies", {{"levels", 1}, {"hashes", 1}, {"slots", 2}, {"cache", 50}}, data_kind::u64, durability_level::power, 0, {a_copy_opens()}},
           {by_a_device, {{"levels", 1}, {"hashes", 1}, {"slots", 2}}, data_kind::u64, durability_level::process, 0, {a_slot_lent()}},
           {by_a_device_apart, {{"levels", 1}, {"hashes", 1}, {"slots", 8}}, data_kind::u64, durability_level::process},
           {killed_device, {{"levels", 1}, {"hashes", 1}, {"slots", 8}}, data_kind::u64, durability_level::process}}};
}

}  // namespace durahash::crash
