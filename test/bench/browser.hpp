// A browser without a window, for pages that tests look at.
#pragma once

#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

namespace durahash::bench {

/// A file of this process, gone at the end.
struct own_file {
  std::filesystem::path at;
  explicit own_file(const std::string& name)
      : at(std::filesystem::temp_directory_path() / (name + std::to_string(::getpid()))) {}
  ~own_file() { std::filesystem::remove(at); }
  void write(const nlohmann::json& content) const { std::ofstream(at) << content; }
};

/// Whichever browser of the family there is, or nothing.
inline std::string chromium() {
  for (const char* name : {"chromium", "chromium-browser", "google-chrome"})
    if (std::system((std::string("command -v ") + name + " >/dev/null").c_str()) == 0) return name;
  return "";
}

inline std::string in_attribute(const std::string& text) {
  std::string all;
  for (char c : text)
    if (c == '&') all += "&amp;";
    else if (c == '"') all += "&quot;";
    else all += c;
  return all;
}

/// What a browser finds of a page that is so many pixels wide: rows, figures, errors, widths. The
/// page stands in a frame, whose width no window manager changes.
inline nlohmann::json seen_with_width(const std::string& browser, const std::string& page,
                                      unsigned width) {
  using nlohmann::json;
  own_file outer("browser-page-"), log("browser-console-");
  std::filesystem::path named = outer.at;
  named += ".html";
  std::ofstream(named) << "<!doctype html><title>waiting</title><iframe width=" << width
                       << " height=844 srcdoc=\"" << in_attribute(page) << R"("></iframe><script>
    let errors = 0;
    const frame = document.querySelector('iframe');
    window.addEventListener('error', () => ++errors);
    frame.addEventListener('load', () => {
      const inner = frame.contentDocument;
      for (const one of inner.querySelectorAll('details')) one.open = true;
      const broken = [...inner.querySelectorAll('*')].filter(
        one => one.getBoundingClientRect().right > frame.clientWidth + 0.5 &&
               !one.closest('svg'));
      document.title = JSON.stringify({
        width: inner.body.scrollWidth, rows: inner.querySelectorAll('tr.claim').length,
        figures: inner.querySelectorAll('figure svg').length, errors: errors,
        wide: broken.length, text: inner.querySelectorAll('figure svg text').length,
        verdicts: ['holds', 'differs', 'none'].map(
          kind => inner.querySelectorAll('tr.claim td.verdict b.' + kind).length)});
    });</script>)";
  const std::string command = browser +
                              " --headless --no-sandbox --disable-gpu --enable-logging=stderr "
                              "--virtual-time-budget=10000 --dump-dom file://" +
                              named.string() + " 2>" + log.at.string();
  FILE* pipe = ::popen(command.c_str(), "r");
  std::string dom;
  std::array<char, 4096> piece;
  while (std::size_t bytes = std::fread(piece.data(), 1, piece.size(), pipe))
    dom.append(piece.data(), bytes);
  ::pclose(pipe);
  std::filesystem::remove(named);
  std::ifstream said(log.at);
  const std::string console((std::istreambuf_iterator<char>(said)), {});
  const auto begin = dom.find("<title>") + 7, end = dom.find("</title>");
  json seen = json::parse(dom.substr(begin, end - begin), nullptr, false);
  if (seen.is_discarded()) throw std::runtime_error("the browser showed nothing:\n" + console);
  seen["console"] = console.find("CONSOLE") != std::string::npos;
  return seen;
}

}  // namespace durahash::bench
