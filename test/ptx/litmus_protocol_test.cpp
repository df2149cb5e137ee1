// The protocols of the kernels, in all their executions. What must not be is in none. Each ordering
// is needed: if it is weaker by one step, that is in some.
#include <sstream>

#include "test/ptx/protocol_pieces.hpp"

namespace durahash::ptx {
namespace {

using namespace pieces;

/// Some threads, all outcomes that are right, and what is wrong.
struct scenario {
  std::string what;
  litmus program;
  std::set<outcome> right;
  std::function<bool(const outcome&)> wrong;
};
using scenarios = std::vector<scenario>;

auto answers(const std::set<std::uint64_t>& wrong) {
  return [wrong](const outcome& o) { return wrong.contains(o[0]); };
}

// ------------------------------------------------------------------------------------- programs

const std::string erase7 = made_for(removal, {7}), erase9 = made_for(removal, {9}),
                  insert9 = made_for(claim + insertion, {9, 20}),
                  insert7 = made_for(claim + insertion, {7, 30}),
                  update7 = made_for(look + update, {7, 30}),
                  erase7_and_copy = made_for(removal_with_copy, {7}),
                  insert9_and_copy = made_for(claim + insertion_with_copy, {9, 20}),
                  update7_and_copy = made_for(update_with_copy, {7, 30}),
                  find7 = made_for(find, {7}), find7_copied = made_for(find_in_copies, {7}),
                  find9_copied = made_for(find_in_copies, {9}), retire1 = made_for(retire, {7}),
                  fill1 = made_for(fill, {7}),
                  load2 = retire1 + made_for(name + fill, {.bucket = 2});

/// A slot with that state and value.
litmus of_a_slot(std::uint64_t state, std::uint64_t value, std::vector<std::string> bodies) {
  litmus l;
  l.results = 1;
  l.names = {"state", "value", "turn7", "turn9", "done"}, l.begin = {state, value};
  l.bodies = std::move(bodies);
  return l;
}
litmus with_turn9_taken(litmus l) {
  l.begin.resize(3), l.begin.push_back(1);
  return l;
}
/// And what is in the first words at the end.
litmus with_end(litmus l, std::size_t ends) {
  l.results = 0, l.ends = ends;
  return l;
}
litmus with_lanes(litmus l) {
  l.lanes_of_each = 2, l.results = 2;
  return l;
}
litmus with_results(litmus l, std::size_t results) {
  l.results = results;
  return l;
}
/// The last body reads what a kill leaves of the slot.
litmus killed(litmus l) {
  l.hosts = 1, l.results = 2;
  return l;
}

/// Buckets 1 and 2 have a slot each with key 7 and values 10 and 40; the copy is of bucket 1.
litmus of_copies(std::vector<std::string> bodies) {
  litmus l;
  l.results = 1;
  l.names = {"state",   "value", "copied state", "copied value", "open",   "bucket", "held",
             "copy_of", "turn7", "turn9",        "copy_of2",     "state2", "value2", "done"};
  l.begin = {7, 10, 7, 10, 1, 1, 0, 1, 0, 0, 0, 7, 40};
  l.bodies = std::move(bodies);
  return l;
}
/// The copy is named, and has not been filled: what is there is of nobody.
litmus of_an_unfilled_copy(std::uint64_t state, std::vector<std::string> bodies) {
  litmus l = of_copies(std::move(bodies));
  l.begin = {7, 10, state, 66, 0, 1, 0, 1};
  return l;
}
litmus without_the_key_in_2(litmus l) {
  l.begin[11] = 5;
  return l;
}
std::string as_second(const std::string& one) {
  return replaced(replaced(one, "result0", "result1"), "$t", "b$t");
}

// ------------------------------------------------------------------------------------- protocols

scenarios finds_beside_writes(const std::string& how, bool tells_absent) {
  const std::string of7 = made_for(how, {7}), of9 = made_for(how, {9});
  auto with_absent = [&](std::set<outcome> all) {
    if (tells_absent) all.insert({1});
    return all;
  };
  return {
      {"a key whose slot goes to another one", of_a_slot(7, 10, {erase7, insert9, of7}),
       with_absent({{0}, {10}}), answers({20})},
      {"a key that gets a slot", of_a_slot(0, 10, {insert9, of9}), with_absent({{0}, {20}}),
       answers({10})},
      {"a key that goes and comes back",
       of_a_slot(7, 10, {erase7 + insert9 + erase9 + insert7, of7}), with_absent({{0}, {10}, {30}}),
       answers({20})},
      {"a key that comes and goes", of_a_slot(7, 10, {erase7 + insert9 + erase9 + insert7, of9}),
       with_absent({{0}, {20}}), answers({10, 30})},
      {"a key whose slot goes to another one, which is updated",
       with_turn9_taken(of_a_slot(
           7, 10,
           {erase7 + insert9 + made_for(give, {9}), made_for(take + look + update, {9, 30}), of7})),
       with_absent({{0}, {10}}), answers({20, 30})},
      // a batch's removals are in its second half: before the first half of the next one
      {"a key whose slot goes to another one, in halves",
       of_a_slot(7, 10, {erase7 + made_for(claim_in_halves, {9, 20}), of7}),
       with_absent({{0}, {10}}), answers({20})},
      {"a key that gets a slot, in halves",
       of_a_slot(0, 10, {made_for(claim_in_halves + insertion_in_halves, {9, 20}), of9}),
       with_absent({{0}, {20}}), answers({10})},
      {"a key whose slot goes to another one, which is updated, in halves",
       of_a_slot(7, 10,
                 {erase7 + made_for(claim_in_halves + insertion_in_halves, {9, 20}) +
                      made_for(update_in_halves, {9, 30}),
                  of7}),
       with_absent({{0}, {10}}), answers({20, 30})},
      {"a key that was removed", of_a_slot(7, 10, {erase7 + done, if_done + of7}),
       with_absent({{0}}), answers({10})},
      {"a key that was inserted",
       of_a_slot(0, 10, {insert9 + done, if_done + of9}),
       {{0}, {20}},
       answers({1, 10})},
  };
}

scenarios turns() {
  const std::string take7 = made_for(take, {7}), give7 = made_for(give, {7});
  auto two = [](const std::string& first, const std::string& other) {
    return with_lanes(of_a_slot(7, 10,
                                {made_for(first, {7, 0}), made_for(other, {7}),
                                 made_for(first, {7, 1}), made_for(other, {7})}));
  };
  const std::set<outcome> one_after_the_other = {{0, 11}, {11, 0}, {11, 12}, {12, 11}};
  auto one_is_lost = [](const outcome& o) { return o[0] == 11 && o[1] == 11; };
  return {
      {"an update beside a removal of its key, whose slot goes to another one",
       with_end(of_a_slot(7, 10, {take7 + erase7 + give7, take7 + update7 + give7, insert9}), 2),
       {{0, 10}, {0, 30}, {7, 30}, {9, 20}},
       [](const outcome& o) { return o[0] == 9 && o[1] != 20; }},
      {"two that add", two(add_first_lane, add_other_lane), one_after_the_other, one_is_lost},
      {"two that stage", two(stage_first_lane, stage_other_lane), one_after_the_other, one_is_lost},
      {"a find by lanes",
       with_lanes(of_a_slot(7, 10,
                            {erase7, "", insert9, "", made_for(find_first_lane, {7}),
                             made_for(find_other_lane, {7})})),
       {{1, 0}, {1, 1}, {10, 0}, {10, 1}, {20, 0}},
       [](const outcome& o) { return o[0] == 20 && o[1] == 1; }},
  };
}

scenarios copies() {
  auto goes_back = [](const outcome& o) { return o[0] == 30 && o[1] == 10; };
  return {
      // hold, and what is found meanwhile
      {"a copied slot goes to another key",
       of_copies({erase7_and_copy, insert9_and_copy, find7_copied}),
       {{0}, {1}, {10}},
       answers({20})},
      {"a key gets a copied slot",
       of_copies({erase7_and_copy, insert9_and_copy, find9_copied}),
       {{0}, {1}, {20}},
       answers({10})},
      {"two hold one copy",
       with_end(of_copies({erase7_and_copy, insert9_and_copy}), 4),
       {{0, 10, 0, 10}, {1, 20, 0, 10}, {9, 20, 9, 20}},
       [](const outcome& o) { return o[0] == 9 && (o[2] != 9 || o[3] != 20); }},
      {"a copied key was updated",
       of_copies({update7_and_copy + done, if_done + find7_copied}),
       {{0}, {30}},
       answers({10})},
      {"a copied key was removed",
       of_copies({erase7_and_copy + done, if_done + find7_copied}),
       {{0}, {1}},
       answers({10})},
      {"a find in the table, and one in the copy",
       with_results(of_copies({update7_and_copy, find7 + as_second(find7_copied)}), 2),
       {{10, 0}, {10, 10}, {10, 30}, {30, 0}, {30, 30}},
       goes_back},
      {"a find in the copy, and one in the table",
       with_results(of_copies({update7_and_copy, find7_copied + as_second(find7)}), 2),
       {{0, 0}, {10, 10}, {10, 30}, {30, 30}},
       goes_back},
      // fill
      {"a find beside a fill",
       of_an_unfilled_copy(7, {fill1, find7_copied}),
       {{0}, {10}},
       answers({66})},
      {"a miss beside a fill",
       of_an_unfilled_copy(5, {fill1, find7_copied}),
       {{0}, {10}},
       answers({1})},
      {"an update beside a fill",
       with_end(of_an_unfilled_copy(7, {fill1, update7_and_copy}), 5),
       {{7, 10, 7, 10, 1}, {7, 30, 7, 30, 0}, {7, 30, 7, 30, 1}},
       [](const outcome& o) { return o[4] == 1 && o[1] != o[3]; }},
      {"a find behind an update beside a fill",
       of_an_unfilled_copy(7, {fill1, update7_and_copy + done, if_done + find7_copied}),
       {{0}, {30}},
       answers({10, 66})},
      {"a find beside a fill by lanes",
       with_lanes(of_an_unfilled_copy(
           7, {made_for(fill_first_lane, {7}), made_for(fill_other_lane, {7}), find7_copied, ""})),
       {{0, 0}, {10, 0}},
       answers({66})},
      // a copy that goes to another bucket
      {"a find beside a load of another bucket",
       of_copies({load2, find7_copied}),
       {{0}, {10}},
       answers({40})},
      {"a miss beside a load of another bucket",
       without_the_key_in_2(of_copies({load2, find7_copied})),
       {{0}, {10}},
       answers({1})},
      {"a find in the bucket that is loaded",
       of_copies({load2, made_for(find_in_copies, {.bucket = 2})}),
       {{0}, {40}},
       answers({10})},
      {"an update beside a load of another bucket",
       with_end(of_copies({load2, update7_and_copy}), 6),
       {{7, 10, 7, 40, 1, 2},
        {7, 30, 7, 10, 0, 2},
        {7, 30, 7, 30, 0, 1},
        {7, 30, 7, 30, 1, 1},
        {7, 30, 7, 40, 1, 2}},
       [](const outcome& o) { return o[4] == 1 && o[5] == 2 && o[3] != 40; }},
      {"a find behind an update beside a load of another bucket",
       of_copies({load2, update7_and_copy + done, if_done + find7_copied}),
       {{0}, {30}},
       answers({10, 40})},
      {"a find behind an update beside a copy's end",
       of_copies({retire1, update7_and_copy + done, if_done + find7_copied}),
       {{0}, {30}},
       answers({10})},
      {"two finds beside an update and a copy's end",
       with_results(of_copies({retire1, update7_and_copy, find7 + as_second(find7_copied)}), 2),
       {{10, 0}, {10, 10}, {10, 30}, {30, 0}, {30, 30}},
       goes_back},
      {"a find beside a load by lanes",
       with_lanes(of_copies({retire1 + made_for(name + fill_first_lane, {.bucket = 2}),
                             made_for(fill_other_lane, {.bucket = 2}), find7_copied, ""})),
       {{0, 0}, {10, 0}},
       answers({40})},
  };
}

scenarios commits() {
  const std::set<outcome> value_first = {{0, 10}, {1, 10}, {1, 20}, {7, 10}, {9, 10}, {9, 20}};
  std::set<outcome> with_update = value_first;
  with_update.insert({9, 30});
  return {
      {"a kill that leaves the next key",
       killed(of_a_slot(7, 10, {erase7, insert9, state_left + value_left})),
       {{0, 10}, {0, 20}, {1, 10}, {1, 20}, {7, 10}, {7, 20}, {9, 20}},
       [](const outcome& o) { return o[0] == 9 && o[1] != 20; }},
      {"a kill that leaves the next key's value",
       killed(of_a_slot(7, 10, {erase7, insert9, value_left + state_left})), value_first,
       [](const outcome& o) { return o[0] == 7 && o[1] != 10; }},
      {"a kill that leaves the next key's update",
       killed(with_turn9_taken(
           of_a_slot(7, 10,
                     {erase7 + insert9 + made_for(give, {9}),
                      made_for(take + look + update, {9, 30}), value_left + state_left}))),
       with_update, [](const outcome& o) { return o[0] == 7 && o[1] != 10; }},
  };
}

/// Another key's hash is left there from the batch before.
scenarios staged() {
  litmus l;
  l.results = 1;
  l.names = {"hash", "change number"}, l.begin = {9, 0};
  l.bodies = {made_for(add_change, {7}), made_for(find_change, {9})};
  return {{"a change beside that of another key", l, {{0}}, answers({1})}};
}

/// More warps, with all that each does: the longest walks.
scenarios whole_writes() {
  const std::string take7 = made_for(take, {7}), give7 = made_for(give, {7}),
                    take9 = made_for(take, {9}), give9 = made_for(give, {9});
  std::set<outcome> any;
  for (std::uint64_t of7 : {0, 1, 10})
    for (std::uint64_t of9 : {0, 1, 20}) any.insert({of7, of9});
  return {
      {"an erase and an insertion beside finds of both keys",
       with_results(of_a_slot(7, 10,
                              {take7 + erase7 + give7, take9 + insert9 + give9, find7,
                               as_second(made_for(find, {9}))}),
                    2),
       any, [](const outcome& o) { return o[0] == 20 || o[1] == 10; }},
      {"an erase and an insertion beside a find in the copy",
       of_copies({take7 + erase7_and_copy + give7, take9 + insert9_and_copy + give9, find7_copied}),
       {{0}, {1}, {10}},
       answers({20})},
      {"an erase and an insertion beside a find and a fill",
       of_an_unfilled_copy(7, {fill1, erase7_and_copy, insert9_and_copy, find7_copied}),
       {{0}, {1}, {10}},
       answers({20, 66})},
      {"an erase and an insertion beside a find and a load of another bucket",
       of_copies({load2, erase7_and_copy, insert9_and_copy, find7_copied}),
       {{0}, {1}, {10}},
       answers({20, 40})},
  };
}

scenarios small_scenarios() {
  scenarios all;
  for (const scenarios& some :
       {finds_beside_writes(find, true), finds_beside_writes(visit, false),
        finds_beside_writes(find_beside_copies, true), turns(), copies(), commits(), staged()})
    all.insert(all.end(), some.begin(), some.end());
  return all;
}
scenarios all_scenarios() {
  scenarios all = small_scenarios();
  for (const scenario& each : whole_writes()) all.push_back(each);
  return all;
}

// ------------------------------------------------------------------------------------- orderings

/// The lines of this name are others.
struct weakening {
  std::string name, from, to;
  auto operator<=>(const weakening&) const = default;
};

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream all(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(all, line);) lines.push_back(line);
  return lines;
}
std::string name_of(const std::string& line) {
  const std::size_t at = line.find("// ");
  return at == std::string::npos ? "" : line.substr(at + 3);
}
/// Whether a line of it is another now.
bool apply(const weakening& w, litmus& l) {
  bool changed = false;
  for (std::string& body : l.bodies) {
    std::string made;
    for (const std::string& line : lines_of(body)) {
      const std::string now = name_of(line) == w.name ? replaced(line, w.from, w.to) : line;
      changed = changed || now != line;
      made += now + "\n";
    }
    body = made;
  }
  return changed;
}

/// By one step. What is relaxed has a scope to lose where a fence is behind it.
std::vector<weakening> weaker(const std::string& line) {
  const std::string name = name_of(line);
  auto has = [&](const std::string& what) { return line.find(what) != std::string::npos; };
  if (name == around) return {};
  if (has("bar.warp.sync")) return {{name, "bar.warp.sync -1;", ""}};
  if (has("fence.")) return {{name, "fence.acq_rel.gpu;", ""}, {name, ".gpu;", ".cta;"}};
  std::vector<weakening> all;
  for (auto [from, to] :
       std::vector<std::pair<std::string, std::string>>{{".acquire.", ".relaxed."},
                                                        {".release.", ".relaxed."},
                                                        {".acq_rel.", ".acquire."},
                                                        {".acq_rel.", ".release."},
                                                        {".sys.", ".gpu."},
                                                        {".gpu.", ".cta."}})
    if (has(from) && !(name.empty() && has(".relaxed."))) all.push_back({name, from, to});
  return all;
}

std::set<weakening> all_weaker(const scenarios& all) {
  std::set<weakening> each;
  for (const scenario& s : all)
    for (const std::string& body : s.program.bodies)
      for (const std::string& line : lines_of(body))
        for (const weakening& w : weaker(line)) {
          EXPECT_NE(w.name, "") << line << " orders something, and has no name";
          each.insert(w);
        }
  return each;
}

class PtxLitmusProtocols : public testing::Test {
 protected:
  /// All that comes of it; or, until something is wrong.
  litmus::executions run(const scenario& s, bool to_the_end) {
    litmus::executions all =
        s.program.run_all(to_the_end ? std::function<bool(const outcome&)>() : s.wrong);
    executions_ += all.count, begun_ += all.begun;
    return all;
  }
  static bool is_wrong(const scenario& s, const litmus::executions& all) {
    return all.races != 0 || std::any_of(all.outcomes.begin(), all.outcomes.end(), s.wrong);
  }
  bool goes_wrong(const scenario& s) { return is_wrong(s, run(s, false)); }
  bool is_needed(const weakening& w, const scenarios& all) {
    return std::any_of(all.begin(), all.end(),
                       [&](scenario s) { return apply(w, s.program) && goes_wrong(s); });
  }
  void TearDown() override {
    RecordProperty("executions", std::to_string(executions_));
    RecordProperty("executions begun", std::to_string(begun_));
  }

