#include "bench/harness/harness_table.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "bench/harness/number.hpp"

namespace durahash::harness {
namespace {

/// The environment's word for it, through `named`; nothing where there is none.
template <class Named>
auto from_environment(const char* name, Named named) -> decltype(named(std::string_view())) {
  const char* text = std::getenv(name);
  if (text == nullptr) return {};
  auto found = named(text);
  if (!found) give_up(std::string(name) + "=" + text + ": there is no such thing");
  return found;
}

std::uint64_t word_of(std::string_view bytes) {
  std::uint64_t word = 0;
  if (bytes.size() != sizeof word) give_up("a key or value of a table of words has 8 bytes");
  std::memcpy(&word, bytes.data(), sizeof word);
  return word;
}

/// Whether it was done; `otherwise` is the harness's other answer.
bool done(status answer, status otherwise) {
  if (answer == status::ok || answer == otherwise) return answer == status::ok;
  give_up(std::string("an operation is answered: ") + std::string(message(answer)));
}

/// Calls `of_words` or `of_bytes` with the table.
template <class Variant, class OfWords, class OfBytes>
bool either(Variant& table_of, OfWords of_words, OfBytes of_bytes) {
  if (auto* w = std::get_if<0>(&table_of)) return of_words(*w);
  return of_bytes(std::get<1>(table_of));
}

}  // namespace

void give_up(const std::string& why) {
  std::fprintf(stderr, "durahash: %s\n", why.c_str());
  std::exit(1);
}

options options_of(const harness_options& from) {
  options how;
  how.medium = from.path.empty() ? medium_kind::memory : medium_kind::automatic;
  how.max_bytes = from.max_bytes;
  how.capacity = from_environment("DURAHASH_CAPACITY", number_of).value_or(from.capacity);
  how.engine = from_environment("DURAHASH_ENGINE", engine_named);
  how.durability = from_environment("DURAHASH_DURABILITY", durability_named);
  return how;
}

std::variant<harness_table::words, table> harness_table::opened(const harness_options& how) {
  const options all = options_of(how);
  auto or_give_up = [](auto&& pool) -> std::variant<words, table> {
    if (!pool) give_up(pool.failure().message);
    return std::move(*pool);
  };
  if (how.key_bytes == 8 && how.value_bytes == 8) return or_give_up(words::open(how.path, all));
  return or_give_up(table::open(how.path, all));
}

harness_table::harness_table(const harness_options& how)
    : value_bytes_(how.value_bytes), table_(opened(how)) {}

handle& harness_table::pool() {
  return std::visit([](handle& each) -> handle& { return each; }, table_);
}

bool harness_table::find(std::string_view key, char* value) const {
  return either(
      table_,
      [&](const words& t) {
        std::uint64_t word;
        status found = t.get(word_of(key), word);
        if (found == status::ok) std::memcpy(value, &word, sizeof word);
        return done(found, status::not_found);
      },
      [&](const table& t) {
        status found = t.read(key, [&](std::string_view bytes) {
          std::memcpy(value, bytes.data(), std::min(bytes.size(), value_bytes_));
        });
        return done(found, status::not_found);
      });
}

bool harness_table::insert(std::string_view key, std::string_view value) {
  return either(
      table_,
      [&](words& t) { return done(t.insert(word_of(key), word_of(value)), status::exists); },
      [&](table& t) { return done(t.insert(key, value), status::exists); });
}

bool harness_table::update(std::string_view key, std::string_view value) {
  return either(
      table_,
      [&](words& t) { return done(t.update(word_of(key), word_of(value)), status::not_found); },
      [&](table& t) { return done(t.update(key, value), status::not_found); });
}

bool harness_table::remove(std::string_view key) {
  return either(
      table_, [&](words& t) { return done(t.erase(word_of(key)), status::not_found); },
      [&](table& t) { return done(t.erase(key), status::not_found); });
}

}  // namespace durahash::harness
