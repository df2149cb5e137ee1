// A pool whose rows a device may read: the engine gphash with keys of one length and values of
// bytes, on one of two media.
#pragma once

#include <memory>

#include "engine/gphash/table.hpp"
#include "gpu/rows.hpp"
#include "media/pmem_medium.hpp"
#include "media/process_medium.hpp"
#include "persist/record.hpp"
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
};

template <medium M, class Kind>
class row_source_on final : public row_source {
 public:
  using bound = byte_adapter<gphash::table<M, Kind>, M>;
  explicit row_source_on(bound& table) : table_(table) {}

  leased_rows rows() const override {
    const pool<M>& p = table_.storage();
    const superblock& block = p.block();
    auto key_bytes = static_cast<unsigned>(sizeof(std::uint64_t));
    if constexpr (Kind::fixed_key) key_bytes = static_cast<unsigned>(table_.engine().key_bytes());
    return {table_.engine().as_leased(),
            p.at(std::uint64_t{0}),
            block.heap_offset,
            p.end(),
            key_hash({block.seed_flip, block.seed_multiply}),
            key_bytes,
            Kind::fixed_key};
  }
  std::span<std::byte> memory() const override {
    return {table_.storage().at(std::uint64_t{0}), table_.storage().end()};
  }
  void for_each_extent_of(std::string_view key, visitor visit) const override {
    const std::byte* base = table_.storage().at(std::uint64_t{0});
    table_.engine().for_each_extent_of(key, [&](const extent& e) {
      visit(static_cast<std::uint64_t>(static_cast<const std::byte*>(e.at) - base), e.bytes);
    });
  }

 private:
  bound& table_;
};

template <medium M, class Kind>
std::unique_ptr<row_source> row_source_if(detail::bytes_table& table) {
  auto* bound = dynamic_cast<typename row_source_on<M, Kind>::bound*>(&table);
  return bound == nullptr ? nullptr : std::make_unique<row_source_on<M, Kind>>(*bound);
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
