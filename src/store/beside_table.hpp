// A pool that another process may be writing to, behind the virtual line: over an engine's reader
// (beside_reader.hpp), compiled once for all engines and media.
#pragma once

#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "durahash/detail/any_table.hpp"
#include "store/beside_reader.hpp"

namespace durahash {

template <class Kind, class Interface>
class beside_base : public Interface {
 public:
  using record = copied_record<Kind>;

  beside_base(std::unique_ptr<beside_reader<Kind>> r, medium_kind m)
      : reader_(std::move(r)), medium_kind_(m) {}
  error open(const std::string& path) { return reader_->open(path); }

  pool_kinds kinds() const override;
  pool_info info() override;  // counts all records
  table_stats stats() override;
  /// Each record is whole, lies in the stretch of its hash, and is found by its key, if it is there
  /// still.
  check_report check() override;
  std::uint64_t size() override;
  status reserve(std::uint64_t) override { return status::read_only; }
  status compact() override { return status::read_only; }
  status sync() override { return status::ok; }
  error backup(const std::string& path) override;  // each record as it was at some moment of it
  status close() override { return status::ok; }
  const std::vector<std::string>& salvage_report() const override { return none_; }

 protected:
  using record_visitor = detail::function_ref<void(const record&)>;

  /// In hash order; one that moved while it was read, once.
  static void sort_and_thin(std::vector<record>& found);
  /// As engine_frame::scan.
  status visit_some(cursor& at, std::size_t limit, record_visitor visit);

  std::unique_ptr<beside_reader<Kind>> reader_;

 private:
  medium_kind medium_kind_;
  std::vector<std::string> none_;
};

class beside_words final : public beside_base<word_records, detail::word_table> {
 public:
  using beside_base::beside_base;
  using word = std::uint64_t;

  status get(word key, word& value) override;
  status write(detail::write_mode, word, word) override { return status::read_only; }
  status erase(word) override { return status::read_only; }
  status take(word, detail::value_taker<word>) override { return status::read_only; }
  status compare_and_set(word, word, word) override { return status::read_only; }
  status fetch_add(word, word, word&) override { return status::read_only; }
  status update_with(word, detail::value_change<word>) override { return status::read_only; }
  void get_many(std::span<const word> keys, word* values, status* answers) override;
  void put_many(std::span<const word> keys, const word*, status* answers) override;
  void erase_many(std::span<const word> keys, status* answers) override;
  status scan(cursor& at, std::size_t limit, detail::word_table::visitor visit) override;
};

/// Kind: byte_records or fixed_records.
template <class Kind>
class beside_bytes final : public beside_base<Kind, detail::bytes_table> {
 public:
  using beside_base<Kind, detail::bytes_table>::beside_base;
  using typename beside_base<Kind, detail::bytes_table>::record;
  using bytes = std::string_view;

  status get(bytes key, detail::bytes_table::value_reader read) override;
  status write(detail::write_mode, bytes, bytes) override { return status::read_only; }
  status erase(bytes) override { return status::read_only; }
  status take(bytes, detail::value_taker<bytes>) override { return status::read_only; }
  status compare_and_set(bytes, bytes, bytes) override { return status::read_only; }
  status fetch_add(bytes, std::uint64_t, std::uint64_t&) override { return status::read_only; }
  status update_with(bytes, detail::value_change<bytes>) override { return status::read_only; }
  void get_many(std::span<const bytes> keys, detail::bytes_table::indexed_reader read,
                status* answers) override;
  void put_many(std::span<const bytes> keys, const bytes*, status* answers) override;
  void erase_many(std::span<const bytes> keys, status* answers) override;
  status scan(cursor& at, std::size_t limit, detail::bytes_table::visitor visit) override;

 private:
  template <class Read>
  status get_into(bytes key, record& found, Read&& read);
};

extern template class beside_bytes<byte_records>;
extern template class beside_bytes<fixed_records>;

/// What a table of that kind of records is.
template <class Kind>
struct table_beside {
  using type = beside_bytes<Kind>;
};
template <>
struct table_beside<word_records> {
  using type = beside_words;
};
template <class Kind>
using table_beside_of = typename table_beside<Kind>::type;

}  // namespace durahash
