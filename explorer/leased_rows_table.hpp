// GPHash with byte values as a device works on it: searches and batches of writes are gpu/rows.hpp
// and gpu/row_writes.hpp in lockstep, in the order of gpu/row_batches.hpp. One call at a time, as
// of gpu::table. The engine has the table back for everything else.
#pragma once

#include <cstring>

#include "explorer/leased_table.hpp"
#include "gpu/row_batches.hpp"

namespace durahash::crash {

/// Runs the steps of batches, each as one warp.
template <medium M, class Side>
class stepping_device final : public with_own_memory<gpu::rows_device> {
 public:
  explicit stepping_device(M& m) noexcept : medium_(m) {}

  void write_rows(gpu::row_step step, const gpu::leased_rows& rows, const gpu::row_writes& all,
                  std::size_t, gpu::stream) override {
    Side s = side();
    gpu::row_writer<Side>(s, rows, all).run(step, 0, 1);
    if constexpr (std::is_same_v<Side, loose_side<M>>) s.be_in_memory();
  }
  Side side() { return Side(medium_, turns_); }
  void fill(void* memory, std::uint8_t byte, std::size_t length, gpu::stream) override {
    std::memset(memory, byte, length);
  }
  void use_copies(const gpu::bucket_copies&) override {}
  void run_copies(gpu::copies_step, const gpu::leased_table&, const gpu::copy_task*, std::size_t,
                  gpu::stream) override {}
  gpu::stream stream_for_copies() override { return nullptr; }
  error wait(gpu::stream) override { return {status::ok, {}}; }
  error wait_for_all() override { return {status::ok, {}}; }

 private:
  M& medium_;
  gpu::lockstep_turns turns_;
};

template <medium M, class Side = gpu::lockstep_side<M>>
class leased_rows_table {
  using home = gphash::table<M, fixed_records>;

 public:
  using kind = fixed_records;
  using bytes = std::string_view;

  static result<engine_plan> plan(const options& how) { return home::plan(how); }
  explicit leased_rows_table(pool<M>& p)
      : home_(p), pool_(home_, p), device_(p.medium()), batches_(device_, pool_) {}
  error open(const std::string& path, std::vector<std::string>* dropped = nullptr) {
    error e = home_.open(path, dropped);
    if (e.code == status::ok) static_cast<void>(home_.size()), rows_ = pool_.rows();
    return e;
  }
  std::size_t key_bytes() const noexcept { return home_.key_bytes(); }

  template <class Read>
  status get(bytes key, Read&& read) {
    std::scoped_lock lock(gate_);
    return find(key, read);
  }
  template <class Read>
  void get_many(std::span<const bytes> keys, Read&& read, status* answers) {
    std::scoped_lock lock(gate_);
    for (std::size_t i = 0; i < keys.size(); ++i)
      answers[i] = find(keys[i], [&](bytes value) { read(i, value); });
  }
  template <class Visit>
  status scan(cursor& at, std::size_t limit, Visit&& visit) {
    return in([&] { return home_.scan(at, limit, visit); });
  }

  /// A device has no functions of callers: it does what they decide.
  template <class Decide>
  status write(bytes key, Decide&& decide) {
    using todo = typename decision<bytes>::what;
    std::scoped_lock lock(gate_);
    std::string value;
    const status found = find(key, [&](bytes present) { value = present; });
    auto wanted = decide(found == status::ok ? std::optional<bytes>(value) : std::nullopt);
    if (wanted.act == todo::keep) return wanted.answer;
    status answer = status::damaged;
    wanted.act == todo::remove ? batch(gpu::row_action::erase, {&key, 1}, nullptr, &answer)
                               : batch(gpu::row_action::put, {&key, 1}, &wanted.value, &answer);
    return answer == status::ok ? wanted.answer : answer;
  }
  /// Rows of a batch are of one length.
  void put_many(std::span<const bytes> keys, const bytes* values, status* answers) {
    std::scoped_lock lock(gate_);
    for (std::size_t first = 0, behind = 0; first < keys.size(); first = behind) {
      while (behind < keys.size() && values[behind].size() == values[first].size()) ++behind;
      batch(gpu::row_action::put, keys.subspan(first, behind - first), values + first,
            answers + first);
    }
  }
  void erase_many(std::span<const bytes> keys, status* answers) {
    std::scoped_lock lock(gate_);
    batch(gpu::row_action::erase, keys, nullptr, answers);
  }

  std::uint64_t size() {
    return in([&] { return home_.size(); });
  }
  std::uint64_t slots() { return home_.slots(); }
  std::uint64_t live_bytes() {
    return in([&] { return home_.live_bytes(); });
  }
  std::uint64_t free_bytes() {
    return in([&] { return home_.free_bytes(); });
  }
  status reserve(std::uint64_t records) {
    return in([&] { return home_.reserve(records); });
  }
  status compact() {
    return in([&] { return home_.compact(); });
  }
  status sync() {
    return in([&] { return home_.sync(); });
  }
  status close() {
    return in([&] { return home_.close(); });
  }
  void check(check_report& report) {
    in([&] { return home_.check(report), status::ok; });
  }
  void describe(table_stats& stats) { home_.describe(stats); }

 private:
  template <class Read>
  status find(bytes key, Read&& read) {
    Side s = device_.side();
    std::vector<std::uint64_t> words(key.size() / 8);
    std::memcpy(words.data(), key.data(), key.size());
    const std::byte* value = nullptr;
    std::uint32_t length = 0;
    const status answer = gpu::row_search<Side>(s, rows_).locate(words.data(), value, length);
    if (answer == status::ok) read(bytes(reinterpret_cast<const char*>(value), length));
    return answer;
  }
  void batch(gpu::row_action what, std::span<const bytes> keys, const bytes* values,
             status* answers) {
    const std::size_t value_bytes = values == nullptr ? 0 : values[0].size();
    std::string all_keys, rows;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      all_keys += keys[i];
      if (values != nullptr) rows += values[i];
    }
    std::fill_n(answers, keys.size(), status::out_of_memory);
    if (batches_.make_room(keys.size(), key_bytes(), value_bytes) != status::ok) return;
    auto memory_of = [](const std::string& s) {
      return reinterpret_cast<const std::byte*>(s.data());
    };
    static_cast<void>(batches_.write(
        {what, keys.size(), memory_of(all_keys), memory_of(rows), value_bytes, answers}, rows_,
        [&] {
          return rows_ = pool_.rows(), error{status::ok, {}};
        }));
  }
  /// Calls with the engine at home.
  template <class Call>
  auto in(Call&& call) {
    std::scoped_lock lock(gate_);
    auto answer = call();
    rows_ = pool_.rows();
    return answer;
  }

  home home_;
  gpu::row_source_on<home, M> pool_;
  stepping_device<M, Side> device_;
  gpu::row_batches batches_;
  gpu::leased_rows rows_ = gpu::leased_rows::none();
  turn_mutex gate_;
};

}  // namespace durahash::crash
