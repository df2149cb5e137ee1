#include "explorer/images.hpp"

#include <algorithm>
#include <cmath>

namespace durahash::crash {
namespace {

struct candidate {
  line_number line;
  std::uint32_t options;
  std::uint32_t all;  // the option with every store kept
  bool commits;
};

/// One call of images_of.
class selection {
 public:
  selection(std::vector<candidate> lines, const effort& how, std::mt19937_64& random,
            const std::function<bool(const image&)>& visit)
      : lines_(std::move(lines)), how_(how), random_(random), visit_(visit) {}

  void all() {
    std::vector<std::uint32_t> at(lines_.size(), 0);
    while (true) {
      image chosen;
      for (std::size_t i = 0; i < lines_.size(); ++i)
        if (at[i] != 0) chosen.push_back({lines_[i].line, at[i]});
      if (!visit(std::move(chosen))) return;
      std::size_t i = 0;
      while (i < lines_.size() && ++at[i] == lines_[i].options) at[i++] = 0;
      if (i == lines_.size()) return;
    }
  }

  void some() {
    std::vector<std::size_t> tried = spread(how_.lines_each);
    if (!visit({}) || !visit(maximal())) return;
    for (std::size_t i : tried)
      if (!each_option_alone(i) || !visit(without(i))) return;
    if (!commit_guided(tried) || !pairs(tried)) return;
    for (std::size_t n = 0; n < how_.samples; ++n)
      if (!visit(sample(n))) return;
  }

 private:
  bool visit(image chosen) { return visit_(chosen); }

  /// At most `most` lines: every commit line, and others with equal gaps.
  std::vector<std::size_t> spread(std::size_t most) const {
    std::vector<std::size_t> made;
    double step = std::max(1.0, static_cast<double>(lines_.size()) / static_cast<double>(most)),
           next = 0;
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      bool due = static_cast<double>(i) >= next;
      if (due) next += step;
      if (due || lines_[i].commits) made.push_back(i);
    }
    return made;
  }
  image maximal() const {
    image made;
    for (const candidate& c : lines_) made.push_back({c.line, c.all});
    return made;
  }
  image without(std::size_t skipped) const {
    image made = maximal();
    made.erase(made.begin() + static_cast<std::ptrdiff_t>(skipped));
    return made;
  }
  bool each_option_alone(std::size_t i) {
    std::uint32_t most = lines_[i].commits ? 16 : 6;  // a payload's many parts are much alike
    std::uint32_t step = 1 + lines_[i].options / most;
    for (std::uint32_t option = 1; option < lines_[i].options; option += step)
      if (!visit({{lines_[i].line, option}})) return false;
    return visit({{lines_[i].line, lines_[i].all}});
  }

  /// The commit word is there, with each one other line; without() has each one line missing behind
  /// it. And all but the commits.
  bool commit_guided(const std::vector<std::size_t>& tried) {
    image no_commits;
    for (const candidate& c : lines_)
      if (!c.commits) no_commits.push_back({c.line, c.all});
    if (!visit(std::move(no_commits))) return false;
    for (std::size_t i : tried) {
      if (!lines_[i].commits) continue;
      for (std::size_t j : tried)
        if (j != i && !visit(two({lines_[i].line, lines_[i].all}, {lines_[j].line, lines_[j].all})))
          return false;
    }
    return true;
  }

  /// Pairs of neighbours in order of address, each with a prefix of its own.
  bool pairs(const std::vector<std::size_t>& tried) {
    for (std::size_t n = 0; n + 1 < tried.size(); ++n) {
      const candidate &a = lines_[tried[n]], &b = lines_[tried[n + 1]];
      choice first{a.line, 1 + draw(a.options - 1)}, second{b.line, 1 + draw(b.options - 1)};
      if (!visit(two(first, second))) return false;
    }
    return true;
  }
  static image two(choice a, choice b) { return a.line < b.line ? image{a, b} : image{b, a}; }

  /// Strata: few lines kept, half, most; whole or cut anywhere.
  image sample(std::size_t n) {
    constexpr double shares[] = {0.5, 0.1, 0.9, 0.02, 0.98};
    double share = shares[n % std::size(shares)];
    image made;
    for (const candidate& c : lines_) {
      if (static_cast<double>(draw(1u << 20)) >= share * (1u << 20)) continue;
      made.push_back({c.line, draw(2) == 0 ? c.all : 1 + draw(c.options - 1)});
    }
    return made;
  }
  std::uint32_t draw(std::uint32_t below) { return static_cast<std::uint32_t>(random_() % below); }

  std::vector<candidate> lines_;
  const effort& how_;
  std::mt19937_64& random_;
  const std::function<bool(const image&)>& visit_;
};

}  // namespace

legal_images images_of(cache_model& model, const effort& how, std::mt19937_64& random,
                       const std::function<bool(const image&)>& visit) {
  std::vector<candidate> lines;
  legal_images found;
  double total = 1;
  bool whole = true;
  for (auto& [line, pending] : model.pending()) {
    auto options =
        static_cast<std::uint32_t>(model.options_of(line, pending, how.options_per_line).size());
    found.log10 += std::log10(pending.choices);
    whole &= pending.choices <= options;
    if (options < 2) continue;  // stores that changed nothing
    lines.push_back({line, options, pending.all, pending.commits()});
    total = std::min(total * options, 1e9);
  }
  found.all = whole && total <= static_cast<double>(how.all_up_to);
  selection chosen(std::move(lines), how, random, visit);
  found.all ? chosen.all() : chosen.some();
  return found;
}

std::uint64_t hash_of(cache_model& model, const image& chosen) {
  std::uint64_t hash = model.hash();
  for (choice c : chosen) {
    const std::vector<line_option>& options = model.pending().at(c.line).options;
    hash += options[c.option].hash - options[0].hash;
  }
  return hash;
}

}  // namespace durahash::crash
