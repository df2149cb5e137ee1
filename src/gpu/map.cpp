#include "gpu/map.hpp"

#include <vector>

#include "gpu/split_commit.hpp"
#include "media/pmem_medium.hpp"
#include "media/process_medium.hpp"
#include "store/bound_table.hpp"
#include "store/open.hpp"
#include "table/gphash/table.hpp"

namespace durahash::gpu {
namespace {

/// A pool that a device may have: the engine gphash of words, on one of two media.
class lender {
 public:
  virtual ~lender() = default;
  virtual lent_table lend() = 0;
  virtual void take_back(std::int64_t added) = 0;
  virtual void give_up_loan() = 0;
  virtual status expand() = 0;
  virtual std::span<std::byte> memory() const = 0;
  virtual void flush_payloads(std::span<const change>) = 0;
  virtual void flush_words(std::span<const change>) = 0;
};

template <medium M>
class lender_on final : public lender {
 public:
  using engine = gphash::table<M, word_records>;
  using bound = bound_words<engine, M>;
  explicit lender_on(bound& table) : table_(table) {}

  lent_table lend() override { return table_.engine().lend(); }
  void take_back(std::int64_t added) override { table_.engine().take_back(added); }
  void give_up_loan() override { table_.engine().give_up_loan(); }
  status expand() override { return table_.engine().expand(); }
  std::span<std::byte> memory() const override { return {table_.storage().at(std::uint64_t{0}), table_.storage().end()}; }
  void flush_payloads(std::span<const change> changes) override {
    [[maybe_unused]] durable done = gpu::flush_payloads(table_.storage().medium(), changes);
  }
  void flush_words(std::span<const change> changes) override {
    [[maybe_unused]] durable done = gpu::flush_words(table_.storage().medium(), changes);
  }

 private:
  bound& table_;
};

template <medium M>
std::unique_ptr<lender> lender_of(detail::word_table& table) {
  auto* bound = dynamic_cast<typename lender_on<M>::bound*>(&table);
  return bound == nullptr ? nullptr : std::make_unique<lender_on<M>>(*bound);
}

}  // namespace

// ------------------------------------------------------------------------------------------------------------------- parts

class map::part {
 public:
  part(std::unique_ptr<detail::word_table> table, std::unique_ptr<device> d, std::uint64_t most_staged)
      : table_(std::move(table)), pool_(lender_of<process_medium>(*table_)), device_(std::move(d)), most_staged_(most_staged) {
    if (!pool_) pool_ = lender_of<pmem_medium>(*table_);
  }
  ~part() { static_cast<void>(close()); }

  bool lendable() const noexcept { return pool_ != nullptr; }
  bool by_batch() const { return table_->kinds().durability == durability_level::power; }
  detail::word_table& table() noexcept { return *table_; }

  error start() {
    if (by_batch()) {
      changes_ = static_cast<change*>(device_->allocate(most_staged_ * sizeof(change)));
      if (changes_ == nullptr) return {status::no_space, "no memory that host and device share, for " + std::to_string(most_staged_) + " staged operations"};
    }
    return lend();
  }

  /// Whether there is a pool, and a device that works.
  status state() const noexcept { return !table_ ? status::closed : failure_.code; }

  status find(const batch& b, stream on) {
    if (state() == status::ok) device_->find(lent_, b, on);
    return state();
  }

  status write(const batch& b, stream on) {
    if (state() != status::ok) return state();
    if (!by_batch()) {
      device_->begin(b, on);
      device_->write(lent_, b, on);
      return status::ok;
    }
    if (b.count > most_staged_ - staged_count_) return status::no_space;
    device_->begin(b, on);
    stage_next(b, on);
    return status::ok;
  }

  /// Durable is what returns. Rounds, since operations of one stripe take turns: in each the first of those that wait gets its.
  error commit(stream on) {
    if (state() != status::ok) return {state(), failure_.message};
    if (error e = device_->wait(on); e.code != status::ok) return fail(e);
    while (!staged_.empty()) {
      if (error e = device_->wait(staged_on_); e.code != status::ok) return fail(e);
      std::span<const change> changes(changes_, staged_count_);
      pool_->flush_payloads(changes);
      for (const staged& s : staged_) device_->commit(lent_, s.what, s.changes, staged_on_);
      if (error e = device_->wait(staged_on_); e.code != status::ok) return fail(e);
      pool_->flush_words(changes);
      std::uint64_t waited = device_->counted().pending;
      if (std::exchange(pending_told_, waited) == waited) {
        forget_staged();
      } else {
        for (const staged& s : staged_) stage(s);
      }
    }
    return {status::ok, {}};
  }

