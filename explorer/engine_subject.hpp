// Any engine as a subject of the explorer: written against the engine concept alone.
#pragma once

#include <algorithm>

#include "explorer/subject.hpp"
#include "media/recording_medium.hpp"
#include "store/beside_table.hpp"

namespace durahash::crash {

/// Of an engine without a reader beside its writer.
template <medium M, class Kind>
struct no_reader {};

/// Reader: what reads its pools beside a writer.
template <class E, medium M, class Reader = no_reader<M, typename E::kind>>
class engine_subject final : public subject {
 public:
  using kind = typename E::kind;
  using key_type = typename kind::key_type;
  using value_type = typename kind::value_type;
  static constexpr bool words = kind::in_slot;
  static constexpr bool is_read_beside = !std::is_same_v<Reader, no_reader<M, kind>>;
  using owned_key = std::conditional_t<words, std::uint64_t, std::string>;
  using owned_value = std::conditional_t<words, std::uint64_t, std::string>;

  engine_subject(std::unique_ptr<pool<M>> p, region& r, tracer& t)
      : pool_(std::move(p)), engine_(std::make_unique<E>(*pool_)), region_(r), tracer_(t) {}
  ~engine_subject() override {
    beside_.reset();
    engine_.reset();
    pool_.reset();
  }
  error open() {
    pool_->readers().ban();
    error e = engine_->open("the pool", nullptr);
    pool_->readers().admit();
    return e;
  }
  /// As the store does it.
  error salvage() {
    std::vector<std::string> dropped;
    pool_->begin_salvage();
    error e = engine_->open("the pool", &dropped);
    if (e.code == status::ok) pool_->end_salvage();
    return e;
  }

  void perform(call& c) override {
    bool locks = M::planted("a-lock-in-the-pool") && c.what.what <= act::add;
    pm<std::uint64_t>& lock = *pool_->at(poff<pm<std::uint64_t>>{selector_offset + 64});
    while (locks && load(pool_->medium(), lock) == 1) {}
    if (locks) store(pool_->medium(), lock, 1);
    perform_now(c);
    if (locks) store(pool_->medium(), lock, 0);
  }

  bool holds(key_number key, const present_value& value) override {
    bool equal = false;
    status found = engine_->get(key_of(key), [&](value_type present) {
      equal = value && present == value_type(owned(*value));
    });
    return value ? found == status::ok && equal : found == status::not_found;
  }

  bool identify(key_number key, const std::vector<present_value>& candidates,
                present_value& found) override {
    for (const present_value& candidate : candidates)
      if (holds(key, candidate)) return found = candidate, true;
    return false;
  }

  bool scan(std::vector<std::string>& keys) override {
    cursor at;
    while (!at.done) {
      status s =
          engine_->scan(at, 64, [&](key_type key, value_type) { keys.push_back(text_of(key)); });
      if (s != status::ok) return false;
    }
    return true;
  }
  std::string key_text(key_number key) const override {
    if constexpr (words) return std::to_string(word_key(key));
    else return key_of(key);
  }
  std::uint64_t size() override { return engine_->size(); }
  std::uint64_t unaccounted_bytes() override {
    std::uint64_t known = engine_->live_bytes() + engine_->free_bytes();
    return pool_->end() - known;
  }
  check_report check() override {
    check_report report;
    engine_->check(report);
    return report;
  }

 private:
  void perform_now(call& c) {
    switch (c.what.what) {
      case act::put_many:
      case act::erase_many:
      case act::get_many: perform_many(c); break;
      case act::reserve:
        expect_ok(c, engine_->reserve(engine_->size() + engine_->slots() / 2 + 1));
        break;
      case act::compact: expect_ok(c, engine_->compact()); break;
      case act::sync: expect_ok(c, engine_->sync()); break;
      case act::scan:
        perform_scan(
            c, [&](auto& at, auto limit, auto visit) { return engine_->scan(at, limit, visit); });
        break;
      case act::get_beside: perform_beside(c); break;
      case act::scan_beside: scan_beside(c); break;
      case act::reopen: expect_ok(c, engine_->close()); break;  // the runner opens it again
      default: perform_one(c.parts.front());
    }
  }

  static void expect_ok(call& c, status answer) {
    if (answer == status::ok) return;
    c.fault = std::string("a ") + name_of(c.what.what) +
              " of a table of a few records answers: " + std::string(message(answer));
  }

