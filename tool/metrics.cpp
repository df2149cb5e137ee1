// durahash metrics: figures of pools, and of a server with the module, as Prometheus reads them.
#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <charconv>
#include <cstring>
#include <map>
#include <memory>

#include "arguments.hpp"
#include "failure.hpp"
#include "output.hpp"
#include "pool.hpp"

namespace durahash::tool {
namespace {

struct metrics_arguments {
  std::vector<std::string> pools;
  std::string server;
};

/// Samples by name, so that each name has its type once.
using samples = std::map<std::string, std::string>;

/// A label's value: quotes, backslashes and line ends are escaped.
std::string escaped(std::string_view value) {
  std::string made;
  for (char c : value) {
    if (c == '\n') {
      made += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') made += '\\';
    made += c;
  }
  return made;
}

void add(samples& all, const std::string& name, std::string_view label, std::string_view of,
         std::string_view number) {
  std::string& text = all["durahash_" + name];
  const char* const kind = name.ends_with("_total") ? "counter" : "gauge";
  if (text.empty()) text = fmt::format("# TYPE durahash_{} {}\n", name, kind);
  text += fmt::format("durahash_{}{{{}=\"{}\"}} {}\n", name, label, escaped(of), number);
}

void add_pool(samples& all, const std::string& path) {
  const table pool = open_to_read(path);
  const pool_info facts = pool.info();
  auto figure = [&](const char* name, auto number) {
    add(all, fmt::format("pool_{}", name), "pool", path, fmt::format("{}", number));
  };
  figure("records", facts.records);
  figure("slots", facts.slots);
  figure("load_factor", facts.load_factor);
  figure("file_bytes", facts.file_bytes);
  if (!facts.beside_a_writer) {
    figure("live_bytes", facts.live_bytes);
    figure("free_bytes", facts.free_bytes);
  }
  figure("clean", facts.clean ? 1 : 0);
}

/// A connection to a server, closed with its scope.
class connection {
 public:
  explicit connection(const std::string& where) : where_(where) {
    const auto colon = where.rfind(':');
    if (colon == std::string::npos)
      throw failure(exit_usage, "a server is HOST:PORT, and not " + where);
    addrinfo wanted{}, *found = nullptr;
    wanted.ai_socktype = SOCK_STREAM;
    if (::getaddrinfo(where.substr(0, colon).c_str(), where.substr(colon + 1).c_str(), &wanted,
                      &found) != 0)
      throw failure(exit_unusable, "there is no server " + where);
    for (addrinfo* a = found; a != nullptr && file_ < 0; a = a->ai_next) {
      file_ = ::socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, 0);
      const timeval patience{5, 0};
      ::setsockopt(file_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
      ::setsockopt(file_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
      if (file_ >= 0 && ::connect(file_, a->ai_addr, a->ai_addrlen) != 0)
        ::close(file_), file_ = -1;
    }
    ::freeaddrinfo(found);
    if (file_ < 0) throw failure(exit_unusable, "the server " + where + " does not answer");
  }
  ~connection() {
    if (file_ >= 0) ::close(file_);
  }
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  /// What INFO says of a section.
  std::string info(const std::string& section) {
    const std::string command = "INFO " + section + "\r\n";
    if (::send(file_, command.data(), command.size(), MSG_NOSIGNAL) < 0) give_up("went away");
    std::string answer = receive_line();
    std::size_t bytes = 0;
    if (answer.empty() || answer[0] != '$' ||
        std::from_chars(answer.data() + 1, answer.data() + answer.size(), bytes).ec != std::errc())
      give_up("says " + answer);
    while (read_.size() < bytes) receive();
    return read_.substr(0, bytes);
  }

 private:
  [[noreturn]] void give_up(const std::string& why) {
    throw failure(exit_unusable, "the server " + where_ + " " + why);
  }
  void receive() {
    char some[4096];
    const ssize_t got = ::recv(file_, some, sizeof some, 0);
    if (got <= 0) give_up("went away");
    read_.append(some, static_cast<std::size_t>(got));
  }
  std::string receive_line() {
    while (read_.find("\r\n") == std::string::npos) receive();
    const std::string line = read_.substr(0, read_.find("\r\n"));
    read_.erase(0, line.size() + 2);
    return line;
  }

  std::string where_, read_;
  int file_ = -1;
};

void add_server(samples& all, const std::string& where) {
  const std::string text = connection(where).info("durahash");
  constexpr std::string_view prefix = "durahash_";
  bool any = false;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = text.find("\r\n", at);
    if (end == std::string::npos) end = text.size();
    const std::string_view line = std::string_view(text).substr(at, end - at);
    at = end + 2;
    const auto colon = line.find(':');
    if (!line.starts_with(prefix) || colon == line.npos) continue;
    any = true;
    add(all, "server_" + std::string(line.substr(prefix.size(), colon - prefix.size())), "server",
        where, line.substr(colon + 1));
  }
  if (!any) throw failure(exit_unusable, "the server " + where + " has no module durahash");
}

void metrics(const metrics_arguments& arguments) {
  samples all;
  for (const std::string& pool : arguments.pools) add_pool(all, pool);
  if (!arguments.server.empty()) add_server(all, arguments.server);
  if (all.empty()) throw failure(exit_usage, "name a POOL, or --server HOST:PORT");
  std::string text;
  for (const auto& [name, lines] : all) text += lines;
  print(text);
}

}  // namespace

void add_metrics(command_line app, int& exit_code) {
  auto arguments = std::make_shared<metrics_arguments>();
  command_line command =
      app.add_subcommand("metrics", "Print figures in the text format of Prometheus");
  command.add_option("POOL", arguments->pools, "files of pools");
  command.add_option("--server", arguments->server,
                     "HOST:PORT of a redis-server or valkey-server with the module");
  command.footer(
      "Example:\n"
      "  durahash metrics users.dh\n"
      "  durahash metrics --server localhost:6379");
  command.callback([arguments, &exit_code] {
    metrics(*arguments);
    exit_code = exit_done;
  });
}

}  // namespace durahash::tool