  /// With growth.
  error write_all(const batch& b, stream on) {
    if (error e = commit(on); e.code != status::ok) return e;  // what others staged
    for (std::size_t done = 0, most = by_batch() ? most_staged_ : b.count; done < b.count; done += most) {
      std::size_t count = std::min(most, b.count - done);
      batch piece{b.what, count, b.keys + done, b.values + done, b.answers + done};
      device_->begin(piece, on);
      if (error e = write_piece(piece, on); e.code != status::ok) return e;
    }
    return {status::ok, {}};
  }

  /// Calls with the engine at home; after a failure it stays there. Whoever has the pool's memory pinned must not see it shrink.
  template <class Call>
  auto at_home(Call&& call, bool may_shrink = false) -> decltype(call()) {
    come_home();
    if (may_shrink) unpin();
    auto answer = call();
    if (state() == status::ok)
      if (error e = lend(); e.code != status::ok) fail(e);
    return answer;
  }
  template <class Call>
  status change_at_home(Call&& call, bool may_shrink = false) {
    if (state() != status::ok) return state();
    status answer = at_home([&] { return state() == status::ok ? call() : state(); }, may_shrink);
    return state() == status::ok ? answer : state();
  }

  status close() {
    if (!table_) return status::closed;
    come_home();
    unpin();
    device_->free(std::exchange(changes_, nullptr));
    status closed = table_->close();
    table_.reset();
    return failure_.code != status::ok ? failure_.code : closed;
  }

 private:
  /// A batch whose second half is to come.
  struct staged {
    batch what;
    change* changes;
  };

  void stage_next(const batch& b, stream on) {
    staged_on_ = on;
    staged_.push_back({b, changes_ + staged_count_});
    staged_count_ += b.count;
    stage(staged_.back());
  }
  void stage(const staged& s) {
    std::fill_n(s.changes, s.what.count, change{});
    device_->stage(lent_, s.what, s.changes, staged_on_);
  }
  void forget_staged() {
    staged_.clear();
    staged_count_ = 0;
  }

  error write_piece(const batch& b, stream on) {
    while (true) {  // ends: every round but the first has found a larger table, up to no_space
      std::uint64_t full_before = device_->counted().full;
      if (by_batch())
        stage_next(b, on);
      else
        device_->write(lent_, b, on);
      if (error e = commit(on); e.code != status::ok) return e;
      if (device_->counted().full == full_before) return {status::ok, {}};
      if (status grown = change_at_home([&] { return pool_->expand(); }); grown != status::ok) return {grown, std::string(message(grown))};
      device_->retry_full(b, on);
    }
  }

  /// Nobody knows what the device did: the pool is left as by a crash, and nothing more is done in it.
  error fail(const error& e) {
    failure_ = e;
    forget_staged();
    if (std::exchange(lent_out_, false)) pool_->give_up_loan();
    return e;
  }
  error lend() {
    std::span<std::byte> all = pool_->memory();
    if (all.size() > pinned_) {
      if (error e = device_->take(all.subspan(pinned_)); e.code != status::ok) return e;
      pins_.push_back(all.subspan(pinned_));
      pinned_ = all.size();
    }
    lent_ = pool_->lend();
    lent_out_ = true;
    return {status::ok, {}};
  }
  void come_home() {
    if (!lent_out_ || commit(nullptr).code != status::ok) return;
    if (error e = device_->wait_for_all(); e.code != status::ok) return static_cast<void>(fail(e));
    std::int64_t records = device_->counted().records;
    pool_->take_back(records - std::exchange(records_told_, records));
    lent_out_ = false;
  }
  void unpin() {
    for (std::span<std::byte> memory : pins_) device_->release(memory);
    pins_.clear();
    pinned_ = 0;
  }

