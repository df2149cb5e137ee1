// A pool that a device may have: the engine gphash of words, on one of two media.
#pragma once

#include <memory>

#include "engine/gphash/lease.hpp"
#include "gpu/split_commit.hpp"
#include "media/pmem_medium.hpp"
#include "media/process_medium.hpp"
#include "persist/owner.hpp"
#include "store/gphash_instances.hpp"
#include "store/open.hpp"
#include "store/pool_adapter.hpp"

namespace durahash::gpu {

class leaser {
 public:
  virtual ~leaser() = default;
  virtual std::optional<leased_table> lend() = 0;
  virtual void take_back(std::int64_t added) = 0;
  virtual void give_up_lease() = 0;
  /// Readers in other processes wait while the device writes.
  virtual void ban_readers() = 0;
  virtual void admit_readers() = 0;
  virtual std::optional<leased_level> lease_top(std::int64_t added) = 0;
  virtual void write_top(std::uint64_t first, std::span<const std::uint64_t> words) = 0;
  virtual leased_table put_on_top(std::uint64_t moved, std::uint64_t misplaced) = 0;
  virtual void give_top_back() = 0;
  virtual std::span<std::byte> memory() const = 0;
  virtual void own() = 0;
  virtual void disown() = 0;
  virtual void flush_payloads(std::span<const change>) = 0;
  virtual void flush_words(std::span<const change>) = 0;
  virtual void store_changes(std::span<const change>, const mirror&) = 0;
};

template <medium M>
class leaser_on final : public leaser {
 public:
  using engine = gphash::table<M, word_records>;
  using bound = word_adapter<engine, M>;
  explicit leaser_on(bound& table) : table_(table), home_(table.engine()) {}

  std::optional<leased_table> lend() override {
    static_cast<void>(table_.engine().size());  // waits for the count
    return home_.lend();
  }
  void take_back(std::int64_t added) override { home_.take_back(added); }
  void give_up_lease() override {
    ban_readers();
    home_.give_up();
    table_.storage().readers().keep_banned();
  }
  void ban_readers() override { table_.storage().readers().ban(); }
  void admit_readers() override { table_.storage().readers().go_on(); }
  std::optional<leased_level> lease_top(std::int64_t added) override {
    return home_.lease_top(added);
  }
  void write_top(std::uint64_t first, std::span<const std::uint64_t> words) override {
    home_.write_top(first, words);
  }
  leased_table put_on_top(std::uint64_t moved, std::uint64_t misplaced) override {
    return home_.put_on_top(moved, misplaced);
  }
  void give_top_back() override { home_.give_top_back(); }
  std::span<std::byte> memory() const override {
    return {table_.storage().at(std::uint64_t{0}), table_.storage().end()};
  }
  void own() override { table_.storage().set_owner(this_process(owner_side::device)); }
  void disown() override { table_.storage().clear_owner(); }
  void flush_payloads(std::span<const change> changes) override {
    in_parts(changes, [&](std::span<const change> part) {
      [[maybe_unused]] durable done = gpu::flush_payloads(table_.storage().medium(), part);
    });
  }
  void flush_words(std::span<const change> changes) override {
    in_parts(changes, [&](std::span<const change> part) {
      [[maybe_unused]] durable done = gpu::flush_words(table_.storage().medium(), part);
    });
  }
  void store_changes(std::span<const change> changes, const mirror& copy) override {
    in_parts(changes, [&](std::span<const change> part) {
      [[maybe_unused]] durable done = gpu::store_changes(table_.storage().medium(), part, copy);
    });
  }

 private:
  bound& table_;
  gphash::lender<engine> home_;
};

/// Null: not such a pool.
inline std::unique_ptr<leaser> leaser_of(detail::word_table& table) {
  if (auto* bound = dynamic_cast<leaser_on<process_medium>::bound*>(&table))
    return std::make_unique<leaser_on<process_medium>>(*bound);
  if (auto* bound = dynamic_cast<leaser_on<pmem_medium>::bound*>(&table))
    return std::make_unique<leaser_on<pmem_medium>>(*bound);
  return nullptr;
}

}  // namespace durahash::gpu
