// durahash, by its public interface. Modes: an engine and a level, as turbo-power_buffered; the
// level process is of the medium file.
#include "bench/peers/disk/store.hpp"
#include "durahash/map.hpp"
#include "durahash/table.hpp"

namespace durahash::peers {
namespace {

using word_map = map<std::uint64_t, std::uint64_t>;

void must(status s) {
  if (s != status::ok) fail("durahash: " + std::string(message(s)));
}

class word_session final : public session {
 public:
  explicit word_session(word_map& table) : table_(table) {}
  void put(std::span<const std::uint64_t> keys) override {
    if (keys.size() == 1) return must(table_.put(keys[0], value_of(keys[0])));
    values_.resize(keys.size()), answers_.resize(keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i) values_[i] = value_of(keys[i]);
    table_.put_many(keys, values_, answers_);
    for (status s : answers_) must(s);
  }
  bool get(std::uint64_t key) override { return table_.get(key) == value_of(key); }

 private:
  word_map& table_;
  std::vector<std::uint64_t> values_;
  std::vector<status> answers_;
};

class bytes_session final : public session {
 public:
  bytes_session(table& table, const record_shape& shape) : table_(table), shape_(shape) {}
  void put(std::span<const std::uint64_t> keys) override {
    while (encoders_.size() < keys.size()) encoders_.emplace_back(shape_);
    if (keys.size() == 1)
      return must(table_.put(encoders_[0].key(keys[0]), encoders_[0].value(keys[0])));
    keys_.clear(), values_.clear(), answers_.resize(keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i) {
      keys_.push_back(encoders_[i].key(keys[i]));
      values_.push_back(encoders_[i].value(keys[i]));
    }
    table_.put_many(keys_, values_, answers_);
    for (status s : answers_) must(s);
  }
  bool get(std::uint64_t key) override {
    if (encoders_.empty()) encoders_.emplace_back(shape_);
    return table_.get(encoders_[0].key(key), found_) == status::ok &&
           encoder::word_of(found_.data()) == value_of(key);
  }

 private:
  table& table_;
  record_shape shape_;
  std::vector<encoder> encoders_;
  std::vector<std::string_view> keys_, values_;
  std::vector<status> answers_;
  std::string found_;
};

template <class Table>
class durahash_store final : public store {
 public:
  durahash_store(Table table, const record_shape& shape)
      : table_(std::move(table)), shape_(shape) {}
  std::unique_ptr<session> new_session() override {
    if constexpr (std::is_same_v<Table, word_map>) return std::make_unique<word_session>(table_);
    else return std::make_unique<bytes_session>(table_, shape_);
  }
  void close() override { must(table_.close()); }

 private:
  Table table_;
  record_shape shape_;
};

template <class Table>
std::unique_ptr<store> open_as(const store_request& asked, const options& how) {
  auto opened = Table::open(asked.folder + "/pool.dh", how);
  if (!opened) fail(opened.failure().message);
  return std::make_unique<durahash_store<Table>>(std::move(*opened), asked.shape);
}

}  // namespace

std::unique_ptr<store> open_durahash(const store_request& asked) {
  if (asked.name != "durahash") return nullptr;
  std::size_t dash = asked.mode.find('-');
  options how;
  how.engine = engine_named(asked.mode.substr(0, dash));
  if (dash != std::string::npos) how.durability = durability_named(asked.mode.substr(dash + 1));
  if (!how.engine || !how.durability) fail("durahash has no mode " + asked.mode);
  how.mode = open_mode::create_new;
  how.medium = how.durability == durability_level::process ? medium_kind::file : medium_kind::disk;
  how.key = how.value = asked.shape.words ? data_kind::u64 : data_kind::bytes;
  return asked.shape.words ? open_as<word_map>(asked, how) : open_as<table>(asked, how);
}

}  // namespace durahash::peers
