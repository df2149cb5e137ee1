#include "explorer/cache_model.hpp"

#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "base/check.hpp"
#include "base/hash.hpp"

namespace durahash::crash {
namespace {

void put(line_content& line, const pending_line::store& s) {
  std::memcpy(line.data() + s.at, &s.value, s.size);
}

line_content content_at(const bytes& all, line_number line) {
  line_content made;
  std::memcpy(made.data(), all.data() + std::uint64_t{line} * line_bytes, line_bytes);
  return made;
}

/// Collects different contents of a line.
class option_list {
 public:
  option_list(line_number line, std::vector<line_option>& out, std::size_t most)
      : line_(line), out_(out), max_(most) {
    out.clear();
  }
  bool full() const { return out_.size() >= max_; }
  void add(const line_content& content, std::uint32_t kept) {
    std::uint64_t hash = hash_of(line_, content.data());
    if (seen_.insert(hash).second) out_.push_back({content, hash, kept});
  }
  /// There even if the list is full. Returns where.
  std::uint32_t end_with(const line_content& all, std::uint32_t kept) {
    std::uint64_t hash = hash_of(line_, all.data());
    auto same = std::find_if(out_.begin(), out_.end(),
                             [&](const line_option& o) { return o.hash == hash; });
    if (same == out_.end()) same = out_.insert(same, {all, hash, kept});
    return static_cast<std::uint32_t>(same - out_.begin());
  }

 private:
  line_number line_;
  std::vector<line_option>& out_;
  std::size_t max_;
  std::unordered_set<std::uint64_t> seen_;
};

/// The parts of a group that are tried where all would be too many: each piece alone, each one
/// missing.
std::vector<std::uint64_t> some_parts(std::size_t pieces) {
  std::vector<std::uint64_t> parts;
  // the last first: where a group is one because its order was left out, that is the commit
  for (std::size_t i = pieces; i-- > 0;) {
    parts.push_back(std::uint64_t{1} << i);
    parts.push_back(low_bits(static_cast<unsigned>(pieces)) & ~(std::uint64_t{1} << i));
  }
  return parts;
}

}  // namespace

std::uint64_t hash_of(line_number line, const std::byte* content) {
  return checksum(content, line_bytes, line + 1);
}

bool pending_line::commits() const {
  return std::any_of(stores.begin(), stores.end(), [](const store& s) { return s.commits; });
}

cache_model::cache_model(bytes durable) : durable_(std::move(durable)) {
  for (line_number line = 0; line < durable_.size() / line_bytes; ++line)
    hash_ += hash_of(line, &durable_[std::uint64_t{line} * line_bytes]);
}

void cache_model::apply(const event& e, const places& where) {
  switch (e.kind) {
    case event::what::store:
    case event::what::piece: add(e, where); break;
    case event::what::flush: {
      auto last = static_cast<line_number>((e.offset + e.value - 1) / line_bytes);
      for (auto line = static_cast<line_number>(e.offset / line_bytes); line <= last; ++line)
        if (auto p = pending_.find(line); p != pending_.end())
          flushing_[e.thread].push_back({line, p->second.first + p->second.stores.size()});
      break;
    }
    case event::what::exchange:
      // A locked instruction: fences what its thread flushed before, and stores.
      [[fallthrough]];
    case event::what::fence:
      for (started s : flushing_[e.thread]) guarantee(s.line, s.up_to);
      flushing_[e.thread].clear();
      if (e.kind == event::what::exchange && e.size != 0) add(e, where);
      break;
    case event::what::length: resize(e.value); break;
    case event::what::begin:
    case event::what::end: break;
  }
}

void cache_model::add(const event& e, const places& where) {
  auto line = static_cast<line_number>(e.offset / line_bytes);
  check(e.offset % line_bytes + e.size <= line_bytes, "a store lies in one line");
  pending_line& p = pending_[line];
  if (p.stores.empty()) p.first = stores_ever_[line];
  ++stores_ever_[line];
  std::uint32_t group = e.kind == event::what::piece ? e.group : 0;
  if (e.kind == event::what::store && e.group == 1) {  // order elided: one group with all before it
    group = ~std::uint32_t{0};
    for (pending_line::store& s : p.stores) s.group = group;
  }
  p.stores.push_back({static_cast<std::uint8_t>(e.offset % line_bytes), e.size, group, e.value,
                      e.where, where[e.where].commits()});
  p.stale = true;
}

void cache_model::guarantee(line_number line, std::uint64_t up_to) {
  auto found = pending_.find(line);
  if (found == pending_.end() || up_to <= found->second.first) return;
  pending_line& p = found->second;
  auto count =
      static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(up_to - p.first, p.stores.size()));
  line_content content = content_at(durable_, line);
  hash_ -= hash_of(line, content.data());
  for (auto s = p.stores.begin(); s != p.stores.begin() + count; ++s) put(content, *s);
  hash_ += hash_of(line, content.data());
  std::memcpy(&durable_[std::uint64_t{line} * line_bytes], content.data(), line_bytes);
  changed_.push_back(line);
  p.stores.erase(p.stores.begin(), p.stores.begin() + count);
  p.first += static_cast<std::uint64_t>(count);
  p.stale = true;
  if (p.stores.empty()) pending_.erase(found);
}

