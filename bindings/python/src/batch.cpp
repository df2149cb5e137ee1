// Many records at once. The library gets them in chunks that fit a cache: answers are looked at
// while they are near, and what goes into the pool is copied first, since another thread may write
// to the caller's array meanwhile and a record's bytes must be those of its checksum.
#include <algorithm>
#include <array>
#include <durahash/deferred_wait.hpp>
#include <memory>

#include "pool.hpp"

namespace durahash::python {
namespace {

constexpr std::size_t words_at_once = 1024, rows_at_once = 256;
/// Between slabs signals are heard: Ctrl-C ends a long batch. Lists become objects slab by slab.
constexpr std::size_t words_in_slab = 1 << 20, rows_in_slab = 1 << 17, items_in_slab = 4096;
constexpr std::size_t copied_bytes = 64 * 1024;

/// The first operation of a batch that came to nothing.
struct failure {
  status code = status::ok;
  std::size_t index = 0;
  void note(status s, std::size_t i) noexcept {
    if (code == status::ok) code = s, index = i;
  }
  void raise_if_any(std::size_t of) const {
    if (code == status::ok) return;
    raise(code, std::string(message(code)) + " (item " + std::to_string(index) + " of " +
                    std::to_string(of) + ")");
  }
};

/// Calls run(begin, end) for slabs of n, each within a use of the pool and without the GIL.
template <class Run>
void in_slabs(pool& p, std::size_t n, std::size_t slab, Run&& run) {
  for (std::size_t begin = 0; begin < n; begin += slab) {
    {
      use open(p);
      without_gil others;
      run(begin, std::min(n, begin + slab));
    }
    if (begin + slab < n && PyErr_CheckSignals() != 0) nb::raise_python_error();
  }
  if (n == 0) use open(p);  // a closed pool is no place for an empty batch either
}

/// Calls run(begin, count) for chunks of [begin, end).
template <class Run>
void in_chunks(std::size_t begin, std::size_t end, std::size_t chunk, Run&& run) {
  for (; begin < end; begin += chunk) run(begin, std::min(chunk, end - begin));
}

const std::uint64_t* words_at(const column& c, std::size_t i) {
  return reinterpret_cast<const std::uint64_t*>(c.base() + i * sizeof(std::uint64_t));
}

/// Whether the key was there; what is neither yes nor no is noted.
void settle(std::span<const status> answers, bool* was_there, std::size_t begin, failure& wrong) {
  std::uint8_t worst = 0;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    was_there[i] = answers[i] == status::ok;
    worst = std::max(worst, static_cast<std::uint8_t>(answers[i]));
  }
  if (worst <= static_cast<std::uint8_t>(status::not_found)) return;
  for (std::size_t i = 0; i < answers.size(); ++i)
    if (answers[i] != status::ok && answers[i] != status::not_found)
      return wrong.note(answers[i], begin + i);
}

void settle_writes(std::span<const status> answers, std::size_t begin, failure& wrong) {
  std::uint8_t worst = 0;
  for (status s : answers) worst = std::max(worst, static_cast<std::uint8_t>(s));
  if (worst == 0) return;
  for (std::size_t i = 0; i < answers.size(); ++i)
    if (answers[i] != status::ok) return wrong.note(answers[i], begin + i);
}

using views = std::array<std::string_view, rows_at_once>;

std::span<const std::string_view> views_of(const column& c, std::size_t begin, std::size_t count,
                                           views& into) {
  for (std::size_t i = 0; i < count; ++i) into[i] = c[begin + i];
  return {into.data(), count};
}

/// Copies of rows, as views.
class row_copies {
 public:
  explicit row_copies(const column& c) : column_(c) {
    if (c.base() != nullptr && c.width() != 0) copy_ = std::make_unique<char[]>(c.width() * rows());
  }
  /// How many fit at once.
  std::size_t rows() const noexcept {
    if (column_.base() == nullptr || column_.width() == 0) return rows_at_once;
    return std::clamp<std::size_t>(copied_bytes / column_.width(), 1, rows_at_once);
  }
  std::span<const std::string_view> of(std::size_t begin, std::size_t count) {
    views_of(column_, begin, count, views_);
    if (copy_) {
      const std::size_t width = column_.width();
      std::memcpy(copy_.get(), column_.base() + begin * width, count * width);
      for (std::size_t i = 0; i < count; ++i)
        views_[i] = {copy_.get() + i * width, column_.length_of(copy_.get() + i * width)};
    }
    return {views_.data(), count};
  }

 private:
  const column& column_;
  std::unique_ptr<char[]> copy_;
  views views_;
};

}  // namespace

// ---------------------------------------------------------------------------------- get

nb::object pool::get_many(nb::handle keys, nb::handle out, nb::handle found) {
  column wanted(key_, keys);
  if (value_.is_array() || !out.is_none()) return get_arrays(wanted, out, found);
  return get_lists(wanted, found);
}

