// The host's part of batches of rows that a device writes: its memory, the order of the steps
// (row_writes.hpp), and what the processor does between them. The table is lent for a batch.
#pragma once

#include <algorithm>

#include "base/crc32c.hpp"
#include "gpu/batch.hpp"
#include "gpu/device.hpp"
#include "gpu/row_source.hpp"

namespace durahash::gpu {

class row_batches {
 public:
  row_batches(rows_device& d, row_source& pool) noexcept : device_(d), pool_(pool) {}
  ~row_batches() { give_memory_back(); }
  row_batches(const row_batches&) = delete;

  /// Arrays in any memory.
  struct piece {
    row_action what;
    std::size_t count;  // at most `most`
    const std::byte *keys, *values;
    std::uint64_t value_bytes;
    status* answers;
  };
  /// Of fewer the kernels' launches take longer than the processor.
  static constexpr std::size_t least = 32, most = std::size_t{1} << 18;

  /// Memory for such a piece. Returns ok or no_space.
  status make_room(std::size_t count, std::uint64_t key_bytes, std::uint64_t value_bytes) {
    const std::uint64_t input_bytes = align_up(count * key_bytes, 8) + count * value_bytes;
    if (count <= room_ && input_bytes <= input_room_) return status::ok;
    const std::size_t room = std::max({count, room_, 2 * least});
    const std::uint64_t input_room = std::max(input_bytes, input_room_);
    give_memory_back();
    numbers_log2_ = row_writes::numbers_log2_for(room);
    numbers_ = own<std::uint32_t>(std::size_t{1} << numbers_log2_);
    firsts_ = own<std::uint32_t>(room);
    ranks_ = own<std::uint32_t>(room);
    answers_ = own<status>(room);
    input_ = own<std::byte>(input_room);
    counts_ = own<row_counts>(1);
    sums_of_bytes_ = own<std::uint32_t>(durahash::detail::crc32c_table.size());
    changes_ = own<row_change>(room);
    changes_here_ = shared<row_change>(room);
    cells_ = shared<std::uint64_t>(room);
    const auto& table = durahash::detail::crc32c_table;
    if (numbers_ == nullptr || firsts_ == nullptr || ranks_ == nullptr || answers_ == nullptr ||
        input_ == nullptr || counts_ == nullptr || sums_of_bytes_ == nullptr ||
        changes_ == nullptr || changes_here_ == nullptr || cells_ == nullptr ||
        device_.copy(sums_of_bytes_, table.data(), sizeof table).code != status::ok)
      return give_memory_back(), status::no_space;
    room_ = room;
    input_room_ = input_room;
    return status::ok;
  }

  /// Writes all of a piece that there is room for, with growth as often as needed; durably, when it
  /// returns. `rows`: the pool as the device sees it. `show` brings that up to date where the pool
  /// has got larger, or has other levels.
  /// Returns  ok: see the answers; what `show` answers if it fails, or out_of_memory: what it does
  ///          not show was not written; io_error: the device failed, or the disk did not take the
  ///          root. `is_lost` says whether it did.
  template <class Show>
  error write(const piece& p, const leased_rows& rows, Show&& show) {
    if (!lend()) return {status::io_error, std::string(message(status::io_error))};
    pool_.ban_readers();
    const loan ends(*this);  // whatever is thrown
    return write_lent(p, rows, [&show] {
      error shown{status::out_of_memory, {}};
      if_memory_allows([&] { shown = show(); });
      return shown;
    });
  }

  /// Nobody knows what the device did: the pool is left as a crash leaves it.
  bool is_lost() const noexcept { return lost_; }

 private:
  struct loan {
    explicit loan(row_batches& b) noexcept : batches(b) {}
    ~loan() {
      batches.take_back();
      if (!batches.lost_) batches.pool_.admit_readers();
    }
    loan(const loan&) = delete;
    row_batches& batches;
  };

