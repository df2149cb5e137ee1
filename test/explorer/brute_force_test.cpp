// An independent judge of the cache model: a machine that runs small random programs in every way a
// machine may, and is stopped at the end. What it leaves must be exactly what the model says. It
// shares no code with the model: it knows lines, their contents and copies in flight, and nothing
// of prefixes or groups.
#include <array>
#include <cstdlib>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_set>

#include "explorer/machine.hpp"

namespace durahash::crash {
namespace {

constexpr std::size_t lines = 3, threads = 2, used_words = 3, used_bytes = used_words * 8;

/// Words that programs use: neighbours within a line, and across its end. Where they lie in a line.
constexpr std::size_t word_at[used_words] = {0, 6, 7};

struct instruction {
  enum class what { store, wide, flush, fence, exchange, failed_exchange } kind{};
  unsigned thread = 0;
  std::size_t line = 0, byte = 0;         // where
  std::size_t size = 0;                   // of a store, a wide store, a flush
  std::array<unsigned char, 24> bytes{};  // what is stored
};

using random_source = std::mt19937_64;

/// Few values, so that words come back to what they were.
unsigned char any_byte(random_source& random) { return static_cast<unsigned char>(random() % 3); }

instruction random_instruction(random_source& random, std::size_t threads_used) {
  using what = instruction::what;
  constexpr what shares[] = {what::store,    what::store,          what::store, what::store,
                             what::wide,     what::wide,           what::flush, what::flush,
                             what::flush,    what::fence,          what::fence, what::fence,
                             what::exchange, what::failed_exchange};
  instruction i;
  i.kind = shares[random() % std::size(shares)];
  i.thread = static_cast<unsigned>(random() % threads_used);
  i.line = random() % lines;
  i.byte = 8 * word_at[random() % used_words];
  if (i.kind == what::store) {
    i.size = std::size_t{1} << random() % 4;
    i.byte += random() % (8 / i.size) * i.size;
  }
  if (i.kind == what::wide) {  // unaligned at both ends; from the end of a line into the next
    i.byte = i.byte == 0 ? random() % 7 : 48 + random() % 16;
    std::size_t room = i.byte < 8 ? 8 - i.byte : 64 - i.byte + (i.line + 1 < lines ? 8 : 0);
    i.size = 1 + random() % room;
  }
  if (i.kind == what::exchange || i.kind == what::failed_exchange) i.size = 8;
  if (i.kind == what::flush) i.size = random() % 4 == 0 && i.line + 1 < lines ? 64 : 1;
  unsigned char value = any_byte(random);
  for (unsigned char& b : i.bytes) b = random() % 4 == 0 ? any_byte(random) : value;
  return i;
}

std::string text_of(const instruction& i) {
  const char* names[] = {"store", "wide", "flush", "fence", "exchange", "failed exchange"};
  std::string text = std::to_string(i.thread) + ": " + names[static_cast<int>(i.kind)];
  if (i.kind != instruction::what::fence)
    text += " " + std::to_string(i.line) + "+" + std::to_string(i.byte) + " x" +
            std::to_string(i.size) + " =" + std::to_string(i.bytes[0]);
  return text + "\n";
}

// --------------------------------------------------------------------------------------- the judge

/// The used bytes of a line, and how many stores it had seen when they were so: of two copies the
/// later one wins.
struct copy {
  std::array<unsigned char, used_bytes> bytes{};
  std::uint8_t age = 0;
};

/// A machine between two steps. Bytes only, so that equal states are equal memory.
struct state {
  std::array<copy, lines> memory, cache;
  // write-backs that a flush started; age 0: none
  std::array<std::array<copy, lines>, threads> in_flight;
  bool operator==(const state& other) const { return std::memcmp(this, &other, sizeof *this) == 0; }
};
static_assert(std::has_unique_object_representations_v<state>);
struct hash_of_state {
  std::size_t operator()(const state& s) const {
    return std::hash<std::string_view>{}({reinterpret_cast<const char*>(&s), sizeof s});
  }
};
using states = std::unordered_set<state, hash_of_state>;

std::size_t used_byte(std::size_t byte) {
  for (std::size_t w = 0; w < used_words; ++w)
    if (byte / 8 == word_at[w]) return w * 8 + byte % 8;
  ADD_FAILURE() << "an unused byte";
  return 0;
}

class every_execution {
 public:
  every_execution() { now_.insert(state{}); }