  std::unique_ptr<detail::word_table> table_;
  std::unique_ptr<lender> pool_;
  std::unique_ptr<device> device_;
  lent_table lent_ = lent_table::none();
  bool lent_out_ = false;
  error failure_{status::ok, {}};
  std::int64_t records_told_ = 0;
  std::uint64_t pending_told_ = 0;
  std::uint64_t most_staged_, staged_count_ = 0;
  std::vector<staged> staged_;
  stream staged_on_ = nullptr;
  change* changes_ = nullptr;
  std::vector<std::span<std::byte>> pins_;
  std::size_t pinned_ = 0;
};

// -------------------------------------------------------------------------------------------------------------------- map

map::map(std::unique_ptr<part> made) : part_(std::move(made)) {}
map::map(map&&) noexcept = default;
map& map::operator=(map&&) noexcept = default;
map::~map() = default;

result<map> open_on(std::unique_ptr<device> d, const std::string& path, options how, const device_options& on) {
  constexpr std::uint64_t most = std::uint64_t{1} << 32;
  if (on.most_staged == 0 || on.most_staged > most)
    return error{status::invalid_argument, "device_options.most_staged is " + std::to_string(on.most_staged) + ": it must be from 1 to " + std::to_string(most)};
  if (!how.engine && how.mode != open_mode::read_only) how.engine = engine_kind::gphash;
  if (!how.key) how.key = data_kind::u64;
  if (!how.value) how.value = data_kind::u64;
  if (how.mode == open_mode::read_only) return error{status::invalid_argument, "a device opens a pool to write, too: the mode read_only is not for it"};
  if (*how.engine != engine_kind::gphash) return error{status::invalid_argument, "a device searches pools of the engine gphash alone"};
  if (*how.key != data_kind::u64 || *how.value != data_kind::u64) return error{status::invalid_argument, "a device searches pools of u64 keys and u64 values"};
  auto opened = open_pool(path, how);
  if (!opened) return opened.failure();
  auto made = std::make_unique<map::part>(std::move(opened->words), std::move(d), on.most_staged);
  if (!made->lendable()) return error{status::invalid_argument, "a device cannot use the medium " + std::string(name_of(how.medium))};
  if (error e = made->start(); e.code != status::ok) return e;
  return map(std::move(made));
}

result<map> map::open(const std::string& path, const options& how, const device_options& on) {
  auto found = cuda_device(on.number);
  if (!found) return found.failure();
  return open_on(std::move(*found), path, how, on);
}

namespace {

batch writing(action what, std::size_t n, const std::uint64_t* keys, const std::uint64_t* values, status* answers) {
  return {what, n, keys, const_cast<std::uint64_t*>(values), answers};  // writes read them
}

}  // namespace

status map::find_async(std::size_t n, const std::uint64_t* keys, std::uint64_t* values, status* answers, stream on) {
  return part_ ? part_->find({action::find, n, keys, values, answers}, on) : status::closed;
}
status map::put_async(std::size_t n, const std::uint64_t* keys, const std::uint64_t* values, status* answers, stream on) {
  return part_ ? part_->write(writing(action::put, n, keys, values, answers), on) : status::closed;
}
status map::insert_async(std::size_t n, const std::uint64_t* keys, const std::uint64_t* values, status* answers, stream on) {
  return part_ ? part_->write(writing(action::insert, n, keys, values, answers), on) : status::closed;
}
status map::update_async(std::size_t n, const std::uint64_t* keys, const std::uint64_t* values, status* answers, stream on) {
  return part_ ? part_->write(writing(action::update, n, keys, values, answers), on) : status::closed;
}
status map::erase_async(std::size_t n, const std::uint64_t* keys, status* answers, stream on) {
  return part_ ? part_->write(writing(action::erase, n, keys, nullptr, answers), on) : status::closed;
}
status map::commit(stream on, std::string* why) {
  error e = part_ ? part_->commit(on) : error{status::closed, {}};
  if (why != nullptr) *why = e.message;
  return e.code;
}
status map::put(std::size_t n, const std::uint64_t* keys, const std::uint64_t* values, status* answers, stream on) {
  return part_ ? part_->write_all(writing(action::put, n, keys, values, answers), on).code : status::closed;
}
status map::insert(std::size_t n, const std::uint64_t* keys, const std::uint64_t* values, status* answers, stream on) {
  return part_ ? part_->write_all(writing(action::insert, n, keys, values, answers), on).code : status::closed;
}
status map::reserve(std::uint64_t records) {
  return part_ ? part_->change_at_home([&] { return part_->table().reserve(records); }) : status::closed;
}
status map::compact() {
  return part_ ? part_->change_at_home([&] { return part_->table().compact(); }, true) : status::closed;
}
status map::sync() {
  return part_ ? part_->change_at_home([&] { return part_->table().sync(); }) : status::closed;
}
status map::close() { return part_ ? part_->close() : status::closed; }
std::uint64_t map::size() {
  return is_open() ? part_->at_home([&] { return part_->table().size(); }) : 0;
}
pool_info map::info() {
  return is_open() ? part_->at_home([&] { return part_->table().info(); }) : pool_info{};
}
check_report map::check() {
  if (!is_open()) return {.ok = false, .records = 0, .violations = {"the table is closed"}};
  return part_->at_home([&] { return part_->table().check(); });
}
std::vector<std::string> map::salvage_report() const { return is_open() ? part_->table().salvage_report() : std::vector<std::string>(); }
durability_level map::durability() const { return is_open() ? part_->table().kinds().durability : durability_level::none; }
bool map::is_open() const { return part_ && part_->state() != status::closed; }

}  // namespace durahash::gpu
