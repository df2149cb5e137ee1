#include "demo_worker.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <vector>

#include "demo_acks.hpp"
#include "demo_files.hpp"
#include "failure.hpp"
#include "pool.hpp"

namespace durahash::tool {
namespace {

std::vector<file_entry> read_list() {
  std::string text;
  char chunk[256 * 1024];
  off_t at = 0;  // pread: the file is shared with the workers before and after this one
  for (ssize_t got; (got = ::pread(worker_list_file, chunk, sizeof chunk, at)) > 0; at += got)
    text.append(chunk, static_cast<std::size_t>(got));
  return unpacked(text);
}

/// Does one kind of work to files, a batch at a time: looks up what the pool has, writes what it
/// lacks, acknowledges.
class worker {
 public:
  worker(table& pool, work_kind work) : pool_(pool), work_(work), acks_(worker_acks_file) {}

  void run(const std::vector<file_entry>& files) {
    acks_.add("", "");
    acks_.send();
    for (std::size_t at = 0; at < files.size(); at += worker_batch) {
      const std::span<const file_entry> some(files.data() + at,
                                             std::min(worker_batch, files.size() - at));
      if (work_ == work_kind::erase) erase(some);
      else write(some);
      acks_.send();
    }
  }

 private:
  void erase(std::span<const file_entry> files) {
    std::vector<std::string_view> keys;
    for (const file_entry& file : files) keys.push_back(file.path);
    std::vector<status> answers(keys.size());
    pool_.erase_many(keys, answers);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (answers[i] != status::ok && answers[i] != status::not_found) give_up(keys[i], answers[i]);
      acks_.add(keys[i], std::nullopt);
    }
  }

  void write(std::span<const file_entry> files) {
    std::vector<std::string_view> keys;
    for (const file_entry& file : files) keys.push_back(file.path);
    std::vector<std::string> present(keys.size());
    std::vector<status> answers(keys.size());
    pool_.get_many(keys, present, answers);

    std::vector<std::string_view> missing;
    std::vector<std::string> values;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (answers[i] != status::ok) present[i].clear();
      if (auto value = wanted(files[i], present[i])) {
        missing.push_back(keys[i]);
        values.push_back(std::move(*value));
      }
    }
    put(missing, values);
  }

  /// What the pool should say of the file; nothing if it says so already. This is how a worker
  /// resumes.
  std::optional<std::string> wanted(const file_entry& file, const std::string& present) const {
    const auto facts = parse_facts(present);
    if (work_ == work_kind::index) {
      if (facts && facts->same_file(file)) return std::nullopt;
      return text_of({file.size, file.modified, fingerprint(file.path), 1});
    }
    if (!facts) give_up(file.path, status::not_found);  // it was there when the list was made
    if (facts->pass == 2) return std::nullopt;
    const file_entry now = look_at(file.path).value_or(file);
    if (facts->same_file(now)) return text_of({now.size, now.modified, facts->fingerprint, 2});
    return text_of({now.size, now.modified, fingerprint(now.path), 2});
  }

  void put(const std::vector<std::string_view>& keys, const std::vector<std::string>& values) {
    const std::vector<std::string_view> views(values.begin(), values.end());
    std::vector<status> answers(keys.size());
    pool_.put_many(keys, views, answers);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (answers[i] != status::ok) give_up(keys[i], answers[i]);
      acks_.add(keys[i], views[i]);
    }
  }

  [[noreturn]] static void give_up(std::string_view key, status answer) {
    throw failure(exit_code_of(answer),
                  shown(data_kind::bytes, key) + ": " + std::string(message(answer)));
  }

  table& pool_;
  work_kind work_;
  ack_sender acks_;
};

}  // namespace

std::string_view name_of(work_kind work) noexcept {
  switch (work) {
    case work_kind::index: return "index";
    case work_kind::refresh: return "refresh";
    case work_kind::erase: return "erase";
  }
  return "";
}

std::optional<work_kind> work_named(std::string_view name) noexcept {
  for (const work_kind work : {work_kind::index, work_kind::refresh, work_kind::erase})
    if (name_of(work) == name) return work;
  return std::nullopt;
}

void run_worker(const std::string& pool_path, work_kind work) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // nobody is left behind when the demo itself dies
  table pool = open_pool(pool_path, open_mode::open_existing);
  worker(pool, work).run(read_list());
  close_pool(pool);
}

}  // namespace durahash::tool