nb::object pool::get_arrays(const column& keys, nb::handle out, nb::handle found) {
  const std::size_t n = keys.size();
  target values(value_, out, n);
  flags there(found, n);
  // Rows of bytes of any length have that of the caller's array.
  const std::size_t width = value_.width != 0 ? value_.width : values.row_bytes();
  failure wrong;
  if (holds_words()) {
    auto* to = reinterpret_cast<std::uint64_t*>(values.at());
    in_slabs(*this, n, words_in_slab, [&](std::size_t begin, std::size_t end) {
      std::array<status, words_at_once> answers;
      in_chunks(begin, end, words_at_once, [&](std::size_t at, std::size_t count) {
        words().get_many({words_at(keys, at), count}, {to + at, count}, {answers.data(), count});
        settle({answers.data(), count}, there.at() + at, at, wrong);
        if (!values.is_new()) return;
        for (std::size_t i = at; i < at + count; ++i) to[i] = there.at()[i] ? to[i] : 0;
      });
    });
  } else {
    in_slabs(*this, n, rows_in_slab, [&](std::size_t begin, std::size_t end) {
      std::array<status, rows_at_once> answers;
      views now;
      in_chunks(begin, end, rows_at_once, [&](std::size_t at, std::size_t count) {
        char* to = values.at() + at * width;
        records().read_many(views_of(keys, at, count, now),
                            [&](std::size_t i, std::string_view value) {
                              if (value.size() == width)
                                std::memcpy(to + i * width, value.data(), width);
                              else wrong.note(status::mismatch, at + i);
                            },
                            {answers.data(), count});
        settle({answers.data(), count}, there.at() + at, at, wrong);
        if (!values.is_new()) return;
        for (std::size_t i = 0; i < count; ++i)
          if (!there.at()[at + i]) std::memset(to + i * width, 0, width);
      });
    });
  }
  if (wrong.code == status::mismatch)
    raise(status::invalid_argument, "the record of item " + std::to_string(wrong.index) + " of " +
                                        std::to_string(n) + " has not the length of a row, " +
                                        std::to_string(width) + " bytes");
  wrong.raise_if_any(n);
  return nb::make_tuple(values.array(), there.array());
}

nb::object pool::get_lists(const column& keys, nb::handle found) {
  const std::size_t n = keys.size();
  flags there(found, n);
  nb::list values;
  failure wrong;
  std::string bytes;  // of a slab
  std::array<std::pair<std::size_t, std::size_t>, items_in_slab> places;
  for (std::size_t slab = 0; slab < n || slab == 0; slab += items_in_slab) {
    const std::size_t end = std::min(n, slab + items_in_slab);
    bytes.clear();
    bool has_room = true;
    in_slabs(*this, end - slab, items_in_slab, [&](std::size_t, std::size_t) {
      std::array<status, rows_at_once> answers;
      views now;
      in_chunks(slab, end, rows_at_once, [&](std::size_t at, std::size_t count) {
        records().read_many(views_of(keys, at, count, now),
                            [&](std::size_t i, std::string_view value) {
                              try {
                                places[at + i - slab] = {bytes.size(), value.size()};
                                bytes.append(value);
                              } catch (const std::bad_alloc&) {
                                has_room = false;
                              }
                            },
                            {answers.data(), count});
        settle({answers.data(), count}, there.at() + at, at, wrong);
      });
    });
    if (!has_room) throw std::bad_alloc();
    wrong.raise_if_any(n);
    for (std::size_t i = slab; i < end; ++i) {
      auto [begin, length] = places[i - slab];
      values.append(there.at()[i] ? object_of(value_, std::string_view(bytes).substr(begin, length))
                                  : nb::none());
    }
    if (n == 0) break;
    if (PyErr_CheckSignals() != 0) nb::raise_python_error();
  }
  return nb::make_tuple(values, there.array());
}

nb::object pool::contains_many(nb::handle keys, nb::handle found) {
  column wanted(key_, keys);
  const std::size_t n = wanted.size();
  flags there(found, n);
  failure wrong;
  in_slabs(*this, n, rows_in_slab, [&](std::size_t begin, std::size_t end) {
    std::array<status, words_at_once> answers;
    if (holds_words()) {
      std::array<std::uint64_t, words_at_once> ignored;
      in_chunks(begin, end, words_at_once, [&](std::size_t at, std::size_t count) {
        words().get_many({words_at(wanted, at), count}, {ignored.data(), count},
                         {answers.data(), count});
        settle({answers.data(), count}, there.at() + at, at, wrong);
      });
      return;
    }
    views now;
    in_chunks(begin, end, rows_at_once, [&](std::size_t at, std::size_t count) {
      records().read_many(views_of(wanted, at, count, now), [](std::size_t, std::string_view) {},
                          {answers.data(), count});
      settle({answers.data(), count}, there.at() + at, at, wrong);
    });
  });
  wrong.raise_if_any(n);
  return there.array();
}

// ---------------------------------------------------------------------------------- put, erase