  /// In several steps, between which a reader lets go of everything.
  template <class Scan>
  void perform_scan(call& c, Scan&& scan_some) {
    std::map<std::string, key_call*> parts;
    for (key_call& part : c.parts) parts.emplace(key_text(part.key), &part);
    auto visit = [&](key_type key, value_type value) {
      auto found = parts.find(text_of(key));
      if (found == parts.end()) return void(c.fault = "a scan visits a key that nobody has put");
      key_call& part = *found->second;
      if (part.ok) c.fault = "a scan visits key " + std::to_string(part.key) + " twice";
      read_value(part, value);
      part.ok = true;
    };
    constexpr std::size_t few = 3;
    for (cursor at; !at.done && c.fault.empty();) expect_ok(c, scan_some(at, few, visit));
  }

  /// By a process of its own: with DRAM of its own, and of this one's what it shows.
  void perform_beside(call& c) {
    if constexpr (is_read_beside) {
      key_call& part = c.parts.front();
      const owned_key key = key_of(part.key);
      part.read.reset();
      status answer;
      if constexpr (words) {
        std::uint64_t value = 0;
        answer = reader().get(key, value);
        if (answer == status::ok) part.read = identity(part.key, value);
      } else {
        answer = reader().get(key, [&](value_type v) { part.read = identity(part.key, v); });
      }
      part.ok = answer == status::ok;
      if (answer != status::not_found) expect_ok(c, answer);
    }
  }
  void scan_beside(call& c) {
    if constexpr (is_read_beside)
      perform_scan(
          c, [&](auto& at, auto limit, auto visit) { return reader().scan(at, limit, visit); });
  }
  auto& reader() {
    if (beside_ == nullptr)
      beside_ = std::make_unique<table_beside_of<kind>>(
          std::make_unique<reader_on<Reader, M>>(std::make_unique<beside_pool<M>>(
              region_.map_beside(), std::make_unique<M>(tracer_), pool_->block(),
              reinterpret_cast<const readers_line*>(region_.readers_line()),
              pool_->readers().versions_here())),
          medium_kind::memory);
    return *beside_;
  }
  static std::string text_of(key_type key) {
    if constexpr (words) return std::to_string(key);
    else return std::string(key);
  }

  owned_key key_of(key_number key) const {
    if constexpr (words) return word_key(key);
    else if constexpr (kind::fixed_key) return fixed_key(key, engine_->key_bytes());
    else return bytes_key(key);
  }
  static owned_value owned(value_id id) {
    if constexpr (words) return id;
    else return text_of_value(id);
  }

  void perform_one(key_call& c) {
    owned_key key = key_of(c.key);
    owned_value value = owned(c.argument);
    using detail::write_mode;
    switch (c.what) {
      case act::put:
        c.ok = engine_->write(key, decide_write(write_mode::put, value_type(value))) == status::ok;
        break;
      case act::insert:
        c.ok =
            engine_->write(key, decide_write(write_mode::insert, value_type(value))) == status::ok;
        break;
      case act::update:
        c.ok =
            engine_->write(key, decide_write(write_mode::update, value_type(value))) == status::ok;
        break;
      case act::erase: {
        auto taker = [&](value_type present) {
          c.read = identity(c.key, present);
          return status::ok;
        };
        // the same, which tells the value
        const bool takes = (c.argument >> 16) % 2 != 0;
        c.read.reset();
        c.ok = (takes ? engine_->write(key, decide_take<value_type>(taker))
                      : engine_->write(key, erase_decider<value_type>())) == status::ok;
        break;
      }
      case act::exchange: {
        const owned_value expected = owned(c.expected);
        const value_type before(expected), after(value);
        auto change = [&](value_type present, value_type& next) {
          next = after;
          return present == before ? status::ok : status::mismatch;
        };
        // the same, as a caller's function
        const bool by_change = c.argument % 2 != 0;
        c.ok = (by_change ? engine_->write(key, decide_change<value_type>(change))
                          : engine_->write(key, decide_exchange(before, after))) == status::ok;
        break;
      }
      case act::add:
        if constexpr (words)
          c.ok = engine_->write(key, [&](const std::optional<value_type>& present) {
            c.read = present.value_or(0);
            return decision<value_type>::set(present.value_or(0) + c.argument);
          }) == status::ok;
        break;
      default: read_one(c, key);
    }
  }

  void read_one(key_call& c, const owned_key& key) {
    c.read.reset();
    c.ok = engine_->get(key, [&](value_type present) { read_value(c, present); }) == status::ok;
  }
  /// A reader that takes its time: others may run here.
  void read_value(key_call& c, value_type present) {
    if constexpr (!words) pool_->medium().will_read(present.data(), present.size());
    c.read = identity(c.key, present);
  }

