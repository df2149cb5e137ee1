// durahash load: a file of records into the pool, in batches, acknowledged where asked.
#include <fmt/format.h>

#include <chrono>
#include <memory>

#include "arguments.hpp"
#include "failure.hpp"
#include "format.hpp"
#include "input.hpp"
#include "interruption.hpp"
#include "numbers.hpp"
#include "output.hpp"
#include "pool.hpp"
#include "progress.hpp"

namespace durahash::tool {
namespace {

struct load_arguments {
  std::string pool;
  std::string file;
  std::string format;
  bool acks = false;
  bool erase = false;
  bool header = false;
  bool allow_unterminated = false;
  std::string batch_text = "256";
  std::string sync_text;
  std::size_t batch = 256;
  std::size_t sync = 0;  ///< records between syncs; 0: none
};

format_kind format_of(const load_arguments& arguments) {
  if (!arguments.format.empty()) return *format_named(arguments.format);
  return format_of_file(arguments.file).value_or(format_kind::tsv);
}

/// A record of a batch, and where in the file it stood.
struct placed_record {
  record what;
  std::uint64_t line = 0;
};

/// What came of the records so far.
struct load_tally {
  std::uint64_t put = 0;
  std::uint64_t erased = 0;
  std::uint64_t absent = 0;  ///< were to be erased and were not there
  std::uint64_t acknowledged = 0;

  std::uint64_t records() const { return put + erased + absent; }
};

/// Collects records and writes them many at a time. A batch holds puts or erasures, never both, so
/// that their order is kept. No batch reaches past the record that a sync is due behind.
class batch_writer {
 public:
  batch_writer(table& pool, const record_format& format, const load_arguments& arguments,
               const std::string& file)
      : pool_(pool),
        format_(format),
        file_(file),
        acks_(arguments.acks),
        sync_(arguments.sync),
        batch_(arguments.batch) {}

  /// The record to decode into next.
  record& next() { return next_; }

  /// Takes the record that `next` gave out.
  void add(std::uint64_t line) {
    if (used_ > 0 && next_.erase != batch_[0].what.erase) flush();
    bytes_ += next_.key.size() + next_.value.size();
    std::swap(batch_[used_].what, next_);
    batch_[used_++].line = line;
    if (used_ == batch_.size() || bytes_ > full_bytes || unsynced_ + used_ == sync_) flush();
  }

  /// Writes the batch, and syncs where so many records ask for it; throws `failure` at the first
  /// record that was refused. On return all of it is durable and acknowledged; with `sync_` all
  /// that a sync has covered is, and the rest waits for the next.
  void flush() {
    if (used_ == 0) return;
    const bool erasing = batch_[0].what.erase;
    write(erasing);
    std::size_t refused = used_;
    for (std::size_t i = used_; i-- > 0;)
      if (!count(answers_[i], erasing)) refused = i;
    acknowledge(erasing);
    unsynced_ += used_;
    used_ = 0;
    bytes_ = 0;
    if (refused < answers_.size()) {
      settle();
      throw refusal(batch_[refused], answers_[refused]);
    }
    if (sync_ == 0 || unsynced_ >= sync_ || acknowledged_.text().size() > full_bytes) settle();
  }

  /// Writes what is left. On return all that was added is synced, where that is asked for, and
  /// acknowledged.
  void finish() {
    flush();
    settle();
  }

  const load_tally& tally() const { return tally_; }

 private:
  static constexpr std::size_t full_bytes = 16 << 20;

  void write(bool erasing) {
    keys_.clear();
    values_.clear();
    for (std::size_t i = 0; i < used_; ++i) {
      keys_.push_back(batch_[i].what.key);
      values_.push_back(batch_[i].what.value);
    }
    answers_.assign(used_, status::ok);
    if (erasing) pool_.erase_many(keys_, answers_);
    else pool_.put_many(keys_, values_, answers_);
  }

  /// True if the record is as it should be now.
  bool count(status answer, bool erasing) {
    if (answer == status::ok) ++(erasing ? tally_.erased : tally_.put);
    else if (erasing && answer == status::not_found) ++tally_.absent;
    else return false;
    return true;
  }

  void acknowledge(bool erasing) {
    if (!acks_) return;
    for (std::size_t i = 0; i < used_; ++i)
      if (answers_[i] == status::ok || (erasing && answers_[i] == status::not_found))
        format_.append_key(acknowledged_.text(), keys_[i]);
  }

  /// What is printed is on the disk: the sync comes first.
  void settle() {
    if (sync_ != 0 && unsynced_ != 0)
      if (const status answer = pool_.sync(); answer != status::ok)
        throw failure(exit_code_of(answer), "syncing the pool: " + std::string(message(answer)));
    unsynced_ = 0;
    acknowledged_.flush();
    if (acks_) tally_.acknowledged = tally_.records();
  }