  void step(const instruction& i) {
    switch (i.kind) {
      case instruction::what::store: put(pieces_of(i, i.size)); break;
      case instruction::what::wide: put(pieces_of(i, 8)); break;
      case instruction::what::flush:
        for_each([&](state s) {
          for (std::size_t line = i.line; line <= (i.line * 64 + i.byte + i.size - 1) / 64; ++line)
            s.in_flight[i.thread][line] = s.cache[line];
          return s;
        });
        break;
      case instruction::what::fence:
      case instruction::what::failed_exchange: arrive(i.thread); break;
      case instruction::what::exchange:
        arrive(i.thread);
        put(pieces_of(i, 8));
        break;
    }
    write_back_at_will();
  }

  /// The used words of every memory that the machine may leave.
  outcomes left() const {
    outcomes made;
    for (const state& s : now_) {
      std::vector<std::uint64_t> words(lines * used_words);
      for (std::size_t line = 0; line < lines; ++line)
        std::memcpy(&words[line * used_words], s.memory[line].bytes.data(), used_bytes);
      made.insert(std::move(words));
    }
    return made;
  }

 private:
  struct piece {
    std::size_t line, byte, size, from;
    const instruction* of;
  };

  /// What enters the cache at once: not across a multiple of `unit` bytes.
  static std::vector<piece> pieces_of(const instruction& i, std::size_t unit) {
    std::vector<piece> made;
    for (std::size_t done = 0; done < i.size;) {
      std::size_t at = i.line * 64 + i.byte + done;
      std::size_t size = std::min(i.size - done, unit - at % unit);
      made.push_back({at / 64, at % 64, size, done, &i});
      done += size;
    }
    return made;
  }

  template <class F>
  void for_each(F&& next) {
    states made;
    for (const state& s : now_) made.insert(next(s));
    now_ = std::move(made);
  }

  /// In every order, and anything may happen in between.
  void put(const std::vector<piece>& pieces) {
    // by the set of pieces that are in the cache
    std::vector<states> with(std::size_t{1} << pieces.size());
    with[0] = std::move(now_);
    for (std::size_t set = 0; set + 1 < with.size(); ++set) {
      for (std::size_t n = 0; n < pieces.size(); ++n) {
        if ((set >> n & 1) != 0) continue;
        now_ = with[set];
        const piece& p = pieces[n];
        for_each([&](state s) {
          copy& line = s.cache[p.line];
          std::memcpy(&line.bytes[used_byte(p.byte)], &p.of->bytes[p.from], p.size);
          ++line.age;
          return s;
        });
        write_back_at_will();
        with[set | std::size_t{1} << n].merge(now_);
      }
    }
    now_ = std::move(with.back());
  }

  /// A thread's write-backs have reached memory by the end of its fence, or something later has.
  void arrive(unsigned thread) {
    for_each([&](state s) {
      for (std::size_t line = 0; line < lines; ++line) {
        copy& sent = s.in_flight[thread][line];
        if (sent.age > s.memory[line].age) s.memory[line] = sent;
        sent = {};
      }
      return s;
    });
  }

  /// Any line may leave the cache for memory at any moment, and so may what is in flight.
  void write_back_at_will() {
    std::vector<state> open(now_.begin(), now_.end());
    while (!open.empty()) {
      state s = open.back();
      open.pop_back();
      for (std::size_t line = 0; line < lines; ++line) {
        auto arrives = [&](const copy& c) {
          if (c.age <= s.memory[line].age) return;
          state next = s;
          next.memory[line] = c;
          if (now_.insert(next).second) open.push_back(next);
        };
        arrives(s.cache[line]);
        for (std::size_t t = 0; t < threads; ++t) arrives(s.in_flight[t][line]);
      }
    }
  }

