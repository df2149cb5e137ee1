// durahash inspect: what lies where in a pool.
#include "durahash/inspect.hpp"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "arguments.hpp"
#include "encoding.hpp"
#include "failure.hpp"
#include "numbers.hpp"
#include "output.hpp"
#include "pool.hpp"

namespace durahash::tool {
namespace {

using nlohmann::ordered_json;

struct inspect_arguments {
  std::string pool;
  std::string at;
  std::string key;
  bool has_at = false, has_key = false;
  bool json = false;
};

// ------------------------------------------------------------------------------------------- JSON

void add_fact(ordered_json& facts, const part_fact& fact) {
  if (const auto* raw = std::get_if<raw_bytes>(&fact.value)) {
    if (is_utf8(raw->bytes)) return void(facts[fact.name] = raw->bytes);
    std::string base64;
    append_base64(base64, raw->bytes);
    facts[fact.name + "_base64"] = base64;
    return;
  }
  std::visit(
      [&](const auto& value) {
        if constexpr (!std::is_same_v<std::decay_t<decltype(value)>, raw_bytes>)
          facts[fact.name] = value;
      },
      fact.value);
}

ordered_json json_of(const std::vector<pool_part>& parts) {
  auto list = ordered_json::array();
  for (const pool_part& p : parts) {
    ordered_json one{{"kind", p.kind}, {"name", p.name}, {"offset", p.offset}, {"bytes", p.bytes}};
    if (p.named_by != 0) one["named_by"] = p.named_by;
    one["facts"] = ordered_json::object();
    for (const part_fact& fact : p.facts) add_fact(one["facts"], fact);
    list.push_back(std::move(one));
  }
  return list;
}

ordered_json json_of(const std::vector<part_group>& groups) {
  auto list = ordered_json::array();
  for (const part_group& g : groups)
    list.push_back({{"kind", g.kind}, {"state", g.state}, {"count", g.count}, {"bytes", g.bytes}});
  return list;
}

// ------------------------------------------------------------------------------------------- text

std::string text_of(const part_fact& fact) {
  struct {
    std::string operator()(std::uint64_t n) const { return std::to_string(n); }
    std::string operator()(bool yes) const { return yes ? "yes" : "no"; }
    std::string operator()(const std::string& text) const { return text; }
    std::string operator()(const raw_bytes& raw) const {
      return shown(data_kind::bytes, raw.bytes);
    }
  } as_text;
  return std::visit(as_text, fact.value);
}

std::string words_of(std::string name) {
  for (char& c : name)
    if (c == '_') c = ' ';
  return name;
}

/// Slots are many: one line each. All else says its facts below its name.
std::string text_of(const pool_part& p) {
  std::string text = p.kind == "search" ? p.name : fmt::format("{}: at {}", p.name, p.offset);
  if (p.bytes != 0) text += fmt::format(", {}", counted(p.bytes, "byte"));
  const bool slot = p.kind.ends_with("slot");
  if (slot) text = "  " + text + ":";
  for (std::size_t i = 0; i < p.facts.size(); ++i) {
    const std::string name = words_of(p.facts[i].name), value = text_of(p.facts[i]);
    if (slot) text += (i == 0 ? " " : ", ") + (name == "state" ? value : name + " " + value);
    else text += fmt::format("\n  {:<36}{}", name, value);
  }
  return text + "\n";
}

std::string text_of(const std::vector<pool_part>& parts) {
  std::string text;
  for (const pool_part& p : parts) text += text_of(p);
  return text;
}

std::string text_of(const part_group& g) {
  const std::string what = g.state.empty() ? g.kind : g.kind + ", " + g.state;
  return fmt::format("{:<32}{:>16}{:>20} bytes\n", what, grouped(g.count), grouped(g.bytes));
}

std::string text_of(const pool_overview& all) {
  std::string text = text_of(all.parts);
  if (!all.groups.empty()) text += fmt::format("\n{:<32}{:>16}\n", "counted", "how many");
  for (const part_group& g : all.groups) text += text_of(g);
  return text;
}

std::string text_of(const pool_place& place, std::uint64_t offset) {
  if (place.parts.empty()) return fmt::format("nothing that is known lies at {}\n", offset);
  std::string text = text_of(place.parts);
  for (const pool_part& p : place.named_by)
    text += fmt::format("named by {}: at {}\n", p.name, p.offset);
  return text;
}

// ----------------------------------------------------------------------------------------- command

std::uint64_t offset_of(const std::string& text) {
  if (const auto offset = parse_word(text)) return *offset;
  throw failure(exit_usage, "--at " + text +
                                " is not an offset: write it in decimal, or in hexadecimal after "
                                "0x");
}

void print_json(const inspection& pool, const inspect_arguments& arguments, ordered_json answer) {
  ordered_json whole{{"pool", arguments.pool}};
  whole["refusal"] = pool.refusal().empty() ? ordered_json() : ordered_json(pool.refusal());
  whole.update(answer);
  print(whole.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n");
}

void show_all(inspection& pool, const inspect_arguments& arguments) {
  const pool_overview all = pool.overview();
  if (!arguments.json) return print(text_of(all));
  print_json(pool, arguments, {{"parts", json_of(all.parts)}, {"groups", json_of(all.groups)}});
}

void show_offset(inspection& pool, const inspect_arguments& arguments) {
  const std::uint64_t offset = offset_of(arguments.at);
  const auto place = pool.at(offset);
  if (!place) throw failure(exit_usage, "--at " + arguments.at + ": " + place.failure().message);
  if (!arguments.json) return print(text_of(*place, offset));
  print_json(pool, arguments,
             {{"offset", offset},
              {"parts", json_of(place->parts)},
              {"named_by", json_of(place->named_by)}});
}

bool show_key(inspection& pool, const inspect_arguments& arguments) {
  if (!pool.refusal().empty()) throw failure(exit_unusable, pool.refusal());
  const data_kind kind = pool.kinds().key;
  const std::string key = bytes_of(kind, arguments.key, "key");
  const auto search = pool.find(key);
  if (!search)
    throw failure(exit_code_of(search.failure().code),
                  "the key " + shown(kind, key) + ": " + search.failure().message);
  if (arguments.json)
    print_json(pool, arguments, {{"found", search->found}, {"parts", json_of(search->parts)}});
  else print(text_of(search->parts) + (search->found ? "the key is there\n" : "no such key\n"));
  return search->found;
}

int inspect(const inspect_arguments& arguments) {
  check_pool_name(arguments.pool);
  auto pool = inspection::open(arguments.pool);
  if (!pool) refuse_pool(arguments.pool, pool.failure());
  if (arguments.has_key) return show_key(*pool, arguments) ? exit_done : exit_not_found;
  if (arguments.has_at) show_offset(*pool, arguments);
  else show_all(*pool, arguments);
  if (pool->refusal().empty()) return exit_done;
  tell("durahash inspect: " + pool->refusal() + "; what is known without its table is above\n");
  return exit_unusable;
}

}  // namespace

void add_inspect(command_line app, int& exit_code) {
  auto arguments = std::make_shared<inspect_arguments>();
  command_line command =
      app.add_subcommand("inspect", "Print what lies where in a pool, damaged or not");
  add_pool_argument(command, arguments->pool);
  option at =
      command.add_option("--at", arguments->at, "what lies at this offset, and what leads to it");
  option key = command.add_option("--key", arguments->key,
                                  "the way of a key: its hash, its buckets, slot by slot");
  at.type_name("OFFSET").excludes(key);
  key.type_name("K");
  command.add_flag("--json", arguments->json, "as a JSON object");
  command.footer(
      "Reads alone, and repairs nothing. A pool that the machine went down under, or a copy of an "
      "open\n"
      "one, is shown as it lies there; one that a process has open to write is refused.\n"
      "Exit code 1 if the key is absent, 3 if the table cannot be read: what is known without it "
      "is printed.\n"
      "--json has pool, refusal (or null), parts (kind, name, offset, bytes, named_by, facts), and "
      "groups\n"
      "(kind, state, count, bytes); with --at offset and named_by; with --key found.\n\n"
      "Examples:\n"
      "  durahash inspect users.dh\n"
      "  durahash inspect users.dh --key alice\n"
      "  durahash inspect users.dh --at 0x10000 --json");
  command.callback([arguments, at, key, &exit_code] {
    arguments->has_at = at.was_given();
    arguments->has_key = key.was_given();
    exit_code = inspect(*arguments);
  });
}

}  // namespace durahash::tool
