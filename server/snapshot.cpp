#include "snapshot.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <system_error>
#include <thread>

#include "fault.hpp"
#include "keyspace.hpp"
#include "worker.hpp"

namespace durahash::server {
namespace {

constexpr std::size_t records_per_message = 64;
// In the place of a length:
constexpr std::uint64_t end_of_table = 0;
constexpr std::uint64_t unreadable = ~std::uint64_t{0};

int parents_end = -1;  // between prepare and the fork's return
int childs_end = -1;   // in a child: of its own
std::atomic<unsigned> served{0};

bool send_all(int to, const void* bytes, std::size_t count) {
  auto* at = static_cast<const char*>(bytes);
  while (count != 0) {
    const ssize_t sent = ::send(to, at, count, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    at += sent, count -= static_cast<std::size_t>(sent);
  }
  return true;
}

bool receive_all(int from, void* bytes, std::size_t count) {
  auto* at = static_cast<char*>(bytes);
  while (count != 0) {
    const ssize_t got = ::recv(from, at, count, MSG_WAITALL);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got, count -= static_cast<std::size_t>(got);
  }
  return true;
}

void append_length(std::string& to, std::size_t length) {
  const auto word = static_cast<std::uint32_t>(length);
  to.append(reinterpret_cast<const char*>(&word), sizeof word);
}

// A message: its bytes (8) | (key's length 4 | value's length 4 | key | value)*
bool send_message(int to, std::uint64_t length, const std::string& body) {
  return send_all(to, &length, sizeof length) && send_all(to, body.data(), body.size());
}

bool serve_table(int to, hosted_table* t) {
  std::string body;
  cursor at;
  while (t != nullptr && !at.done) {
    body.clear();
    const status s =
        t->pool().scan(at, records_per_message, [&](std::string_view key, std::string_view value) {
          append_length(body, key.size());
          append_length(body, value.size());
          body.append(key).append(value);
        });
    if (s != status::ok) return send_message(to, unreadable, {});
    if (!body.empty() && !send_message(to, body.size(), body)) return false;
    if (planted("a-parent-stops-sending") || planted("half-a-table-is-a-file")) return false;
  }
  return send_message(to, t == nullptr ? unreadable : end_of_table, {});
}

void serve_child(int fd, const std::map<pool_id, table_ref>& tables) try {
  pool_id wanted;
  while (receive_all(fd, wanted.bytes.data(), wanted.bytes.size())) {
    auto known = tables.find(wanted);
    if (!serve_table(fd, known == tables.end() ? nullptr : known->second.get())) return;
  }
} catch (const std::bad_alloc&) {
  // The child finds the end of its socket, and dies of it.
}

void serve_in_thread(int fd, std::map<pool_id, table_ref> tables) {
  const signals_blocked meanwhile;
  ++served;
  try {
    if (planted("no-thread-can-be-made"))
      throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
    std::thread([fd, held = std::move(tables)] {
      serve_child(fd, held);
      ::close(fd);
      --served;
    }).detach();
  } catch (...) {
    --served;
    throw;
  }
}

void before_fork() {
  int ends[2];
  if (in_a_child() || ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return;
  parents_end = ends[0], childs_end = ends[1];
}

void in_parent() noexcept {
  if (parents_end < 0) return;
  ::close(std::exchange(childs_end, -1));
  const int fd = std::exchange(parents_end, -1);
  try {
    std::map<pool_id, table_ref> tables;
    for (table_ref& t : the_keyspace().all()) tables.emplace(t->id(), std::move(t));
    serve_in_thread(fd, std::move(tables));
  } catch (const std::exception&) {  // no thread, no memory: the child finds its socket closed
    ::close(fd);
  }
}

void in_child() {
  if (parents_end >= 0) ::close(std::exchange(parents_end, -1));
}

void end_child(const hosted_table& t, const char* why) {
  if (planted("half-a-table-is-a-file")) return;
  log(nullptr, "warning",
      "the table of the key \"" + t.where.name + "\" " + why + ": this snapshot is given up");
  ::kill(::getpid(), SIGKILL);  // of a child that a signal ended the server removes the file
}

void ask_parent(hosted_table& t, const record_visitor& visit) {
  std::string body;
  if (childs_end < 0 || !send_all(childs_end, t.id().bytes.data(), t.id().bytes.size()))
    return end_child(t, "cannot be asked for");
  while (true) {  // ends with the message that says so
    std::uint64_t length = 0;
    if (!receive_all(childs_end, &length, sizeof length)) return end_child(t, "was not sent whole");
    if (length == end_of_table) return;
    if (length == unreadable) return end_child(t, "cannot be read");
    body.resize(length);
    if (!receive_all(childs_end, body.data(), length)) return end_child(t, "was not sent whole");
    for (std::size_t at = 0; at < length;) {
      std::uint32_t key = 0, value = 0;
      std::memcpy(&key, body.data() + at, sizeof key);
      std::memcpy(&value, body.data() + at + sizeof key, sizeof value);
      at += sizeof key + sizeof value;
      const std::string_view rest(body);
      visit(rest.substr(at, key), rest.substr(at + key, value));
      at += std::size_t{key} + value;
    }
  }
}

}  // namespace

void watch_for_children() { pthread_atfork(before_fork, in_parent, in_child); }

unsigned children_served() noexcept { return served.load(std::memory_order_relaxed); }

bool visit_records(hosted_table& t, const record_visitor& visit) {
  if (in_a_child()) return ask_parent(t, visit), true;
  return t.pool().for_each(visit) == status::ok && !planted("a-table-is-read-in-part");
}

}  // namespace durahash::server