/// The file's length is a matter of the file system, which has made it durable when it returns.
void cache_model::resize(std::uint64_t length) {
  auto lines = static_cast<line_number>(length / line_bytes);
  for (auto line = lines; line < durable_.size() / line_bytes; ++line)
    hash_ -= hash_of(line, &durable_[std::uint64_t{line} * line_bytes]);
  auto before = static_cast<line_number>(durable_.size() / line_bytes);
  durable_.resize(length, std::byte{0xDB});
  for (auto line = before; line < lines; ++line) {
    hash_ += hash_of(line, &durable_[std::uint64_t{line} * line_bytes]);
    changed_.push_back(line);
  }
  pending_.erase(pending_.lower_bound(lines), pending_.end());
}

bytes cache_model::visible() const {
  bytes made = durable_;
  for (const auto& [line, p] : pending_)
    for (const pending_line::store& s : p.stores)
      std::memcpy(&made[std::uint64_t{line} * line_bytes + s.at], &s.value, s.size);
  return made;
}

std::vector<line_number> cache_model::take_changed() { return std::exchange(changed_, {}); }

const std::vector<line_option>& cache_model::options_of(line_number line, pending_line& p,
                                                        std::size_t most) {
  if (!p.stale) return p.options;
  p.stale = false;
  option_list list(line, p.options, most);
  line_content content = content_at(durable_, line);
  list.add(content, 0);
  bool all = true;
  std::uint32_t kept = 0;
  for (std::size_t from = 0; from < p.stores.size();) {
    std::size_t to = from + 1;
    while (to < p.stores.size() && p.stores[from].group != 0 &&
           p.stores[to].group == p.stores[from].group)
      ++to;
    std::size_t pieces = to - from;
    // Of more than 64 pieces, the last 64 are chosen from, and those before them stay out.
    std::size_t chosen_from = std::min<std::size_t>(pieces, 64);
    auto with = [&](std::uint64_t part) {
      line_content made = content;
      for (std::size_t i = 0; i < chosen_from; ++i)
        if ((part >> i & 1) != 0) put(made, p.stores[to - chosen_from + i]);
      return made;
    };
    bool every_part = pieces < 16 && (std::size_t{1} << pieces) + p.options.size() <= most;
    if (every_part) {
      for (std::uint64_t part = 1; part < std::uint64_t{1} << pieces; ++part)
        list.add(with(part), kept + static_cast<std::uint32_t>(std::popcount(part)));
    } else {
      all = false;
      for (std::uint64_t part : some_parts(chosen_from))
        if (!list.full())
          list.add(with(part), kept + static_cast<std::uint32_t>(std::popcount(part)));
    }
    for (std::size_t i = from; i < to; ++i) put(content, p.stores[i]);
    kept += static_cast<std::uint32_t>(pieces);
    if (!list.full()) list.add(content, kept);
    from = to;
  }
  p.all = list.end_with(content, kept);
  p.choices = static_cast<double>(p.options.size());
  if (!all) {
    double pieces = 1;  // all parts of each group: an upper bound, where values repeat
    std::size_t run = 0;
    for (std::size_t i = 0; i < p.stores.size(); i += run) {
      for (run = 1; i + run < p.stores.size() && p.stores[i].group != 0 &&
                    p.stores[i + run].group == p.stores[i].group;)
        ++run;
      pieces += static_cast<double>((std::uint64_t{1} << std::min<std::size_t>(run, 62)) - 1);
    }
    p.choices = pieces;
  }
  return p.options;
}

}  // namespace durahash::crash
