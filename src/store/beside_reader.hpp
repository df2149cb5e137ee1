// An engine's reader of a pool that another process may be writing to, asked until it was not
// disturbed (docs/explanation/readers.md). What a table asks of it is the same for all engines and
// media: beside_table.hpp is compiled once.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/beside.hpp"
#include "engine/frame/lifecycle.hpp"
#include "persist/format.hpp"
#include "store/key_length.hpp"

namespace durahash {

/// Of one moment.
struct facts_beside {
  std::uint64_t slots = 0, file_bytes = 0;
  bool clean = false;
};

template <class Kind>
class beside_reader {
 public:
  using key_type = typename Kind::key_type;
  using record = copied_record<Kind>;

  virtual ~beside_reader() = default;

  /// Whether the pool can be read at all; or why not.
  virtual error open(const std::string& path) = 0;
  /// ok, not_found, damaged, busy or unusable, as look_until_undisturbed.
  virtual status find(key_type key, record& found) = 0;
  /// The records of the stretch of hashes in which that one lies, and where it ends.
  virtual status read_stretch(std::uint64_t position, std::vector<record>& found,
                              std::uint64_t& end) = 0;
  virtual facts_beside facts() = 0;

  virtual const superblock& block() const noexcept = 0;
  virtual beside_mapping& map() const noexcept = 0;
  virtual std::size_t key_bytes() const noexcept = 0;  // 0: not of one length
  virtual bool takes_key(key_type key) const noexcept = 0;
};

template <class R, medium M>
class reader_on final : public beside_reader<typename R::kind> {
  using base = beside_reader<typename R::kind>;
  using typename base::key_type, typename base::record;

 public:
  explicit reader_on(std::unique_ptr<beside_pool<M>> p) : pool_(std::move(p)), reader_(*pool_) {}

  error open(const std::string& path) override {
    if (!reader_.is_possible())
      return {status::unusable, "cannot use " + path +
                                    " as a pool: its superblock holds settings that its engine "
                                    "does not allow"};
    if (R::reads_pairs && !has_atomic_pairs())
      return {status::unusable,
              "cannot read " + path + " beside its writer: this processor has no " +
                  what_reads_pairs + ", and cannot read a slot of this engine at once"};
    const status s = look([](const std::byte*) { return looked::hit; }, R::finds_by_versions);
    if (s == status::unusable && R::finds_by_versions && !beside_pool<M>::follows_a_log)
      return {s, "cannot read " + path +
                     " beside its writer: words of this engine need memory of the writer's, which "
                     "the system shows to processes of its user and its PID namespace alone"};
    if (s == status::busy) return {s, "cannot read " + path + ": " + std::string(message(s))};
    return {s == status::ok ? s : status::unusable, std::string(message(s))};
  }
  status find(key_type key, record& found) override {
    return look([&](const std::byte* versions) { return reader_.find(key, versions, found); },
                R::finds_by_versions);
  }
  status read_stretch(std::uint64_t position, std::vector<record>& found,
                      std::uint64_t& end) override {
    return look(
        [&](const std::byte* versions) {
          found.clear();
          return reader_.read_stretch(position, versions, found, end);
        },
        R::scans_by_versions);
  }
  facts_beside facts() override {
    facts_beside seen;
    auto read_facts = [&](const std::byte*) {
      auto root = pool_->root();
      if (!root) return looked::again;
      seen = {reader_.slots(), root->pool_bytes, root->state == pool_state::clean};
      return looked::hit;
    };
    static_cast<void>(look(read_facts, false));
    return seen;
  }

  const superblock& block() const noexcept override { return pool_->block(); }
  beside_mapping& map() const noexcept override { return pool_->map(); }
  std::size_t key_bytes() const noexcept override { return reader_.key_bytes(); }
  bool takes_key(key_type key) const noexcept override {
    if constexpr (R::kind::in_slot) return true;
    else return durahash::takes_key(reader_, pool_->block(), key);
  }

 private:
  template <class Look>
  status look(Look&& run, bool needs_versions) {
    return pool_->look_until_undisturbed(needs_versions, run);
  }

  std::unique_ptr<beside_pool<M>> pool_;
  R reader_;
};

}  // namespace durahash
