#include "test/ptx/parser.hpp"

#include <cctype>
#include <cstdlib>
#include <functional>
#include <optional>
#include <regex>
#include <set>
#include <sstream>

namespace durahash::ptx {
namespace {

std::string trimmed(const std::string& s) {
  std::size_t first = s.find_first_not_of(" \t"), last = s.find_last_not_of(" \t");
  return first == std::string::npos ? "" : s.substr(first, last - first + 1);
}

/// At a separator outside of brackets.
std::vector<std::string> split(const std::string& s, char separator) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (char c : s) {
    depth += (c == '{' || c == '[') - (c == '}' || c == ']');
    if (c == separator && depth == 0) parts.emplace_back();
    else parts.back() += c;
  }
  for (std::string& part : parts) part = trimmed(part);
  return parts;
}

struct type {
  unsigned bytes = 0;
  bool is_signed = false, is_predicate = false, is_float = false;
};
std::optional<type> type_of(const std::string& name) {
  if (name == "pred") return type{1, false, true};
  if (name == "f32") return type{4, false, false, true};
  if (name.size() < 2 || std::string("usb").find(name[0]) == std::string::npos ||
      std::isdigit(static_cast<unsigned char>(name[1])) == 0)
    return std::nullopt;
  unsigned bits = static_cast<unsigned>(std::atoi(name.c_str() + 1));
  if (bits != 8 && bits != 16 && bits != 32 && bits != 64) return std::nullopt;
  return type{bits / 8, name[0] == 's', false};
}

class kernel_parser {
 public:
  explicit kernel_parser(kernel& k) : k_(k) {}

  void line(const std::string& text, std::uint32_t number) {
    text_ = text, number_ = number;
    if (text == "{" || text == "}" || text == ")" || text == "(") return;
    if (text[0] != '{') return statement(text);
    // several in braces: registers of their own, and what uses them
    std::size_t end = text.rfind('}');
    if (end == std::string::npos) refuse("a block that goes on");
    for (const std::string& each : split(text.substr(1, end - 1), ';'))
      if (!each.empty()) statement(each);
  }
  void finish() {
    for (auto [at, label] : branches_) {
      if (!labels_.contains(label)) throw parse_error("no label " + label + " in " + k_.name);
      k_.code[at].target = labels_[label];
    }
    k_.registers = static_cast<std::uint32_t>(registers_.size());
  }

 private:
  using names = std::vector<std::string>;

  [[noreturn]] void refuse(const std::string& why) const {
    throw parse_error("line " + std::to_string(number_) + ", '" + text_ + "': " + why);
  }

  void statement(const std::string& text) {
    text_ = text;
    if (text.starts_with(".param")) return add_parameter();
    if (text.starts_with(".local")) return add_local();
    if (text.starts_with(".reg")) return add_registers();
    if (text.starts_with(".maxntid") || text.starts_with(".pragma")) return;
    if (text[0] == '.') refuse("a directive that the interpreter lacks");
    if (text.back() == ':') {
      labels_[text.substr(0, text.size() - 1)] = static_cast<std::uint32_t>(k_.code.size());
      return;
    }
    add_instruction(text.back() == ';' ? text.substr(0, text.size() - 1) : text);
  }
  /// Names without the usual mark.
  void add_registers() {
    std::istringstream words(text_);
    std::string word;
    while (words >> word)
      if (word[0] != '.') declared_.insert(word.substr(0, word.find_first_of(",;<")));
  }
  void add_parameter() {
    std::istringstream words(text_);
    std::string word, name;
    unsigned alignment = 0, bytes = 0, ignored = 0;
    bool is_pointer = false;
    words >> word;
    while (words >> word) {
      if (word == ".ptr") is_pointer = true;  // what follows is of what it points to
      else if (word == ".align") words >> (is_pointer ? ignored : alignment);
      else if (word[0] == '.')
        bytes = is_pointer ? bytes : type_of(word.substr(1)).value_or(type{}).bytes;
      else name = word;
    }
    if (name.back() == ',') name.pop_back();
    if (bytes == 0) refuse("a parameter of no known type");
    if (alignment == 0) alignment = bytes;
    if (std::size_t bracket = name.find('['); bracket != std::string::npos) {
      bytes *= static_cast<unsigned>(std::atoi(name.c_str() + bracket + 1));
      name.resize(bracket);
    }
    k_.parameter_bytes = (k_.parameter_bytes + alignment - 1) / alignment * alignment;
    symbols_[name] = {preset::source::parameter, k_.parameter_bytes};
    k_.parameters.push_back({k_.parameter_bytes, bytes});
    k_.parameter_bytes += bytes;
  }
  void add_local() {
    std::size_t bracket = text_.find('['), name = text_.rfind(' ', bracket);
    if (std::size_t tab = text_.rfind('\t', bracket); tab != std::string::npos)
      name = name == std::string::npos ? tab : std::max(name, tab);
    if (bracket == std::string::npos || name == std::string::npos) refuse("no array");
    constexpr std::uint32_t alignment = 16;
    symbols_[text_.substr(name + 1, bracket - name - 1)] = {preset::source::local, k_.local_bytes};
    auto bytes = static_cast<std::uint32_t>(std::atoi(text_.c_str() + bracket + 1));
    k_.local_bytes += (bytes + alignment - 1) / alignment * alignment;
  }

