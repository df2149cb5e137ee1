// What lies where in a pool: superblocks, roots and owner as their bytes say, the table as its
// engine says (engine/structure.hpp).
#include "durahash/inspect.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "engine/structure.hpp"
#include "persist/owner.hpp"
#include "store/block_facts.hpp"
#include "store/open.hpp"

namespace durahash {
namespace {

pool_part made_of(const part& p, part_visitor::tell about) {
  pool_part made{.kind = p.kind,
                 .name = {},
                 .offset = p.offset,
                 .bytes = p.bytes,
                 .named_by = p.named_by,
                 .facts = {}};
  if (!p.state.empty()) made.add("state", std::string(p.state));
  about(made);
  return made;
}

bool holds(std::uint64_t offset, std::uint64_t bytes, std::uint64_t at) {
  return at >= offset && at - offset < bytes;
}

/// Lists what there is little of, and counts the rest.
class summary final : public part_visitor {
 public:
  explicit summary(pool_overview& into) : into_(into) {}
  void visit(const part& p, tell about) override {
    if (p.listed) return into_.parts.push_back(made_of(p, about));
    part_group& g = group_of(p);
    ++g.count;
    g.bytes += p.bytes;
  }

 private:
  part_group& group_of(const part& p) {
    for (part_group& g : into_.groups)
      if (g.kind == p.kind && g.state == p.state) return g;
    return into_.groups.emplace_back(part_group{p.kind, std::string(p.state), 0, 0});
  }
  pool_overview& into_;
};

/// Keeps what holds an offset.
class at_offset final : public part_visitor {
 public:
  explicit at_offset(std::uint64_t offset) : offset_(offset) {}
  void visit(const part& p, tell about) override {
    if (holds(p.offset, p.bytes, offset_)) found.push_back(made_of(p, about));
  }
  std::vector<pool_part> found;

 private:
  std::uint64_t offset_;
};

/// Keeps the smallest part around each of some words.
class around_words final : public part_visitor {
 public:
  explicit around_words(const std::vector<pool_part>& named) {
    for (const pool_part& p : named)
      if (p.named_by != 0) words_.push_back({p.named_by, std::nullopt});
  }
  void visit(const part& p, tell about) override {
    for (auto& [word, best] : words_)
      if (holds(p.offset, p.bytes, word) && (!best || p.bytes <= best->bytes))
        best = made_of(p, about);
  }
  std::vector<pool_part> found() && {
    std::vector<pool_part> all;
    for (auto& [word, best] : words_)
      if (best) all.push_back(std::move(*best));
    return all;
  }

 private:
  struct around {
    std::uint64_t word;
    std::optional<pool_part> best;
  };
  std::vector<around> words_;
};

class everything final : public part_visitor {
 public:
  explicit everything(std::vector<pool_part>& into) : into_(into) {}
  void visit(const part& p, tell about) override { into_.push_back(made_of(p, about)); }