  /// The records behind it may be written: those of one batch go in together.
  failure refusal(const placed_record& where, status answer) const {
    const auto at = static_cast<std::size_t>(&where - batch_.data());
    const std::size_t behind = answers_.size() - at - 1;
    std::string text = fmt::format("{}:{}: the key {}: {}", file_, where.line,
                                   shown(format_.kinds().key, where.what.key), why(pool_, answer));
    if (behind > 0)
      text += fmt::format("; some of the {} behind it may have been written",
                          counted(behind, "record"));
    return {exit_code_of(answer), text};
  }

  table& pool_;
  const record_format& format_;
  const std::string& file_;
  bool acks_;
  std::size_t sync_;
  std::size_t unsynced_ = 0;  // records written since the last sync
  record next_;
  std::vector<placed_record> batch_;  // its records' room is reused
  std::size_t used_ = 0;
  std::size_t bytes_ = 0;
  std::vector<std::string_view> keys_;
  std::vector<std::string_view> values_;
  std::vector<status> answers_;
  output acknowledged_;
  load_tally tally_;
};

std::string_view shape_of(format_kind format) {
  switch (format) {
    case format_kind::csv: return "key,value";
    case format_kind::tsv: return "key<TAB>value";
    case format_kind::jsonl: return "{\"key\":\"k\",\"value\":\"v\"}";
  }
  return "";
}

/// Throws bad_record unless the record can be written as this run means it.
void complete(record& what, format_kind format, bool erase_all) {
  if (erase_all) what.erase = true;
  if (!what.erase && !what.has_value)
    throw bad_record(
        fmt::format("a key without a value: {} is {} (--format tells another format, and --erase "
                    "erases the keys of a file)",
                    name_of(format), shape_of(format)));
  if (what.key.size() > max_key_bytes)
    throw bad_record(fmt::format("the key is {} bytes long; the longest key is {}",
                                 grouped(what.key.size()), grouped(max_key_bytes)));
  if (what.value.size() > max_value_bytes)
    throw bad_record(fmt::format("the value is {} bytes long; the longest value is {}",
                                 grouped(what.value.size()), grouped(max_value_bytes)));
}

/// A JSON object without its line end is whole. Whether a value is, or a quoted field, only what
/// follows it would tell.
void refuse_cut_off(format_kind format, const load_arguments& arguments) {
  if (format == format_kind::jsonl || arguments.allow_unterminated) return;
  throw bad_record(
      "the last line has no line end, so its record may be cut off (--allow-unterminated takes it "
      "as it is)");
}

void read_records(record_input& input, const record_format& format, batch_writer& writer,
                  const load_arguments& arguments) {
  progress bar(arguments.erase ? "erasing" : "loading", input.total_bytes(), "records");
  std::string_view frame;
  if (arguments.header) input.next(frame);
  while (interruption::asked() == 0 && input.next(frame)) {
    try {
      format.decode(frame, writer.next());
      complete(writer.next(), format.kind(), arguments.erase);
      if (!input.terminated()) refuse_cut_off(format.kind(), arguments);
    } catch (const bad_record& complaint) {
      writer.finish();
      const bool names = input.line() == 1 && std::string(frame) + '\n' == format.header();
      throw failure(exit_usage,
                    fmt::format("{}:{}: {}{}; nothing from this line on was written", input.name(),
                                input.line(), complaint.what(),
                                names ? " (--header skips a line of column names)" : ""));
    }
    writer.add(input.line());
    bar.reach(input.bytes_read(), writer.tally().records());
  }
  writer.finish();
}

std::string summary(const load_tally& tally, bool some_erased) {
  std::string text = counted(tally.put, "record") + " written";
  if (some_erased && tally.put == 0) text.clear();
  if (some_erased)
    text +=
        fmt::format("{}{} erased, {} {} not there", text.empty() ? "" : ", ", grouped(tally.erased),
                    grouped(tally.absent), tally.absent == 1 ? "was" : "were");
  return text;
}

/// How far it came. main ends the process by the signal.
void tell_interrupted(const load_arguments& arguments, const record_input& input,
                      const load_tally& tally, const std::string& kept) {
  std::string text =
      fmt::format("durahash load: interrupted ({}) behind line {} of {}: {}",
                  interruption::name_of_asked(), input.lines_taken(), input.name(), kept);
  if (arguments.acks) text += fmt::format("; {} acknowledged", grouped(tally.acknowledged));
  tell(text + "\n");
}

void load(load_arguments& arguments) {
  arguments.batch = whole_number("--batch", arguments.batch_text, 1, 1 << 16);
  if (!arguments.sync_text.empty())
    arguments.sync = whole_number("--sync", arguments.sync_text, 1, 1'000'000'000);
  record_input input(arguments.file, format_of(arguments));
  table pool = open_pool(arguments.pool, open_mode::open_existing);
  const interruption waits_for_close;
  const record_format format(format_of(arguments), kinds_of(pool));
  batch_writer writer(pool, format, arguments, input.name());
  input.before_wait = [&] { writer.finish(); };
  const auto start = std::chrono::steady_clock::now();
  const auto told = [&] {
    return summary(writer.tally(),
                   arguments.erase || writer.tally().erased + writer.tally().absent > 0);
  };
  const auto kept = [&] {
    return writer.tally().records() == 0 ? "nothing was written" : told() + ", and kept";
  };
  try {
    read_records(input, format, writer, arguments);
  } catch (const failure& why) {
    close_pool(pool);
    throw failure(why.exit_code,
                  fmt::format("{}\n  the load stopped there: {}", why.what(), kept()));
  }
  close_pool(pool);
  if (interruption::asked() != 0) return tell_interrupted(arguments, input, writer.tally(), kept());
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  tell(fmt::format(
      "{} in {}, {} records/s\n", told(), human_seconds(seconds),
      human_rate(static_cast<double>(writer.tally().records()) / std::max(seconds, 1e-6))));
}

}  // namespace

void add_load(command_line app, int& exit_code) {
  auto arguments = std::make_shared<load_arguments>();
  command_line command = app.add_subcommand("load", "Write the records of a file");
  add_pool_argument(command, arguments->pool);
  add_argument(command, "FILE", arguments->file, "the file of records; - is standard input");
  add_choice(command, "--format", arguments->format, {"csv", "tsv", "jsonl"},
             "csv, tsv or jsonl [by the file's name; tsv if that does not tell]");
  command.add_flag("--acks", arguments->acks,
                   "print each key once its record is durable at the pool's level");
  command.add_flag(
      "--erase", arguments->erase,
      "erase the keys of the file instead; values may be left out, and are not looked at");
  command.add_flag("--header", arguments->header, "skip the first line");
  command.add_flag("--allow-unterminated", arguments->allow_unterminated,
                   "take a last record of csv or tsv that has no line end behind it");
  command.add_option("--batch", arguments->batch_text, "records written together, 1 to 65536 [256]")
      .type_name("N");
  command
      .add_option("--sync", arguments->sync_text,
                  "sync the pool after every N records, 1 to 1000000000 [at the end alone]")
      .type_name("N");
  command.footer(
      "Formats, as dump writes them:\n"
      "  csv    key,value         RFC 4180: a field with a comma, quote or line end stands in "
      "\"quotes\", a quote is "
      "doubled\n"
      "  tsv    key<TAB>value     \\t \\n \\r \\\\ and \\xHH for bytes that are not printable "
      "UTF-8; \\& is an empty "
      "key alone\n"
      "  jsonl  {\"key\":\"k\",\"value\":\"v\"}   words as numbers; bytes that are not UTF-8 as "
      "\"key_base64\", "
      "\"value_base64\";\n"
      "                           {\"key\":\"k\",\"erase\":true} erases\n"
      "Words (u64) are decimal, or hexadecimal after 0x. Empty lines are skipped. A later record "
      "replaces an earlier "
      "one.\n\n"
      "--acks prints a key per line in the file's format, in the file's order, as soon as its "
      "batch is durable: what "
      "was\n"
      "printed survives whatever the pool's durability names. A batch is also written whenever "
      "input has to be waited "
      "for.\n"
      "--sync N writes the pool to the disk after every N records, and whenever input has to be "
      "waited for: a power "
      "cut "
      "while\n"
      "it waits leaves a plain file whole. One that comes later, among unsynced records, makes "
      "open refuse it, and\n"
      "durahash check --salvage keeps what is whole. With --acks a key is printed once a sync has "
      "covered it.\n"
      "At a bad line the load stops with exit code 2; what stood before it is written. So it does "
      "at a last record of "
      "csv\n"
      "or tsv without a line end: it may have been cut off. A JSON object without one is whole.\n"
      "Ctrl-C, TERM and HUP end the load after the records that were read: it closes the pool, "
      "says behind which line "
      "it\n"
      "stopped, and ends by the signal. A second one ends it at once, as kill -9 does.\n\n"
      "Examples:\n"
      "  durahash load users.dh users.csv\n"
      "  durahash dump old.dh | durahash load new.dh -\n"
      "  durahash load users.dh gone.txt --erase\n"
      "  tail -f users.tsv | durahash load users.dh - --sync 10000 --acks");
  command.callback([arguments, &exit_code] {
    load(*arguments);
    exit_code = exit_done;
  });
}

}  // namespace durahash::tool