  register_index preset_register(const std::string& name, preset::source from,
                                 std::uint64_t value) {
    auto [at, is_new] = registers_.emplace(name, static_cast<register_index>(registers_.size()));
    if (is_new) k_.presets.push_back({at->second, from, value});
    return at->second;
  }
  register_index operand(const std::string& s) {
    static const std::map<std::string, preset::source> special = {
        {"%tid.x", preset::source::thread_x},   {"%ctaid.x", preset::source::block_x},
        {"%ntid.x", preset::source::threads_x}, {"%nctaid.x", preset::source::blocks_x},
        {"%laneid", preset::source::lane},      {"%lanemask_lt", preset::source::lane_mask_lt}};
    if (s.empty()) refuse("an operand is missing");
    if (auto known = special.find(s); known != special.end())
      return preset_register(s, known->second, 0);
    if (s[0] == '%' || declared_.contains(s)) {
      if (s.find('.') != std::string::npos) refuse("a special register that is not known");
      return registers_.emplace(s, static_cast<register_index>(registers_.size())).first->second;
    }
    if (std::isdigit(static_cast<unsigned char>(s[0])) != 0 || s[0] == '-') {
      const bool is_float = s.starts_with("0f") && constant_bytes_ == 4;
      if (s.find('.') != std::string::npos || (s[1] == 'f' && !is_float) || s[1] == 'd')
        refuse("a number that is not whole");
      std::uint64_t value = is_float ? std::strtoull(s.c_str() + 2, nullptr, 16)
                            : s[0] == '-'
                                ? static_cast<std::uint64_t>(std::strtoll(s.c_str(), nullptr, 0))
                                : std::strtoull(s.c_str(), nullptr, 0);
      unsigned width = constant_bytes_;
      if (width < 8) value &= (std::uint64_t{1} << 8 * width) - 1;
      return preset_register("#" + s + ":" + std::to_string(width), preset::source::constant,
                             value);
    }
    auto symbol = symbols_.find(s);
    if (symbol == symbols_.end()) refuse("a symbol that is not known");
    return preset_register("&" + s, symbol->second.first, symbol->second.second);
  }
  void operands(const std::string& s, std::vector<register_index>& to) {
    if (s.empty()) refuse("an operand is missing");
    char separator = s[0] == '{' ? ',' : '|';
    for (const std::string& each : split(s[0] == '{' ? s.substr(1, s.size() - 2) : s, separator))
      to.push_back(each == "_" ? operand("%ignored") : operand(each));
  }
  void address(const std::string& s) {
    if (s.size() < 2 || s[0] != '[') refuse("no address");
    std::string inside = s.substr(1, s.size() - 2);
    if (std::size_t plus = inside.find('+'); plus != std::string::npos) {
      i_.offset = std::strtoll(inside.c_str() + plus + 1, nullptr, 0);
      inside.resize(plus);
    }
    i_.from.push_back(operand(trimmed(inside)));
  }

