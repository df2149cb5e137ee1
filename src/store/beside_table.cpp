#include "store/beside_table.hpp"

#include <algorithm>

#include "store/backup.hpp"
#include "store/block_facts.hpp"

namespace durahash {

namespace {

status put_into(opened& copy, const copied_record<word_records>& r) {
  return copy.words->write(detail::write_mode::put, r.key(), r.value());
}
template <class Kind>
  requires(!Kind::in_slot)
status put_into(opened& copy, const copied_record<Kind>& r) {
  return copy.bytes->write(detail::write_mode::put, r.key(), r.value());
}

}  // namespace

template <class Kind, class Interface>
pool_kinds beside_base<Kind, Interface>::kinds() const {
  return kinds_of(reader_->block());
}

template <class Kind, class Interface>
pool_info beside_base<Kind, Interface>::info() {
  const std::uint64_t records = size();
  const facts_beside seen = reader_->facts();
  pool_info made = facts_of(reader_->block(), medium_kind_, records, seen.slots);
  made.file_bytes = seen.file_bytes, made.clean = seen.clean;
  made.beside_a_writer = reader_->map().writer_is_there();
  return made;
}

template <class Kind, class Interface>
table_stats beside_base<Kind, Interface>::stats() {
  table_stats made;
  if_memory_allows([&] {
    made.figures.emplace_back("beside_a_writer", reader_->map().writer_is_there() ? 1 : 0);
    if (reader_->key_bytes() != 0)
      made.figures.emplace_back("key_bytes", static_cast<double>(reader_->key_bytes()));
  });
  return made;
}

template <class Kind, class Interface>
check_report beside_base<Kind, Interface>::check() {
  check_report report;
  auto violated = [&](const std::string& what) {
    report.ok = false;
    constexpr std::size_t most = 100;
    if (report.violations.size() < most) report.violations.push_back(what);
  };
  const status s = with_memory([&] {
    record again;
    for (std::uint64_t position = 0;;) {
      std::vector<record> found;
      std::uint64_t end = 0;
      if (const status read = reader_->read_stretch(position, found, end); read != status::ok) {
        violated("the records whose hashes begin at " + std::to_string(position) + ": " +
                 std::string(message(read)));
        if (read != status::damaged || end == 0) return read;
      }
      sort_and_thin(found);
      for (const record& r : found) {
        ++report.records;
        if (const status there = reader_->find(r.key(), again); there == status::damaged)
          violated("a record that iteration finds is damaged where a search finds it");
      }
      if (end == 0) return status::ok;
      position = end;
    }
  });
  if (s != status::ok && report.ok) report.ok = false, report.violations.emplace_back(message(s));
  return report;
}

template <class Kind, class Interface>
std::uint64_t beside_base<Kind, Interface>::size() {
  std::uint64_t records = 0;
  static_cast<void>(with_memory([&] {
    for (cursor at; !at.done;)
      if (status s = visit_some(at, 1 << 20, [&](const record&) { ++records; }); s != status::ok)
        return s;
    return status::ok;
  }));
  return records;
}

template <class Kind, class Interface>
error beside_base<Kind, Interface>::backup(const std::string& path) {
  return back_up_records(reader_->block(), reader_->map().bytes(), path, [&](opened& copy) {
    return with_memory([&] {
      status s = status::ok;
      for (cursor at; !at.done && s == status::ok;) {
        status put = status::ok;
        s = visit_some(at, 1024, [&](const record& r) {
          if (put == status::ok) put = put_into(copy, r);
        });
        if (s == status::ok) s = put;
      }
      return s;
    });
  });
}

template <class Kind, class Interface>
void beside_base<Kind, Interface>::sort_and_thin(std::vector<record>& found) {
  auto key = [](const record& r) { return r.key(); };
  std::sort(found.begin(), found.end(), [&](const record& a, const record& b) {
    return a.hash != b.hash ? a.hash < b.hash : key(a) < key(b);
  });
  found.erase(std::unique(found.begin(), found.end(),
                          [&](const record& a, const record& b) { return key(a) == key(b); }),
              found.end());
}

template <class Kind, class Interface>
status beside_base<Kind, Interface>::visit_some(cursor& at, std::size_t limit,
                                                record_visitor visit) {
  std::size_t left = std::max<std::size_t>(limit, 1);
  std::vector<record> found;
  while (!at.done && left > 0) {
    std::uint64_t end = 0;
    if (status s = reader_->read_stretch(at.position, found, end); s != status::ok) return s;
    std::erase_if(found, [&](const record& r) { return r.hash < at.position; });
    sort_and_thin(found);
    bool stopped = false;
    for (std::size_t i = 0; i < found.size() && !stopped; ++i) {
      stopped = left == 0 && (i == 0 || found[i - 1].hash != found[i].hash);
      if (stopped) at.position = found[i].hash;
      else visit(found[i]);
      if (left > 0) --left;
    }
    if (stopped) return status::ok;
    at.done = end == 0;
    at.position = at.done ? ~std::uint64_t{0} : end;
  }
  return status::ok;
}

status beside_words::get(word key, word& value) {
  record found;
  const status s = reader_->find(key, found);
  if (s == status::ok) value = found.value_word;
  return s;
}
void beside_words::get_many(std::span<const word> keys, word* values, status* answers) {
  for (std::size_t i = 0; i < keys.size(); ++i) answers[i] = get(keys[i], values[i]);
}
void beside_words::put_many(std::span<const word> keys, const word*, status* answers) {
  std::fill_n(answers, keys.size(), status::read_only);
}
void beside_words::erase_many(std::span<const word> keys, status* answers) {
  std::fill_n(answers, keys.size(), status::read_only);
}
status beside_words::scan(cursor& at, std::size_t limit, detail::word_table::visitor visit) {
  return with_memory([&] {
    return visit_some(at, limit, [&](const record& r) { visit(r.key_word, r.value_word); });
  });
}

template <class Kind>
template <class Read>
status beside_bytes<Kind>::get_into(bytes key, record& found, Read&& read) {
  if (!this->reader_->takes_key(key)) return status::invalid_argument;
  const status s = this->reader_->find(key, found);
  if (s == status::ok) read(found.value());
  return s;
}
template <class Kind>
status beside_bytes<Kind>::get(bytes key, detail::bytes_table::value_reader read) {
  return with_memory([&] {
    record found;
    return get_into(key, found, [&](bytes value) { read(value); });
  });
}
template <class Kind>
void beside_bytes<Kind>::get_many(std::span<const bytes> keys,
                                  detail::bytes_table::indexed_reader read, status* answers) {
  std::fill_n(answers, keys.size(), status::out_of_memory);
  static_cast<void>(with_memory([&] {
    record found;
    for (std::size_t i = 0; i < keys.size(); ++i)
      answers[i] = get_into(keys[i], found, [&](bytes value) { read(i, value); });
    return status::ok;
  }));
}
template <class Kind>
void beside_bytes<Kind>::put_many(std::span<const bytes> keys, const bytes*, status* answers) {
  std::fill_n(answers, keys.size(), status::read_only);
}
template <class Kind>
void beside_bytes<Kind>::erase_many(std::span<const bytes> keys, status* answers) {
  std::fill_n(answers, keys.size(), status::read_only);
}
template <class Kind>
status beside_bytes<Kind>::scan(cursor& at, std::size_t limit, detail::bytes_table::visitor visit) {
  return with_memory([&] {
    return this->visit_some(at, limit, [&](const record& r) { visit(r.key(), r.value()); });
  });
}

template class beside_bytes<byte_records>;
template class beside_bytes<fixed_records>;

}  // namespace durahash
