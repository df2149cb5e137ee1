// TurboHash: what an opening reads of the directory, and what a salvage keeps.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "engine/frame/arrays.hpp"
#include "engine/frame/refusals.hpp"
#include "engine/frame/salvage.hpp"
#include "engine/turbo/rebuild.hpp"
#include "engine/turbo/table.hpp"

namespace durahash::turbo {

/// Of a pool that is being opened, by one thread.
template <medium M, class Kind>
class table<M, Kind>::recovery {
 public:
  /// With `dropped`, what does not verify is dropped and told there.
  recovery(table& t, const std::string& path, std::vector<std::string>* dropped)
      : t_(t), m_(t.m_), p_(t.p_), shards_(t.shards_), path_(path), dropped_(dropped) {}

  /// Mirrors every entry, those of halves after their whole's. Tells the heap of every array,
  /// unless its state was restored: then it knows them.
  error read_directory(bool restored) {
    error e{status::ok, {}};
    shard_index found = 0;
    // a process that died may have left words of the directory and of pairs in the caches
    flushed started;
    if (!p_.read_only()) started = p_.flush_header();
    shards_.each([&](shard_index s) {
      if (e.code != status::ok || shards_.view(s).is_part()) return;
      const directory_entry entry{{load(m_, shards_.entry_of(s))}};
      if (entry.none()) return;
      ++found;
      e = read_entry(s, entry, restored, started);
    });
    [[maybe_unused]] durable as_it_is = fence(m_, std::move(started), "turbo.open.header");
    if (e.code != status::ok) return e;
    if (std::string gone = t_.lost_root(); found == 0 && !gone.empty() && dropped_ == nullptr)
      return cannot_use(path_, gone);
    return {status::ok, {}};
  }

  /// Rebuilds the shard from the records that verify, if there is one that does not.
  status salvage_shard(shard_index s) {
    const shard_view v = shards_.view(s);
    std::vector<live_record> kept;
    std::size_t lost = 0;
    for (std::uint64_t index = 0; index < v.buckets(); ++index) {
      const bucket& b = shards_.buckets_of(v)[index];
      const meta_word meta = load(m_, b.meta);
      lost += !meta.well_formed();
      for (std::uint32_t live = meta.live(); live != 0;) {
        const int i = take_lowest(live);
        const std::uint64_t key_word = load(m_, b.slots[i].key);
        const live_record r{t_.hash_of_slot(key_word), key_word, load(m_, b.slots[i].value)};
        std::string why = fault_of_slot(s, index, i, r, kept);
        if (why.empty()) why = fault_of_cell<Kind>(m_, p_, t_.heap_, r);
        if (why.empty()) {
          kept.push_back(r);
        } else {
          ++lost;
          dropped_->push_back(shards_.name_of(s) + ", bucket " + std::to_string(index) + ", slot " +
                              std::to_string(i) + ": dropped a record, " + why);
        }
      }
    }
    shards_[s].records.store(static_cast<std::int32_t>(kept.size()), std::memory_order_relaxed);
    if (lost == 0) return status::ok;
    if (!p_.may_change()) return status::io_error;
    return rebuilding(t_).rebuild_from(s, v.log2_buckets(), [&](auto&& visit) {
      return std::all_of(kept.begin(), kept.end(), visit);
    });
  }

 private:
  /// Why this cannot be the entry of a shard; or nothing, and the heap knows of what it names.
  const char* fault_of_entry(shard_index s, directory_entry e, bool restored) {
    if (!e.sound()) return "is damaged (check bits)";
    if (e.is_pair() && !shards_.may_be_split(s)) return "names halves, and cannot have any";
    return fault_of_place(p_, t_.heap_, e.offset(), e.bytes(), restored);
  }

  error read_entry(shard_index s, directory_entry entry, bool restored, flushed& started) {
    if (const char* wrong = fault_of_entry(s, entry, restored); wrong != nullptr) {
      const std::string what = "the directory entry of " + shards_.name_of(s) + " at offset " +
                               std::to_string(p_.offset_of(&shards_.entry_of(s))) + " " + wrong;
      if (dropped_ == nullptr) return cannot_use(path_, what);
      dropped_->push_back(what + "; the shard's records are lost");
      if (!p_.may_change()) return cannot_salvage(path_, status::io_error);
      rebuilding(t_).drop_array(s);
    } else if (entry.is_pair()) {
      shards_.adopt_pair(s, entry.offset());
      if (!p_.read_only())
        started += flush(m_, extent_of(shards_.pair_at(entry.offset()).entries), "turbo.open.pair");
    } else {
      shards_[s].mirror.adopt(entry, p_.root().state != pool_state::clean && !opens_durable(m_));
    }
    return {status::ok, {}};
  }

  /// Empty if nothing is wrong with the record.
  std::string fault_of_slot(shard_index s, std::uint64_t index, int i, const live_record& r,
                            const std::vector<live_record>& kept) const {
    const shard_view v = shards_.view(s);
    if (tag_at(m_, shards_.buckets_of(v)[index], i) != tag_of(r.hash) || !belongs(s, r.hash))
      return "its key does not belong there";
    if (std::string why = fault_of<Kind>(m_, p_, t_.seeds_, r, byte_records::hash); !why.empty())
      return why;
    if (!t_.path(v).reaches(home_of(s, r.hash, v.log2_buckets()), index))
      return "it is out of place";
    const bool twice = std::any_of(kept.begin(), kept.end(), [&](const live_record& k) {
      return k.hash == r.hash && same_key<Kind>(m_, p_, k, r);
    });
    return twice ? "its key is there twice" : "";
  }

  table& t_;
  M& m_;
  pool<M>& p_;
  shards<M>& shards_;
  const std::string& path_;
  std::vector<std::string>* const dropped_;
};

}  // namespace durahash::turbo