  void add_instruction(std::string s) {
    i_ = {};
    constant_bytes_ = 8;
    i_.line = number_, i_.text = text_;
    if (s[0] == '@') {
      std::size_t end = s.find_first_of(" \t");
      i_.guarded = true, i_.guard_negated = s[1] == '!';
      i_.guard = operand(s.substr(i_.guard_negated ? 2 : 1, end - (i_.guard_negated ? 2 : 1)));
      s = trimmed(s.substr(end));
    }
    std::size_t end = s.find_first_of(" \t");
    names name = split(s.substr(0, end), '.');
    std::string rest = end == std::string::npos ? "" : trimmed(s.substr(end));
    read_types(name);
    decode(name, rest.empty() ? names{} : split(rest, ','));
    k_.code.push_back(i_);
  }
  void read_types(const names& name) {
    for (const char* lacking : {"f16", "bf16", "f16x2", "bf16x2", "f64"})
      if (name.size() > 1 && has(name, lacking)) refuse_unknown();
    std::optional<type> first, last;
    for (std::size_t n = 1; n < name.size(); ++n)
      if (std::optional<type> t = type_of(name[n])) last = t, first = first ? first : t;
    if (!first) return;
    i_.bytes = static_cast<std::uint8_t>(last->bytes);
    i_.result_bytes = static_cast<std::uint8_t>(first->bytes);
    i_.is_signed = first->is_signed, i_.source_signed = last->is_signed;
    i_.is_predicate = first->is_predicate, i_.is_float = first->is_float;
    constant_bytes_ = i_.bytes;
  }
  static bool has(const names& name, const std::string& part) {
    return std::find(name.begin() + 1, name.end(), part) != name.end();
  }
  template <class T>
  T one_of(const names& name, const std::map<std::string, T>& known) const {
    for (std::size_t n = 1; n < name.size(); ++n)
      if (auto at = known.find(name[n]); at != known.end()) return at->second;
    refuse("an instruction that the interpreter lacks");
  }

  /// Destination, then sources.
  void plain(opcode what, const names& a) {
    i_.what = what;
    if (a.empty()) refuse("no operands");
    operands(a[0], i_.to);
    for (std::size_t n = 1; n < a.size(); ++n) {
      // how far to shift, which bytes: 32 bits whatever is shifted
      if (n == 2 && (what == opcode::shift_left || what == opcode::shift_right))
        constant_bytes_ = 4;
      if (n >= 3 && what == opcode::insert_bits) constant_bytes_ = 4;
      if (n == 3 && what == opcode::multiply_add && i_.of_distance) constant_bytes_ = 2 * i_.bytes;
      operands(a[n], i_.from);
    }
  }
  void decode(const names& name, const names& a) {
    static const std::map<std::string, opcode> simple = {
        {"mov", opcode::move},          {"add", opcode::add},
        {"sub", opcode::subtract},      {"div", opcode::divide},
        {"rem", opcode::remainder},     {"and", opcode::bit_and},
        {"or", opcode::bit_or},         {"xor", opcode::bit_xor},
        {"not", opcode::bit_not},       {"neg", opcode::negate},
        {"shl", opcode::shift_left},    {"shr", opcode::shift_right},
        {"brev", opcode::reverse_bits}, {"popc", opcode::count_bits},
        {"clz", opcode::count_leading}, {"max", opcode::maximum},
        {"min", opcode::minimum},       {"selp", opcode::select},
        {"prmt", opcode::permute},      {"bfi", opcode::insert_bits},
        {"cvta", opcode::move},         {"lop3", opcode::three_way_logic}};
    const std::string& base = name[0];
    if (i_.is_float && decode_float(name, a)) return;
    if (auto at = simple.find(base); at != simple.end()) {
      if (base == "cvta" && !has(name, "global") && !has(name, "local") && !has(name, "param"))
        refuse("an address space that the interpreter lacks");
      // mov between register kinds, add.cc, add.sat and the like are other instructions
      if (name.size() > (base == "cvta" ? 4u : 2u) || (has(name, "cc"))) refuse_unknown();
      plain(at->second, a);
      if (base == "mov" && i_.to.size() == 2) i_.what = opcode::unpack;
      else if (base == "mov" && i_.from.size() == 2) i_.what = opcode::pack;
      return;
    }
    if (base == "mul" || base == "mad") return decode_multiply(name, a);
    if (base == "bfind") {
      plain(opcode::find_bit, a);
      i_.of_distance = has(name, "shiftamt");
      if (i_.is_signed) refuse_unknown();
      return;
    }
    if (base == "shf") {
      if (!has(name, "wrap") && !has(name, "clamp")) refuse_unknown();
      i_.of_distance = has(name, "clamp");
      return plain(has(name, "l") ? opcode::funnel_left : opcode::funnel_right, a);
    }
    if (base == "setp") return decode_compare(name, a);
    if (base == "cvt") {
      if (name.size() != 3) refuse_unknown();
      return plain(opcode::convert, a);
    }
    if (base == "bra") {
      i_.what = opcode::branch;
      branches_.emplace_back(k_.code.size(), a.at(0));
      return;
    }
    if (base == "ret" || base == "exit") return static_cast<void>(i_.what = opcode::leave);
    if (base == "nanosleep") return static_cast<void>(i_.what = opcode::sleep);
    if (base == "activemask") return plain(opcode::active_mask, a);
    if (base == "ld" || base == "st" || base == "atom" || base == "red" || base == "fence" ||
        base == "membar")
      return decode_memory(name, a);
    decode_warp(name, a);
  }
  [[noreturn]] void refuse_unknown() const { refuse("an instruction that the interpreter lacks"); }