  states now_;
};

// --------------------------------------------------------------------------------------- the model

void perform(recorded_machine& on, const instruction& i) {
  auto& m = on.as(i.thread).medium();
  m.enter(verb::store, site());
  std::byte* at = on.bytes_at(i.line, i.byte);
  auto write = [&](auto zero) {
    std::memcpy(&zero, i.bytes.data(), sizeof zero);
    m.write(reinterpret_cast<decltype(zero)*>(at), zero);
  };
  auto* word_there = reinterpret_cast<std::uint64_t*>(at);
  switch (i.kind) {
    case instruction::what::store:
      if (i.size == 1) write(std::uint8_t{});
      if (i.size == 2) write(std::uint16_t{});
      if (i.size == 4) write(std::uint32_t{});
      if (i.size == 8) write(std::uint64_t{});
      break;
    case instruction::what::wide: m.write_bytes(at, i.bytes.data(), i.size); break;
    case instruction::what::flush: m.flush(at, i.size); break;
    case instruction::what::fence: m.fence(); break;
    case instruction::what::exchange: {
      std::uint64_t value;
      std::memcpy(&value, i.bytes.data(), sizeof value);
      EXPECT_TRUE(m.exchange_if(word_there, *word_there, value));
      break;
    }
    case instruction::what::failed_exchange:
      EXPECT_FALSE(m.exchange_if(word_there, *word_there + 1, std::uint64_t{0}));
      break;
  }
}

std::vector<const word*> words_of(recorded_machine& on) {
  std::vector<const word*> made;
  for (std::size_t line = 0; line < lines; ++line)
    for (std::size_t at : word_at) made.push_back(&on.at(line, at));
  return made;
}

std::uint64_t seed_of_this_run() {
  const char* given = std::getenv("DURAHASH_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 0) : 20260;
}

using random_program_of_instructions = std::vector<instruction>;
random_program_of_instructions draw(random_source& random) {
  random_program_of_instructions made(1 + random() % 14);
  std::size_t threads_used = 1 + random() % threads;
  for (instruction& i : made) i = random_instruction(random, threads_used);
  return made;
}

std::string text_of(const random_program_of_instructions& program) {
  std::string text;
  for (const instruction& i : program) text += text_of(i);
  return text;
}

TEST(CrashBruteForce, EveryExecutionOfRandomProgramsLeavesExactlyTheModelsImages) {
  std::uint64_t seed = seed_of_this_run();
  std::printf("DURAHASH_SEED=%llu\n", static_cast<unsigned long long>(seed));
  constexpr int programs = 5000;
  std::size_t images = 0, most = 0;
  for (int n = 0; n < programs; ++n) {
    random_source random(seed + static_cast<std::uint64_t>(n));
    random_program_of_instructions program = draw(random);
    recorded_machine on;
    every_execution truth;
    for (const instruction& i : program) perform(on, i), truth.step(i);
    outcomes told = on.of(words_of(on));
    ASSERT_EQ(told.size(), on.count()) << "an unused byte changed";
    ASSERT_EQ(told, truth.left()) << "program " << n << ":\n" << text_of(program);
    images += told.size();
    most = std::max(most, told.size());
  }
  std::printf("%d programs, %zu images, at most %zu of one\n", programs, images, most);
  EXPECT_GT(images, 5u * programs) << "programs that have something to judge";
}

bytes of_image(const image_bytes& text) {
  bytes made(text.size());
  std::memcpy(made.data(), text.data(), text.size());
  return made;
}

TEST(CrashBruteForce, WhatIsChosenWhereAllWouldBeTooManyIsLegalAndHoldsTheSmallestAndTheLargest) {
  std::uint64_t seed = seed_of_this_run();
  std::printf("DURAHASH_SEED=%llu\n", static_cast<unsigned long long>(seed));
  for (std::uint64_t n = 0; n < 1000; ++n) {
    random_source random(seed + n);
    random_program_of_instructions program = draw(random);
    recorded_machine on;
    for (const instruction& i : program) perform(on, i);
    std::set<image_bytes> legal = on.images(), chosen;
    cache_model model = on.model();
    images_of(model, {.all_up_to = 2, .options_per_line = 4, .lines_each = 2, .samples = 8}, random,
              [&](const image& i) {
                chosen.insert(content_of(model, i));
                EXPECT_EQ(hash_of(model, i), cache_model(of_image(content_of(model, i))).hash())
                    << "the hash is of what the medium holds";
                return true;
              });
    ASSERT_TRUE(std::includes(legal.begin(), legal.end(), chosen.begin(), chosen.end()))
        << text_of(program);
    ASSERT_TRUE(chosen.contains(crash::text_of(model.durable()))) << text_of(program);
    ASSERT_TRUE(chosen.contains(crash::text_of(on.memory().copy()))) << text_of(program);
  }
}

}  // namespace
}  // namespace durahash::crash
