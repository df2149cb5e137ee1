#include "test/ptx/load.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

namespace durahash::ptx {
namespace {

std::string said;

std::string from_environment(const char* name, const std::string& otherwise) {
  const char* set = std::getenv(name);
  return set != nullptr && *set != 0 ? set : otherwise;
}

device_settings settings_of_the_environment() {
  device_settings s;
  s.seed = std::strtoull(from_environment("DURAHASH_SEED", "20251125").c_str(), nullptr, 0);
  s.weak = from_environment("DURAHASH_PTX_WEAK", "0") != "0";
  s.apart_percent =
      static_cast<unsigned>(std::atoi(from_environment("DURAHASH_PTX_APART", "5").c_str()));
  return s;
}

}  // namespace

const std::string& why_not_loaded() { return said; }

int architecture() {
  return std::atoi(
      from_environment("DURAHASH_PTX_ARCHITECTURE", DURAHASH_PTX_ARCHITECTURE_BUILT).c_str());
}

std::vector<std::string> texts() {
  std::vector<std::string> all;
  std::filesystem::path folder = DURAHASH_PTX_FOLDER;
  std::string ending = "." + std::to_string(architecture()) + ".ptx";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (!entry.path().string().ends_with(ending)) continue;
    std::ostringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    all.push_back(text.str());
  }
  return all;
}

bool load_once(device& d) {
  static bool loaded = [&] {
    device_settings s = settings_of_the_environment();
    std::cerr << "ptx: sm_" << architecture() << ", seed " << s.seed
              << (s.weak ? ", weak order" : "") << "\n";
    d.restart(s);
    try {
      for (const std::string& text : texts()) parse(text, d.kernels);
    } catch (const parse_error& e) {
      said = e.what();
    }
    if (said.empty() && d.kernels.empty())
      said = "no PTX of sm_" + std::to_string(architecture()) + " in " DURAHASH_PTX_FOLDER;
    if (!said.empty()) std::cerr << "ptx: " << said << "\n";
    return said.empty();
  }();
  return loaded;
}

}  // namespace durahash::ptx