  /// False: it moves bits, whatever they are.
  bool decode_float(const names& name, const names& a) {
    static const std::map<std::string, opcode> known = {
        {"add", opcode::float_add},      {"sub", opcode::float_subtract},
        {"mul", opcode::float_multiply}, {"fma", opcode::float_multiply_add},
        {"div", opcode::float_divide},   {"cvt", opcode::float_of_integer},
        {"setp", opcode::float_compare}};
    static const std::set<std::string> moves = {"mov", "selp", "ld", "st"};
    if (moves.contains(name[0])) return false;
    auto at = known.find(name[0]);
    if (at == known.end()) refuse_unknown();
    std::size_t described = 2;  // the operation and its type
    if (name[0] == "cvt") {
      if (type_of(name.back()).value_or(type{0, false, false, true}).is_float) refuse_unknown();
      ++described;
    }
    if (name[0] == "setp") {
      std::string how = name[1];
      i_.or_unordered = how.size() == 3 && how[2] == 'u';
      i_.compared = one_of<comparison>({name[0], how.substr(0, 2)}, {{"eq", comparison::eq},
                                                                     {"ne", comparison::ne},
                                                                     {"lt", comparison::lt},
                                                                     {"le", comparison::le},
                                                                     {"gt", comparison::gt},
                                                                     {"ge", comparison::ge}});
      ++described;
    } else if (has(name, "rn")) {
      ++described;
    } else if (name[0] == "div" || name[0] == "cvt") {
      refuse_unknown();  // another rounding
    }
    if (name.size() != described) refuse_unknown();
    return plain(at->second, a), true;
  }
  void decode_multiply(const names& name, const names& a) {
    opcode what = one_of<opcode>(name, {{"lo", opcode::multiply_low},
                                        {"hi", opcode::multiply_high},
                                        {"wide", opcode::multiply_wide}});
    if (name[0] == "mul") return plain(what, a);
    if (what == opcode::multiply_high || has(name, "cc")) refuse_unknown();
    i_.of_distance = what == opcode::multiply_wide;  // the sum is twice as wide
    plain(opcode::multiply_add, a);
  }
  void decode_compare(const names& name, const names& a) {
    i_.compared = one_of<comparison>(name, {{"eq", comparison::eq},
                                            {"ne", comparison::ne},
                                            {"lt", comparison::lt},
                                            {"le", comparison::le},
                                            {"gt", comparison::gt},
                                            {"ge", comparison::ge},
                                            {"lo", comparison::lt},
                                            {"ls", comparison::le},
                                            {"hi", comparison::gt},
                                            {"hs", comparison::ge}});
    if (name.size() != 3) refuse_unknown();  // with a second predicate
    plain(opcode::compare, a);
  }

