// A pool whose rows a device has: the engine gphash with keys of one length and values of bytes, on
// one of two media. It reads them; and writes them, while they are lent to it.
#pragma once

#include <atomic>
#include <memory>

#include "engine/gphash/lease.hpp"
#include "gpu/row_commit.hpp"
#include "gpu/split_commit.hpp"
#include "media/pmem_medium.hpp"
#include "media/process_medium.hpp"
#include "persist/owner.hpp"
#include "persist/record.hpp"
#include "store/gphash_instances.hpp"
#include "store/pool_adapter.hpp"

namespace durahash::gpu {

class row_source {
 public:
  virtual ~row_source() = default;
  /// As the pool has them, until the next write.
  virtual leased_rows rows() const = 0;
  virtual std::span<std::byte> memory() const = 0;
  using visitor = detail::function_ref<void(std::uint64_t offset, std::uint64_t bytes)>;
  /// What a write of the key has changed, but for new levels.
  virtual void for_each_extent_of(std::string_view key, visitor visit) const = 0;

  // For a device that writes (row_batches.hpp)
  // -----------------------------------------------

  /// Whether it may: its records have headers that a device can make.
  virtual bool takes_rows() const = 0;
  /// Until `take_back` or `give_up`, by the same thread, nothing else is called but what follows.
  /// False: the disk does not take the root.
  virtual bool lend() = 0;
  virtual void take_back(std::int64_t added) = 0;
  /// Whose device works on it, for who opens it later; and that none does.
  virtual void own() = 0;
  virtual void disown() = 0;
  /// Nobody knows what the device did, or does.
  virtual void give_up() = 0;
  /// The table at home: a level more.
  virtual status grow() = 0;

  /// Keeps readers in other processes out while a batch is under way.
  virtual void ban_readers() = 0;
  virtual void admit_readers() = 0;
  /// A cell for each; 0 where there is no space.
  virtual void hand_out(std::span<std::uint64_t> cells, std::uint64_t bytes) = 0;
  virtual void give_back(std::span<const std::uint64_t> cells, std::uint64_t bytes) = 0;
  virtual void flush_rows(row_form form, std::span<const row_change> changes) = 0;
  virtual void flush_words(std::span<const row_change> changes) = 0;
  /// They are durable: what they took the place of is free, and so are cells that none leads to.
  /// Returns the records that were added, less those removed.
  virtual std::int64_t settle(row_form form, std::span<const row_change> changes) = 0;
};

/// `Engine` is gphash::table of that medium.
template <class Engine, medium M>
class row_source_on final : public row_source {
 public:
  using kind = typename Engine::kind;
  row_source_on(Engine& engine, pool<M>& storage)
      : engine_(engine), home_(engine), pool_(storage) {}

  leased_rows rows() const override {
    const superblock& block = pool_.block();
    auto key_bytes = static_cast<unsigned>(sizeof(std::uint64_t));
    if constexpr (kind::fixed_key) key_bytes = static_cast<unsigned>(engine_.key_bytes());
    return {home_.shown(),  pool_.at(std::uint64_t{0}), block.heap_offset,
            pool_.end(),    key_hash(seeds_of(block)),  key_bytes,
            kind::fixed_key};
  }
  std::span<std::byte> memory() const override { return {pool_.at(std::uint64_t{0}), pool_.end()}; }
  void for_each_extent_of(std::string_view key, visitor visit) const override {
    const std::byte* base = pool_.at(std::uint64_t{0});
    home_.for_each_extent_of(key, [&](const extent& e) {
      visit(static_cast<std::uint64_t>(static_cast<const std::byte*>(e.at) - base), e.bytes);
    });
  }

  bool takes_rows() const override {
    return !pool_.read_only() && (pool_.block().incompat & has_short_records) != 0;
  }
  bool lend() override { return home_.lend(); }
  void take_back(std::int64_t added) override { home_.take_back(added); }
  void own() override { pool_.set_owner(this_process(owner_side::device)); }
  void disown() override { pool_.clear_owner(); }
  void give_up() override {
    ban_readers();
    home_.give_up();
    pool_.readers().keep_banned();
  }
  status grow() override {
    return with_memory([&] { return home_.grow(); });
  }

  void ban_readers() override { pool_.readers().ban(); }
  void admit_readers() override { pool_.readers().go_on(); }
  void hand_out(std::span<std::uint64_t> cells, std::uint64_t bytes) override {
    in_parts(cells, [&](std::span<std::uint64_t> part) {
      for (std::uint64_t& cell : part) {
        cell = 0;
        if_memory_allows([&] { cell = home_.lease_cell(bytes).value_or(0); });
      }
    });
  }
  void give_back(std::span<const std::uint64_t> cells, std::uint64_t bytes) override {
    for (std::uint64_t cell : cells)
      if (cell != 0) home_.give_cell_back(cell, bytes);
  }
  void flush_rows(row_form form, std::span<const row_change> changes) override {
    if constexpr (!M::visible_is_durable)
      in_parts(changes, [&, all = rows()](std::span<const row_change> part) {
        [[maybe_unused]] durable done = gpu::flush_rows(pool_.medium(), all, form, part);
      });
  }
  void flush_words(std::span<const row_change> changes) override {
    if constexpr (!M::visible_is_durable)
      in_parts(changes, [&](std::span<const row_change> part) {
        [[maybe_unused]] durable done = gpu::flush_row_words(pool_.medium(), part);
      });
  }
  std::int64_t settle(row_form form, std::span<const row_change> changes) override {
    std::atomic<std::int64_t> added{0};
    in_parts(changes, [&](std::span<const row_change> part) {
      std::int64_t here = 0;
      for (const row_change& c : part) {
        if (c.word == nullptr) {
          if (c.record != 0) home_.give_cell_back(c.record, form.bytes());
          continue;
        }
        if (c.replaced != 0) home_.retire_cell(c.replaced, c.replaced_bytes);
        if (c.payload != nullptr) ++here;
        else if (c.record == 0) --here;
      }
      added += here;
    });
    return added;
  }

 private:
  Engine& engine_;
  gphash::row_lender<Engine> home_;
  pool<M>& pool_;
};

template <medium M, class Kind>
std::unique_ptr<row_source> row_source_if(detail::bytes_table& table) {
  using engine = gphash::table<M, Kind>;
  auto* bound = dynamic_cast<byte_adapter<engine, M>*>(&table);
  return bound == nullptr
             ? nullptr
             : std::make_unique<row_source_on<engine, M>>(bound->engine(), bound->storage());
}

/// Null: not such a pool, or not such a medium.
inline std::unique_ptr<row_source> row_source_of(detail::bytes_table& table) {
  if (auto found = row_source_if<process_medium, fixed_records>(table)) return found;
  if (auto found = row_source_if<pmem_medium, fixed_records>(table)) return found;
  if (table.kinds().key != data_kind::u64) return nullptr;  // keys of any length
  if (auto found = row_source_if<process_medium, byte_records>(table)) return found;
  return row_source_if<pmem_medium, byte_records>(table);
}

}  // namespace durahash::gpu