  template <class Show>
  error write_lent(const piece& p, const leased_rows& rows, Show&& show) {
    const stream on = device_.stream_for_copies();
    const row_form form = row_form::of(rows, p.value_bytes);
    const std::size_t key_bytes = p.count * rows.key_bytes;
    std::byte* const values = input_ + align_up(key_bytes, 8);
    row_writes all{p.what,         p.count,       reinterpret_cast<const std::uint64_t*>(input_),
                   values,         p.value_bytes, answers_,
                   pending,        numbers_,      numbers_log2_,
                   firsts_,        ranks_,        counts_,
                   sums_of_bytes_, changes_,      cells_};
    error copied = copy(input_, p.keys, key_bytes);
    if (copied.code == status::ok && p.values != nullptr)
      copied = copy(values, p.values, p.count * p.value_bytes);
    if (copied.code != status::ok) return copied;  // nothing was done
    device_.clear(numbers_, sizeof *numbers_ << numbers_log2_);
    device_.clear(ranks_, p.count * sizeof *ranks_);
    device_.fill(answers_, static_cast<std::uint8_t>(pending), p.count, on);
    device_.write_rows(row_step::lead, rows, all, p.count, on);
    error shown{status::ok, {}};
    while (true) {  // ends: each round but the first has found a larger table
      device_.clear(counts_, sizeof *counts_);
      device_.write_rows(row_step::look, rows, all, p.count, on);
      row_counts seen;
      if (error e = counted_behind(on, seen); e.code != status::ok) return lose(e);
      const std::span<row_change> changes(changes_here_, seen.changes);
      if (p.what != row_action::erase && !changes.empty()) {
        const std::span<std::uint64_t> cells(cells_, changes.size());
        pool_.hand_out(cells, form.bytes());
        if (shown.code == status::ok) shown = show();
        if (shown.code != status::ok) {  // the device does not reach them
          pool_.give_back(cells, form.bytes());
          std::fill(cells.begin(), cells.end(), 0);
        }
        device_.write_rows(row_step::write, rows, all, changes.size(), on);
        if (error e = counted_behind(on, seen); e.code != status::ok) return lose(e);
      }
      if (error e = copy(changes.data(), changes_, changes.size_bytes()); e.code != status::ok)
        return lose(e);
      if (p.what != row_action::erase) pool_.flush_rows(form, changes);
      device_.write_rows(row_step::commit, rows, all, p.count, on);
      if (error e = device_.wait(on); e.code != status::ok) return lose(e);
      pool_.flush_words(changes);
      added_ += pool_.settle(form, changes);
      if (seen.full == 0 || shown.code != status::ok) break;
      take_back();
      if (pool_.grow() != status::ok) break;  // the answers say it
      if (!lend()) return {status::io_error, std::string(message(status::io_error))};
      shown = show();
      all.looks_for = status::no_space;
    }
    if (error e = copy(p.answers, answers_, p.count * sizeof *answers_); e.code != status::ok)
      return e;
    return shown;
  }
  error copy(void* to, const void* from, std::size_t bytes) {
    error done = bytes == 0 ? error{status::ok, {}} : device_.copy(to, from, bytes);
    return done.code == status::ok ? done : error{status::io_error, done.message};
  }

  bool lend() { return lent_ = pool_.lend(); }
  void take_back() {
    if (std::exchange(lent_, false)) pool_.take_back(std::exchange(added_, 0));
  }
  error counted_behind(stream on, row_counts& seen) {
    if (error e = device_.wait(on); e.code != status::ok) return e;
    return device_.copy(&seen, counts_, sizeof seen);
  }
  error lose(const error& e) {
    lost_ = true;
    lent_ = false;
    pool_.give_up();
    return {status::io_error, e.message};
  }

  template <class T>
  T* own(std::size_t count) {
    return static_cast<T*>(device_.allocate(count * sizeof(T), memory_kind::own));
  }
  template <class T>
  T* shared(std::size_t count) {
    return static_cast<T*>(device_.allocate(count * sizeof(T), memory_kind::shared));
  }
  void give_memory_back() {
    auto give_back = [&](auto*& part, memory_kind kind) {
      device_.free(std::exchange(part, nullptr), kind);
    };
    for (std::uint32_t** part : {&numbers_, &firsts_, &ranks_, &sums_of_bytes_})
      give_back(*part, memory_kind::own);
    give_back(answers_, memory_kind::own);
    give_back(input_, memory_kind::own);
    give_back(counts_, memory_kind::own);
    give_back(changes_, memory_kind::own);
    give_back(changes_here_, memory_kind::shared);
    give_back(cells_, memory_kind::shared);
    room_ = 0;
    input_room_ = 0;
  }

  rows_device& device_;
  row_source& pool_;
  bool lent_ = false, lost_ = false;
  std::int64_t added_ = 0;  // records, since it was lent
  // row_writes; room for so many operations
  std::size_t room_ = 0;
  std::uint64_t input_room_ = 0;  // bytes of keys and values
  unsigned numbers_log2_ = 0;
  std::uint32_t *numbers_ = nullptr, *firsts_ = nullptr, *ranks_ = nullptr,
                *sums_of_bytes_ = nullptr;
  status* answers_ = nullptr;
  std::byte* input_ = nullptr;
  row_counts* counts_ = nullptr;
  row_change *changes_ = nullptr, *changes_here_ = nullptr;
  std::uint64_t* cells_ = nullptr;
};

}  // namespace durahash::gpu