  void decode_memory(const names& name, const names& a) {
    static const std::map<std::string, strength> orders = {{"weak", strength::weak},
                                                           {"relaxed", strength::relaxed},
                                                           {"acquire", strength::acquire},
                                                           {"release", strength::release},
                                                           {"acq_rel", strength::acquire_release},
                                                           {"sc", strength::sequential},
                                                           {"volatile", strength::relaxed}};
    static const std::map<std::string, scope> scopes = {{"cta", scope::block},
                                                        {"gpu", scope::device},
                                                        {"gl", scope::device},
                                                        {"sys", scope::system}};
    static const std::map<std::string, space> spaces = {
        {"global", space::global}, {"param", space::parameter}, {"local", space::local}};
    static const std::map<std::string, atomic_kind> kinds = {
        {"add", atomic_kind::add},   {"cas", atomic_kind::cas},       {"and", atomic_kind::bit_and},
        {"or", atomic_kind::bit_or}, {"exch", atomic_kind::exchange}, {"max", atomic_kind::max},
        {"min", atomic_kind::min}};
    bool is_atomic = name[0] == "atom" || name[0] == "red",
         is_fence = name[0] == "fence" || name[0] == "membar";
    i_.order = is_atomic  ? strength::relaxed
               : is_fence ? strength::acquire_release
                          : strength::weak;
    if (name[0] == "membar") i_.order = strength::sequential;
    i_.seen_by = is_atomic ? scope::device : scope::system;
    for (std::size_t n = 1; n < name.size(); ++n) {
      const std::string& part = name[n];
      if (auto o = orders.find(part); o != orders.end()) i_.order = o->second;
      else if (auto s = scopes.find(part); s != scopes.end()) i_.seen_by = s->second;
      else if (auto w = spaces.find(part); w != spaces.end()) i_.where = w->second;
      else if (auto k = kinds.find(part); is_atomic && k != kinds.end()) i_.kind = k->second;
      else if (!type_of(part) && part != "v2" && part != "v4" && part != "nc" &&
               !part.starts_with("L1::") && !part.starts_with("L2::"))
        refuse_unknown();
    }
    if (is_fence) return static_cast<void>(i_.what = opcode::fence);
    i_.what = is_atomic ? opcode::atomic : name[0] == "ld" ? opcode::load : opcode::store;
    std::size_t next = 0;
    if (name[0] == "ld" || name[0] == "atom") operands(a.at(next++), i_.to);
    address(a.at(next++));
    for (; next < a.size(); ++next) operands(a[next], i_.from);
  }
  void decode_warp(const names& name, const names& a) {
    bool sync = has(name, "sync");
    if (name[0] == "bar" && has(name, "warp") && sync) {
      i_.what = opcode::warp_barrier;
      return operands(a.at(0), i_.from);
    }
    if (name[0] == "shfl" && sync) {
      i_.shuffled = one_of<shuffle_kind>(name, {{"idx", shuffle_kind::index},
                                                {"up", shuffle_kind::up},
                                                {"down", shuffle_kind::down},
                                                {"bfly", shuffle_kind::butterfly}});
      return plain(opcode::shuffle, a);
    }
    if (name[0] == "vote" && sync) {
      i_.voted = one_of<vote_kind>(
          name, {{"ballot", vote_kind::ballot}, {"any", vote_kind::any}, {"all", vote_kind::all}});
      return plain(opcode::vote, a);
    }
    if (name[0] == "match" && has(name, "any") && sync) return plain(opcode::match, a);
    refuse_unknown();
  }

  kernel& k_;
  std::map<std::string, register_index> registers_;
  std::map<std::string, std::pair<preset::source, std::uint64_t>> symbols_;
  std::set<std::string> declared_;
  std::map<std::string, std::uint32_t> labels_;
  std::vector<std::pair<std::size_t, std::string>> branches_;
  instruction i_;
  unsigned constant_bytes_ = 8;  // of an operand that is a number
  std::string text_;
  std::uint32_t number_ = 0;
};

}  // namespace

std::string stable_name(const std::string& mangled) {
  static const std::regex unit("[0-9]+_GLOBAL__N__[0-9a-f]+_[0-9]+_([a-z_]+)_[0-9a-f]{8}");
  return std::regex_replace(mangled, unit, "($1)");
}

void parse(const std::string& text, module& into) {
  std::istringstream all(text);
  std::optional<kernel_parser> at;
  std::string line;
  for (std::uint32_t number = 1; std::getline(all, line); ++number) {
    line = trimmed(line.substr(0, line.find("//")));
    if (line.empty()) continue;
    if (std::size_t entry = line.find(".entry "); entry != std::string::npos) {
      if (at) at->finish();
      std::string name = line.substr(entry + 7);
      name = stable_name(trimmed(name.substr(0, name.find('('))));
      kernel& k = into[name] = {};
      k.name = name;
      at.emplace(k);
    } else if (line.find(".func ") != std::string::npos) {
      throw parse_error("line " + std::to_string(number) + ": a function that is called");
    } else if (at) {
      at->line(line, number);
    }
  }
  if (at) at->finish();
}

}  // namespace durahash::ptx