  /// A value's number. Of bytes that no program wrote: one that nothing explains.
  static value_id identity(key_number key, value_type present) {
    if constexpr (words) {
      return present;
    } else {
      if (present.empty()) return value_of(key, 0, false);
      unsigned version = 0;
      for (std::size_t i = 1; i < present.size() && present[i] >= '0' && present[i] <= '9'; ++i)
        version = version * 10 + static_cast<unsigned>(present[i] - '0');
      value_id id = value_of(key, version, false);
      if (text_of_value(id) == present) return id;
      return ~std::uint64_t{0};
    }
  }

  void perform_many(call& c) {
    std::vector<owned_key> keys;
    std::vector<owned_value> values;
    for (const key_call& part : c.parts)
      keys.push_back(key_of(part.key)), values.push_back(owned(part.argument));
    std::vector<key_type> key_views(keys.begin(), keys.end());
    std::vector<value_type> value_views(values.begin(), values.end());
    std::vector<status> answers(c.parts.size());
    if (c.what.what == act::put_many)
      engine_->put_many(key_views, value_views.data(), answers.data());
    if (c.what.what == act::erase_many) engine_->erase_many(key_views, answers.data());
    if (c.what.what == act::get_many)
      engine_->get_many(
          key_views,
          [&](std::size_t i, value_type found) {
            c.parts[i].read = identity(c.parts[i].key, found);
          },
          answers.data());
    for (std::size_t i = 0; i < answers.size(); ++i) c.parts[i].ok = answers[i] == status::ok;
  }

  std::unique_ptr<pool<M>> pool_;
  std::unique_ptr<E> engine_;
  std::unique_ptr<table_beside_of<kind>> beside_;
  region& region_;
  tracer& tracer_;
};

/// Makes or opens one in a region. Reads of the header lines are told to the tracer here: they do
/// not go through a medium.
template <class E, medium M, class Reader = no_reader<M, typename E::kind>>
std::unique_ptr<subject> make_subject(const subject_kind& kind, region& r, tracer& t, bool create,
                                      std::string& why_not) {
  auto map = r.map([&t](std::uint64_t length) { t.length(length); });
  std::unique_ptr<pool<M>> p;
  bool torn = false;  // the store refuses it then, but to salvage
  if (create) {
    options how;
    how.settings = kind.settings;
    auto plan = E::plan(how);
    check(static_cast<bool>(plan), "settings of an explored engine");
    superblock block = new_superblock(kind.engine, kind.data, kind.data, kind.level, plan->settings,
                                      plan->engine_bytes);
    block.hash_id = hash_id_folded;
    block.seed_flip = explored_seeds.flip;
    block.seed_multiply = explored_seeds.multiply;
    auto made = pool<M>::create(std::move(map), std::make_unique<M>(t), block);
    if (!made) return why_not = made.failure().message, nullptr;
    p = std::move(*made);
  } else {
    t.reading(r.base(), engine_area_offset);
    auto block = read_superblock(r.base(), r.length(), false, "the pool");
    if (!block) return why_not = block.failure().message, nullptr;
    auto root = read_root(r.base(), r.length(), *block, "the pool");
    if (!root) return why_not = root.failure().message, nullptr;
    torn = root->state == pool_state::changing && root->boot_id != this_boot();
    p = std::make_unique<pool<M>>(std::move(map), std::make_unique<M>(t), *block, *root);
  }
  auto made = std::make_unique<engine_subject<E, M, Reader>>(std::move(p), r, t);
  if (error e = torn ? made->salvage() : made->open(); e.code != status::ok)
    return why_not = e.message, nullptr;
  return made;
}

/// Both levels of one engine and one kind of records.
template <template <class, class> class Engine, class Kind,
          template <medium, class> class Reader = no_reader>
std::unique_ptr<subject> make_either(const subject_kind& kind, region& r, tracer& t, bool create,
                                     std::string& why_not) {
  using power = recording_medium<false>;
  using process = recording_medium<true>;
  static_assert(engine_on<Engine<power, Kind>, power> && engine_on<Engine<process, Kind>, process>);
  return kind.level == durability_level::power
             ? make_subject<Engine<power, Kind>, power, Reader<power, Kind>>(kind, r, t, create,
                                                                             why_not)
             : make_subject<Engine<process, Kind>, process, Reader<process, Kind>>(kind, r, t,
                                                                                   create, why_not);
}

/// All kinds of records and levels of one engine.
template <template <class, class> class Engine, template <medium, class> class Reader = no_reader>
std::unique_ptr<subject> make_any(const subject_kind& kind, region& r, tracer& t, bool create,
                                  std::string& why_not) {
  return kind.words() ? make_either<Engine, word_records, Reader>(kind, r, t, create, why_not)
                      : make_either<Engine, byte_records, Reader>(kind, r, t, create, why_not);
}

}  // namespace durahash::crash