 private:
  std::vector<pool_part>& into_;
};

// -------------------------------------------------------------------------------- the fixed part

template <class Structure>
Structure copy_from(const std::byte* at) {
  Structure s;
  std::memcpy(&s, at, sizeof s);
  return s;
}

template <std::size_t Size>
std::string digits_of(const std::array<std::uint8_t, Size>& bytes) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (std::uint8_t b : bytes) text += {digits[b >> 4], digits[b & 15]};
  return text;
}

pool_part superblock_at(const std::byte* base, std::uint64_t offset) {
  auto s = copy_from<superblock>(base + offset);
  pool_part made{.kind = "superblock",
                 .name = offset == 0 ? "superblock" : "second superblock",
                 .offset = offset,
                 .bytes = sizeof s,
                 .facts = {}};
  made.add("checksum_holds", is_whole(s));
  if (s.magic != pool_magic) return made;
  made.add("format_version", std::uint64_t{s.version});
  made.add("compat", hex(s.compat));
  made.add("ro_compat", hex(s.ro_compat));
  made.add("incompat", hex(s.incompat));
  made.add("engine", std::string(name_of(s.engine)));
  made.add("key", std::string(name_of(s.key)));
  made.add("value", std::string(name_of(s.value)));
  made.add("durability", std::string(name_of(s.durability)));
  made.add("hash_id", std::uint64_t{s.hash_id});
  made.add("seed_flip", hex(s.seed_flip));
  made.add("seed_multiply", hex(s.seed_multiply));
  made.add("uuid", digits_of(s.uuid));
  made.add("engine_offset", s.engine_offset);
  made.add("engine_bytes", s.engine_bytes);
  made.add("heap_offset", s.heap_offset);
  made.add("created_unix_seconds", s.created_unix_seconds);
  return made;
}

std::string state_of(const root_record& r) {
  if (r.state == pool_state::clean) return "clean";
  return r.state == pool_state::changing ? "changing" : "impossible";
}

/// `file`: the mark of the file that is looked at.
pool_part root_at(const std::byte* base, unsigned which, std::uint32_t file) {
  auto selector = copy_from<std::uint64_t>(base + selector_offset);
  auto r = copy_from<root_record>(base + root_offsets[which]);
  bool in_force = selector % 2 == which, whole = is_whole(r);
  pool_part made{.kind = "root record",
                 .name = in_force ? "root record in force" : "other root record",
                 .offset = root_offsets[which],
                 .bytes = sizeof r,
                 .named_by = in_force ? selector_offset : 0,
                 .facts = {}};
  made.add("checksum_holds", whole);
  if (!whole) return made;
  made.add("sequence", r.sequence);
  made.add("state", state_of(r));
  made.add("pool_bytes", r.pool_bytes);
  made.add("boot_id", digits_of(r.boot_id));
  made.add("written_by_this_run_of_the_machine", is_this_boot(r.boot_id));
  made.add("file_mark", std::uint64_t{r.file_mark});
  if (r.file_mark != 0 && file != 0) made.add("written_to_this_file", r.file_mark == file);
  if (r.state != pool_state::clean) return made;
  made.add("records", r.records);
  made.add("allocation_state", r.heap_state_offset);
  made.add("allocation_state_bytes", r.heap_state_bytes);
  made.add("allocation_state_checksum", hex(r.heap_state_checksum));
  return made;
}

pool_part owner_at(const std::byte* base) {
  pool_part made{.kind = "owner",
                 .name = "owner",
                 .offset = owner_offset,
                 .bytes = sizeof(owner_record),
                 .facts = {}};
  auto owner = read_owner(base);
  made.add("names_a_process", owner.has_value());
  if (owner) {
    made.add("process", owner->process);
    made.add("at_large", is_at_large(*owner));
  }
  return made;
}

std::vector<pool_part> fixed_parts(const opening& o) {
  const std::byte* base = o.map->base();
  std::vector<pool_part> all;
  for (std::uint64_t offset : superblock_offsets) all.push_back(superblock_at(base, offset));
  auto selector = copy_from<std::uint64_t>(base + selector_offset);
  pool_part selects{.kind = "selector",
                    .name = "selector",
                    .offset = selector_offset,
                    .bytes = sizeof selector,
                    .facts = {}};
  selects.add("sequence", selector);
  all.push_back(selects);
  for (unsigned which : {0u, 1u})
    all.push_back(root_at(base, which, o.map->file_mark().value_or(0)));
  all.push_back(owner_at(base));
  return all;
}

/// What a clean close saved; free space to whoever writes next.
std::optional<pool_part> saved_state(const root_record& root) {
  if (root.state != pool_state::clean || root.heap_state_offset == 0) return std::nullopt;
  return pool_part{.kind = "allocation state",
                   .name = "saved allocation state",
                   .offset = root.heap_state_offset,
                   .bytes = root.heap_state_bytes,
                   .named_by = root_offsets[root.sequence % 2],
                   .facts = {}};
}

}  // namespace

struct inspection::state {
  std::vector<pool_part> fixed;
  superblock block{};
  std::uint64_t end = 0;  // the pool's, else the file's
  std::string refusal;
  std::unique_ptr<inspected_table> table;
};

inspection::inspection(std::unique_ptr<state> s) : state_(std::move(s)) {}
inspection::inspection(inspection&&) noexcept = default;
inspection& inspection::operator=(inspection&&) noexcept = default;
inspection::~inspection() = default;

result<inspection> inspection::open(const std::string& path) {
  auto mapped = open_to_look(path);
  if (!mapped) return mapped.failure();
  auto made = std::make_unique<state>();
  made->fixed = fixed_parts(*mapped);
  made->end = mapped->map->file_bytes_at_open();
  auto table = look_at_table(*mapped);
  made->block = mapped->block;
  if (mapped->root.pool_bytes != 0 && mapped->root.pool_bytes < made->end)
    made->end = mapped->root.pool_bytes;
  if (auto saved = saved_state(mapped->root)) made->fixed.push_back(std::move(*saved));
  if (table) made->table = std::move(*table);
  else made->refusal = table.failure().message;
  return inspection(std::move(made));
}

pool_kinds inspection::kinds() const { return kinds_of(state_->block); }

const std::string& inspection::refusal() const { return state_->refusal; }

pool_overview inspection::overview() {
  pool_overview all{state_->fixed, {}};
  summary sums(all);
  if (state_->table) state_->table->each_part(sums);
  return all;
}

result<pool_place> inspection::at(std::uint64_t offset) {
  if (offset >= state_->end)
    return error{status::invalid_argument,
                 "the pool ends at offset " + std::to_string(state_->end)};
  at_offset here(offset);
  for (const pool_part& p : state_->fixed)
    if (holds(p.offset, p.bytes, offset)) here.found.push_back(p);
  if (state_->table) state_->table->each_part(here);
  std::stable_sort(here.found.begin(), here.found.end(),
                   [](const pool_part& a, const pool_part& b) { return a.bytes > b.bytes; });
  around_words names(here.found);
  for (const pool_part& p : state_->fixed)
    names.visit({p.kind.c_str(), p.offset, p.bytes, p.named_by},
                [&](pool_part& into) { into = p; });
  if (state_->table) state_->table->each_part(names);
  return pool_place{std::move(here.found), std::move(names).found()};
}

result<pool_search> inspection::find(std::string_view key) {
  if (!state_->table) return error{status::unusable, state_->refusal};
  if (!state_->table->takes_key(key))
    return error{status::invalid_argument,
                 "the pool takes no key of " + std::to_string(key.size()) + " bytes"};
  pool_search made;
  made.found = state_->table->holds(key);
  everything all(made.parts);
  state_->table->each_candidate(key, all);
  return made;
}

}  // namespace durahash