std::uint64_t pool::put_many(nb::handle keys, nb::handle values, bool wait) {
  column names(key_, keys), news(value_, values);
  const std::size_t n = names.size();
  if (news.size() != n)
    raise(PyExc_ValueError,
          std::to_string(n) + " keys, and " + std::to_string(news.size()) + " values");
  failure wrong;
  std::uint64_t position = 0;
  // The chunks of a slab wait for the disk once, at its end.
  auto put = [&](std::size_t begin, std::size_t end) {
    deferred_wait later(any());
    if (holds_words()) {
      std::array<std::uint64_t, words_at_once> k, v;
      std::array<status, words_at_once> answers;
      in_chunks(begin, end, words_at_once, [&](std::size_t at, std::size_t count) {
        std::memcpy(k.data(), words_at(names, at), count * sizeof k[0]);
        std::memcpy(v.data(), words_at(news, at), count * sizeof v[0]);
        words().put_many({k.data(), count}, {v.data(), count}, {answers.data(), count});
        settle_writes({answers.data(), count}, at, wrong);
      });
    } else {
      row_copies k(names), v(news);
      std::array<status, rows_at_once> answers;
      in_chunks(begin, end, std::min(k.rows(), v.rows()), [&](std::size_t at, std::size_t count) {
        records().put_many(k.of(at, count), v.of(at, count), {answers.data(), count});
        settle_writes({answers.data(), count}, at, wrong);
      });
    }
    position = std::max(position, later.position());
    if (!wait) return;
    if (status s = any().wait_durable(later.position()); s != status::ok) wrong.note(s, begin);
  };
  in_slabs(*this, n, holds_words() ? words_in_slab : rows_in_slab, put);
  wrong.raise_if_any(n);
  return position;
}

nb::object pool::erase_many(nb::handle keys, nb::handle erased) {
  column names(key_, keys);
  const std::size_t n = names.size();
  flags there(erased, n);
  failure wrong;
  in_slabs(*this, n, rows_in_slab, [&](std::size_t begin, std::size_t end) {
    deferred_wait later(any());
    std::array<status, words_at_once> answers;
    if (holds_words()) {
      std::array<std::uint64_t, words_at_once> k;
      in_chunks(begin, end, words_at_once, [&](std::size_t at, std::size_t count) {
        std::memcpy(k.data(), words_at(names, at), count * sizeof k[0]);
        words().erase_many({k.data(), count}, {answers.data(), count});
        settle({answers.data(), count}, there.at() + at, at, wrong);
      });
    } else {
      row_copies k(names);
      in_chunks(begin, end, k.rows(), [&](std::size_t at, std::size_t count) {
        records().erase_many(k.of(at, count), {answers.data(), count});
        settle({answers.data(), count}, there.at() + at, at, wrong);
      });
    }
    if (status s = any().wait_durable(later.position()); s != status::ok) wrong.note(s, begin);
  });
  wrong.raise_if_any(n);
  return there.array();
}

// ---------------------------------------------------------------------------------- scan

namespace {

/// One side of the records that a scan has seen.
class gathered {
 public:
  explicit gathered(const form& of) : form_(of) {}

  void add(std::string_view item) {
    bytes_.append(item);
    if (form_.width == 0) ends_.push_back(bytes_.size());
    else if (item.size() != form_.width) fits_ = false;
  }
  bool fits() const noexcept { return fits_; }

  nb::object object(std::size_t n, bool arrays) const {
    if (!fits_)
      raise(status::invalid_argument,
            "a record has not the length of its form, " + std::to_string(form_.width) + " bytes");
    if (arrays && form_.is_array()) {
      target made(form_, nb::none(), n);
      if (n != 0) std::memcpy(made.at(), bytes_.data(), bytes_.size());
      return made.array();
    }
    nb::list made;
    std::string_view all = bytes_;
    for (std::size_t i = 0, begin = 0; i < n; ++i) {
      std::size_t end = form_.width != 0 ? begin + form_.width : ends_[i];
      made.append(object_of(form_, all.substr(begin, end - begin)));
      begin = end;
    }
    return made;
  }

 private:
  const form& form_;
  std::string bytes_;
  std::vector<std::size_t> ends_;
  bool fits_ = true;
};

std::string_view bytes_of(const std::uint64_t& word) {
  return {reinterpret_cast<const char*>(&word), sizeof word};
}

}  // namespace

nb::object pool::scan(std::uint64_t position, std::size_t limit, bool arrays) {
  cursor at{position, false};
  gathered keys(key_), values(value_);
  std::size_t n = 0;
  bool has_room = true;
  require([&] {
    auto visit = [&](std::string_view key, std::string_view value) {
      if (!has_room) return;
      try {
        keys.add(key), values.add(value), ++n;
      } catch (const std::bad_alloc&) {
        has_room = false;
      }
    };
    if (!holds_words()) return records().scan(at, limit, visit);
    return words().scan(at, limit, [&](std::uint64_t key, std::uint64_t value) {
      visit(bytes_of(key), bytes_of(value));
    });
  });
  if (!has_room) throw std::bad_alloc();
  return nb::make_tuple(at.position, at.done, keys.object(n, arrays), values.object(n, arrays));
}

}  // namespace durahash::python
