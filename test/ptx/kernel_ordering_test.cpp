// The pieces of the litmus tests have the orderings of the kernels: strengths, scopes and widths of
// what the build's PTX loads, stores and updates in some order.
#include <regex>

#include "test/ptx/load.hpp"
#include "test/ptx/protocol_pieces.hpp"

namespace durahash::ptx {
namespace {

using namespace pieces;

std::set<std::string> orderings(const std::string& text) {
  static const std::regex one(
      R"((ld|st|atom\.\w+|fence)\.(relaxed|acquire|release|acq_rel)\.(cta|gpu|sys)(\.\w+)?)");
  std::set<std::string> all;
  for (std::sregex_iterator at(text.begin(), text.end(), one), end; at != end; ++at)
    if (!at->str().starts_with("st.relaxed.sys")) all.insert(at->str());  // a piece's result
  return all;
}

/// Of kernels whose names have both parts.
std::set<std::string> compiled(const std::string& half, const std::string& copies) {
  std::set<std::string> all;
  for (const std::string& text : texts())
    for (std::size_t at = 0; (at = text.find(".entry ", at)) != std::string::npos;) {
      const std::size_t next = std::min(text.find(".entry ", at + 1), text.size());
      const std::string name = text.substr(at, text.find('(', at) - at);
      if (name.find(half) != std::string::npos && name.find(copies) != std::string::npos)
        all.merge(orderings(text.substr(at, next - at)));
      at = next;
    }
  return all;
}

TEST(PtxKernels, HaveTheOrderingsOfTheLitmusTests) {
  // what no answer of another thread hangs on: lists, counts, a flag, looks, and numbers of changes
  // that are forgotten
  const std::string counted = "atom.add.relaxed.gpu.u64\n", full = "st.relaxed.gpu.b32\n",
                    marks = "st.relaxed.gpu.b32\natom.add.relaxed.gpu.u32\n",
                    forgotten = "ld.relaxed.gpu.b32\nst.relaxed.gpu.b32\n";
  const std::string write = take + give + claim + insertion + removal + look + update + full,
                    copied = hold + insertion_with_copy + removal_with_copy + update_with_copy,
                    commit = removal + insertion_in_halves + update_in_halves + forgotten;
  auto in_halves = [](const std::string& text) {
    return replaced(text, "st.release.sys", "st.release.gpu");
  };
  const std::string without = "ELb0EEEv", with = "ELb1EEEv";
  for (const auto& [half, copies, text] : std::vector<std::array<std::string, 3>>{
           {"halfE0", without, find + counted},
           {"halfE0", with, find + find_beside_copies + find_in_copies + marks + counted},
           {"halfE1", without, write},
           {"halfE1", with, write + copied},
           {"halfE2", without,
            take + give + claim_in_halves + look + add_change + find_change + counted + full},
           {"halfE3", without, commit},
           {"halfE3", with, commit + in_halves(copied)},
           {"halfE6", without, retire + name + fill},
           {"halfE7", without, visit + counted}})
    EXPECT_EQ(compiled(half, copies), orderings(text)) << half << " " << copies;
}

}  // namespace
}  // namespace durahash::ptx
