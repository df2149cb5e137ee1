#include <fmt/format.h>

#include "bench/reproduce/report.hpp"

namespace durahash::reproduce {
namespace {

constexpr std::size_t columns = 100, indent = 20;

/// Words in lines behind an indent.
std::string wrapped(std::string_view text, std::size_t first_indent) {
  std::string lines;
  std::size_t column = first_indent;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (column > indent && column + 1 + word.size() > columns) {
      lines += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      lines += ' ';
      ++column;
    }
    lines += word;
    column += word.size();
  }
  return lines;
}

std::string labelled(std::string_view label, std::string_view text) {
  return fmt::format("{:>{}}  {}\n", label, indent - 2, wrapped(text, indent));
}

std::string text_of(const row& one) {
  const claim& of = *one.of;
  const finding& f = one.found;
  std::string text = fmt::format("{}  ({}; {})\n", of.id, of.where, name_of(of.rests_on));
  text += labelled("the paper", of.says);
  if (f.is == verdict::not_measured) return text + labelled("not measured here", f.reason) + "\n";
  text += labelled("here", fmt::format("{}: {:.4g} {}", of.measured, f.value, f.unit));
  std::string beside;
  for (const auto& [name, value] : f.beside)
    beside += fmt::format("{}{} {:.4g}", beside.empty() ? "" : "; ", name, value);
  if (!beside.empty()) text += labelled("beside", beside);
  text += labelled(name_of(f.is), f.is == verdict::holds ? "as the paper says" : f.reason);
  if (!f.note.empty()) text += labelled("note", f.note);
  if (!f.parameters.empty()) text += labelled("with", f.parameters);
  return text + "\n";
}

}  // namespace

std::string text_of(const report& all) {
  std::string text;
  int counted[3] = {};
  engine_kind last{};
  for (const row& one : all.rows) {
    if (one.of->engine != last) text += fmt::format("== {}\n\n", paper_of(last = one.of->engine));
    text += text_of(one);
    ++counted[static_cast<unsigned>(one.found.is)];
  }
  text += fmt::format(
      "{} claims: {} hold, {} differ, {} cannot be measured here\n{} records, seed {}{}; {:.0f} s, "
      "{:.0f} s of a processor\n"
      "{}, {} cores, load average up to {:.1f}, commit {}; {}\n",
      all.rows.size(), counted[0], counted[1], counted[2], all.asked.keys, all.asked.seed,
      all.asked.quick ? ", quick" : "", all.seconds, all.processor_seconds, all.machine.cpu,
      all.machine.cores, all.load_average, all.machine.commit,
      all.asked.on ? (*all.asked.on)->name() : "no device");
  return text;
}

}  // namespace durahash::reproduce
