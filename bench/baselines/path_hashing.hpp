// Path hashing (Level §2.2 and figure 10; CCEH §6.2): cells in an inverted binary tree. A key has
// a leaf by each of two hash functions, and may lie in any cell on the way from them to the root.
// Of the tree's levels the first eight are kept ("path shortening").
//
// One item a cell, with a token, as Level's evaluation made it persistent (Level §3.3, §4.1).
// Insert   the item, its token; nothing ever moves.
// Update   in place, behind an undo log.       Erase    the token.
// Growth   twice as many leaves, all items hashed again (CCEH's code, PathHashing::resize).
#pragma once

#include "bench/baselines/token_slots.hpp"

namespace durahash::baselines {

template <class M>
class path_hashing {
 public:
  enum hole_index { root_not_flushed, read_before_durable };

  explicit path_hashing(surroundings<M>& around)
      : around_(around),
        m_(around.memory.medium()),
        steps_(m_),
        log_(m_, around.memory.template root<root_words>().log) {}

  static bool takes(std::uint64_t) { return true; }

  bool create(std::uint64_t capacity) {
    unsigned bits = 0;
    while (cells_of(bits) < capacity) ++bits;
    token_slot* made = new_cells(bits);
    if (made == nullptr) return false;
    (void)persist(m_, extent{made, bytes_of(bits)}, "path-hashing.create");
    (void)publish(m_, root().table, around_.memory.offset_of(made) | bits,
                  after_nothing("a new table"), "path-hashing.create.root");
    return true;
  }

  error recover() {
    if (around_.mends(read_before_durable)) around_.memory.settle();
    std::uint64_t word = load(m_, root().table);
    if (!around_.memory.reach(align_down(word, line_bytes), bytes_of(word % line_bytes)))
      return unrecoverable("the table lies outside of the memory");
    log_.undo([this](std::uint64_t key) -> pm<std::uint64_t>* {
      token_slot* cell = search(key);
      return cell == nullptr ? nullptr : &cell->value;
    });
    return recovered();
  }

  bool find(std::uint64_t key, std::uint64_t& value) {
    token_slot* cell = search(key);
    if (cell != nullptr) value = load(m_, cell->value);
    return cell != nullptr;
  }

  // crash before the token's store: the cell is free as before. After: the item is there.
  bool add(std::uint64_t key, std::uint64_t value) {
    token_slot* cell = empty_cell(table(), key);
    if (cell == nullptr) return false;
    steps_.write_item(*cell, key, value, "path-hashing.insert.item");
    steps_.set_tokens(cell->word, 1, "path-hashing.insert");
    return true;
  }

  status change(std::uint64_t key, std::uint64_t value) {
    token_slot* cell = search(key);
    if (cell == nullptr) return status::not_found;
    log_.update(cell->value, key, value);
    return status::ok;
  }

  bool remove(std::uint64_t key) {
    token_slot* cell = search(key);
    if (cell != nullptr) steps_.set_tokens(cell->word, 0, "path-hashing.erase");
    return cell != nullptr;
  }

  bool grow(std::uint64_t) {
    tree old = table();
    for (unsigned bits = old.bits + 1; bits < line_bytes; ++bits) {
      token_slot* cells = new_cells(bits);
      if (cells == nullptr) return false;
      std::uint64_t moved = 0;
      if (fill({cells, bits}, moved)) {
        become({cells, bits});
        around_.memory.release(around_.memory.offset_of(old.cells), bytes_of(old.bits));
        around_.records_moved += moved;
        return true;
      }
      around_.memory.release(around_.memory.offset_of(cells), bytes_of(bits));
    }
    return false;
  }

  template <class Visit>
  void scan(const Visit& visit) {
    tree now = table();
    for (std::uint64_t i = 0; i < cells_of(now.bits); ++i)
      if (token_slot& cell = now.cells[i]; load(m_, cell.word) != 0)
        visit(load(m_, cell.key), load(m_, cell.value));
  }
  std::uint64_t slots() const { return cells_of(table().bits); }

 private:
  static constexpr unsigned kept_levels = 8;  // CCEH §6.2

  struct root_words {
    pm<std::uint64_t> table;  // offset and, in the six low bits, the logarithm of the leaves
    pm<std::uint64_t> unused[7];
    undo_entry log;
  };
  static_assert(offsetof(root_words, log) == line_bytes);

  struct tree {
    token_slot* cells;
    unsigned bits;  // of a leaf's index
  };

  root_words& root() const { return around_.memory.template root<root_words>(); }
  tree table() const {
    std::uint64_t word = load(m_, root().table);
    return {around_.memory.template at<token_slot>(align_down(word, line_bytes)),
            static_cast<unsigned>(word % line_bytes)};
  }
  static unsigned levels_of(unsigned bits) { return std::min(kept_levels, bits + 1); }
  static std::uint64_t cells_of(unsigned bits) {
    return (std::uint64_t{2} << bits) - (std::uint64_t{2} << bits >> levels_of(bits));
  }
  static std::uint64_t bytes_of(unsigned bits) {
    return align_up(cells_of(bits) * sizeof(token_slot), line_bytes);
  }

  token_slot* new_cells(unsigned bits) {
    std::uint64_t at = around_.memory.allocate(bytes_of(bits));
    if (at == 0) return nullptr;
    around_.memory.fill(at, bytes_of(bits), 0);
    return around_.memory.template at<token_slot>(at);
  }

  /// The cells of both paths, from the leaves on. `visit` answers whether to stop.
  template <class Visit>
  token_slot* walk(const tree& in, std::uint64_t key, const Visit& visit) const {
    std::uint64_t first = around_.hash(key, 0) & low_bits(in.bits),
                  second = around_.hash(key, 1) & low_bits(in.bits), level_begin = 0;
    for (unsigned level = 0; level < levels_of(in.bits); ++level) {
      for (std::uint64_t leaf : {first, second})
        if (token_slot& cell = in.cells[level_begin + (leaf >> level)]; visit(cell)) return &cell;
      level_begin += std::uint64_t{1} << (in.bits - level);
    }
    return nullptr;
  }
  token_slot* search(std::uint64_t key) const {
    return walk(table(), key, [&](token_slot& cell) {
      return load(m_, cell.word) != 0 && load(m_, cell.key) == key;
    });
  }
  token_slot* empty_cell(const tree& in, std::uint64_t key) const {
    return walk(in, key, [&](token_slot& cell) { return load(m_, cell.word) == 0; });
  }

  /// All records, into a table that nothing refers to yet. Returns false where one has no cell.
  bool fill(const tree& to, std::uint64_t& moved) {
    bool fits = true;
    scan([&](std::uint64_t key, std::uint64_t value) {
      token_slot* cell = fits ? empty_cell(to, key) : nullptr;
      fits = cell != nullptr;
      if (!fits) return;
      steps_.store_item(*cell, key, value);
      store(m_, cell->word, 1);
      ++moved;
    });
    return fits;
  }

  // crash before the root's store: the old table. After: the new one.
  void become(const tree& made) {
    (void)persist(m_, extent{made.cells, bytes_of(made.bits)}, "path-hashing.grow.table");
    std::uint64_t word = around_.memory.offset_of(made.cells) | made.bits;
    // As published, the words that name the new table are never written back.
    if (!around_.mends(root_not_flushed)) return store(m_, root().table, word);
    // COMMIT: the larger table is the table
    (void)publish(m_, root().table, word, after_nothing("the table is durable"),
                  "path-hashing.grow.root");
  }

  surroundings<M>& around_;
  M& m_;
  token_steps<M> steps_;
  undo_log<M> log_;
};

}  // namespace durahash::baselines