 private:
  std::uint64_t executions_ = 0, begun_ = 0;
};

TEST_F(PtxLitmusProtocols, NothingWrongComesUp) {
  for (const scenario& s : all_scenarios()) {
    const litmus::executions all = run(s, true);
    EXPECT_FALSE(is_wrong(s, all)) << s.what;
    EXPECT_EQ(all.outcomes, s.right) << s.what;
  }
}
TEST_F(PtxLitmusProtocols, EachOrderingIsNeeded) {
  const scenarios all = small_scenarios();
  const std::set<weakening> each = all_weaker(all);
  RecordProperty("weaker forms", std::to_string(each.size()));
  for (const weakening& w : each)
    EXPECT_TRUE(is_needed(w, all)) << w.name << ", " << w.from << " as " << w.to;
}
TEST_F(PtxLitmusProtocols, StepsInAnotherOrderGoWrong) {
  const std::string fingerprint = "st.release.sys.b64 [state], 9;\n";
  litmus unknown =
      with_end(of_an_unfilled_copy(7, {made_for(name, {7}) + fill1, update7_and_copy}), 5);
  unknown.begin[7] = 0;
  for (const scenario& s : scenarios{
           {"the version changes before the slot is claimed",
            of_a_slot(7, 10,
                      {replaced(erase7, "st.relaxed.gpu.b64 [state], 1;", ""), insert9, find7}),
            {},
            answers({20})},
           {"the version changes behind the fingerprint",
            of_a_slot(0, 10,
                      {made_for(claim, {9, 20}) + fingerprint + made_for(outdate, {9}),
                       made_for(find, {9})}),
            {},
            answers({10})},
           {"a copy is filled beside a writer that does not know of it",
            unknown,
            {},
            [](const outcome& o) { return o[4] == 1 && o[1] != o[3]; }}})
    EXPECT_TRUE(goes_wrong(s)) << s.what;
}

}  // namespace
}  // namespace durahash::ptx
