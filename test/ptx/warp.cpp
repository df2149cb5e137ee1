#include "test/ptx/warp.hpp"

#include <cstring>

namespace durahash::ptx {

warp::warp(surroundings of, const launched& l, std::uint32_t block, std::uint32_t number_in_block)
    : of_(of),
      launch_(l),
      code_(*l.code),
      block_(block),
      number_(number_in_block),
      local_(code_.local_bytes * lanes),
      groups_{{0, all_lanes}} {
  if (!of_.spare.empty()) {  // with what was in them: a kernel sets what it reads
    registers_ = std::move(of_.spare.back());
    of_.spare.pop_back();
  }
  if (registers_.size() < code_.registers) registers_.resize(code_.registers);
  for (const preset& p : code_.presets)
    for (unsigned n = 0; n < lanes; ++n) {
      std::uint64_t& to = registers_[p.at][n];
      using from = preset::source;
      switch (p.from) {
        case from::constant: to = p.value; break;
        case from::parameter:
          to = reinterpret_cast<std::uint64_t>(l.parameters.data()) + p.value;
          break;
        case from::local:
          to = reinterpret_cast<std::uint64_t>(local_.data()) + n * code_.local_bytes + p.value;
          break;
        case from::thread_x: to = number_ * lanes + n; break;
        case from::block_x: to = block; break;
        case from::threads_x: to = l.threads; break;
        case from::blocks_x: to = l.blocks; break;
        case from::lane: to = n; break;
        case from::lane_mask_lt: to = (std::uint64_t{1} << n) - 1; break;
      }
    }
  if (of_.weak == nullptr) return;
  actors_.resize(lanes);
  for (actor& each : actors_) {
    each.seen = l.begin, each.block = l.first_block + block;
    each.is_host = block >= l.first_of_host;
  }
}

void warp::add_what_was_seen(view& to) const {
  for (const actor& each : actors_) to.join(each.seen);
}

// ----------------------------------------------------------------------------------- scheduling

bool warp::step_of(std::size_t at) {
  group g = groups_[at];
  const instruction& i = code_.code.at(g.pc);
  ++launch_.counted->instructions;
  launch_.counted->lane_instructions += static_cast<unsigned>(std::popcount(g.mask));
  if (i.waits_for_lanes()) return wait_for_lanes(at, i), false;
  std::uint32_t on = guarded(i, g.mask);
  if (i.what == opcode::branch) {
    branch(at, i, on);
    return i.target <= g.pc;
  }
  if (i.what == opcode::leave) {
    alive_ &= ~on;
    groups_[at].mask &= ~on;
    advance(at, g.pc + 1);
    if (on != 0) meet();  // who is not alive is not waited for
    return false;
  }
  if (on != 0) execute(i, on);
  advance(at, g.pc + 1);
  return i.what == opcode::sleep;
}

bool warp::step_ahead() {
  if (groups_.empty() && !done()) choose(lane_order::together);  // fails
  for (std::size_t at = 0; at < groups_.size(); ++at)
    if (!can_be_told(groups_[at])) return step_of(at), true;
  return false;
}

bool warp::can_be_told(const group& g) const {
  const instruction& i = code_.code.at(g.pc);
  if (guarded(i, g.mask) == 0) return false;
  if (i.what == opcode::fence) return i.order == strength::sequential;
  bool where_others_are = i.where != space::parameter && i.where != space::local;
  return where_others_are &&
         (i.what == opcode::load || i.what == opcode::atomic ||
          (i.what == opcode::store && (of_.weak == nullptr || of_.ways.takes_every_order())));
}

/// A walk is for programs whose lanes access memory one by one.
unsigned warp::lane_of(const group& g) const {
  const instruction& i = code_.code.at(g.pc);
  std::uint32_t on = guarded(i, g.mask);
  auto lane = static_cast<unsigned>(std::countr_zero(on));
  if (std::popcount(on) != 1) fail(i, lane, "a walk has no step of several lanes");
  return lane;
}

bool warp::has_way(std::size_t at) const {
  if (of_.weak == nullptr) return true;
  const instruction& i = code_.code.at(groups_[at].pc);
  unsigned lane = lane_of(groups_[at]);
  std::uint64_t address =
      i.is_memory() ? registers_[i.from[0]][lane] + static_cast<std::uint64_t>(i.offset) : 0;
  return of_.weak->has_way(actors_[lane], i, address);
}

void warp::sleep(std::size_t at) {
  if (of_.weak != nullptr) of_.weak->sleep(actors_[lane_of(groups_[at])]);
}

std::size_t warp::choose(lane_order how) {
  if (groups_.empty()) {  // all that live wait, and not for one another
    auto first = static_cast<unsigned>(std::countr_zero(waiting_));
    fail(code_.code[waits_at_[first]], first, "waits for lanes that wait elsewhere");
  }
  std::size_t at = 0;
  if (how == lane_order::together) {
    for (std::size_t n = 1; n < groups_.size(); ++n)
      if (groups_[n].pc < groups_[at].pc) at = n;
    return at;
  }
  at = of_.ways() % groups_.size();
  std::uint32_t some = groups_[at].mask & static_cast<std::uint32_t>(of_.ways());
  constexpr unsigned apart_every = 4;
  if (some != 0 && some != groups_[at].mask && of_.ways() % apart_every == 0) {
    groups_.push_back({groups_[at].pc, groups_[at].mask & ~some});
    groups_[at].mask = some;
  }
  return at;
}

/// Groups that meet go on as one.
void warp::advance(std::size_t at, std::uint32_t pc) {
  groups_[at].pc = pc;
  if (groups_.size() == 1 && groups_[at].mask != 0) return;
  std::uint32_t mask = groups_[at].mask;
  for (std::size_t n = 0; n < groups_.size(); ++n)
    if (n != at && mask != 0 && groups_[n].pc == pc) {
      groups_[n].mask |= mask;
      mask = 0;
    }
  if (mask == 0) {
    groups_[at] = groups_.back();
    groups_.pop_back();
  }
}

void warp::branch(std::size_t at, const instruction& i, std::uint32_t on) {
  std::uint32_t off = groups_[at].mask & ~on;
  std::uint32_t next = groups_[at].pc + 1;
  if (on == 0) return advance(at, next);
  if (off == 0) return advance(at, i.target);
  groups_[at].mask = on;
  groups_.push_back({groups_[at].pc, off});
  std::size_t other = groups_.size() - 1;
  advance(other, next);  // the last: nothing else moves
  advance(at, i.target);
}

std::uint32_t warp::guarded(const instruction& i, std::uint32_t mask) const {
  if (!i.guarded) return mask;
  std::uint32_t on = 0;
  const lane_values& g = registers_[i.guard];
  for (unsigned n = 0; n < lanes; ++n) on |= std::uint32_t{(g[n] != 0) != i.guard_negated} << n;
  return on & mask;
}

// -------------------------------------------------------------------------- what lanes do as one

void warp::wait_for_lanes(std::size_t at, const instruction& i) {
  group g = groups_[at];
  std::uint32_t on = guarded(i, g.mask);
  for (unsigned n = 0; n < lanes; ++n)
    if ((on >> n & 1) != 0) {
      waits_at_[n] = g.pc;
      if ((registers_[i.from.back()][n] >> n & 1) == 0) fail(i, n, "is not in its own mask");
    }
  waiting_ |= on;
  groups_[at].mask &= ~on;
  advance(at, g.pc + 1);
  meet();
}

/// All for whom somebody waits are there: they go on.
void warp::meet() {
  std::uint32_t looked_at = 0;
  for (unsigned n = 0; n < lanes; ++n) {
    if ((waiting_ & ~looked_at) >> n == 0) return;
    if ((waiting_ >> n & 1) == 0 || (looked_at >> n & 1) != 0) continue;
    const instruction& i = code_.code[waits_at_[n]];
    auto mask = static_cast<std::uint32_t>(registers_[i.from.back()][n]);
    std::uint32_t members = 0;
    for (unsigned m = n; m < lanes; ++m) {
      if ((waiting_ >> m & 1) == 0) continue;
      const instruction& other = code_.code[waits_at_[m]];
      if (other.what == i.what && other.voted == i.voted && other.shuffled == i.shuffled &&
          static_cast<std::uint32_t>(registers_[other.from.back()][m]) == mask)
        members |= 1u << m;
    }
    looked_at |= members;
    if ((mask & alive_ & ~members) != 0) continue;
    waiting_ &= ~members;
    together(i.what, members);
    for (unsigned m = 0; m < lanes; ++m)
      if ((members >> m & 1) != 0) {
        groups_.push_back({waits_at_[m], 1u << m});
        advance(groups_.size() - 1, waits_at_[m] + 1);
      }
  }
}

void warp::together(opcode what, std::uint32_t members) {
  if (what == opcode::shuffle) return shuffle(members);
  if (what == opcode::vote) return vote(members);
  if (what == opcode::warp_barrier) {
    if (of_.weak == nullptr) return;
    std::vector<actor*> all;
    for (unsigned n = 0; n < lanes; ++n)
      if ((members >> n & 1) != 0) all.push_back(&actors_[n]);
    return weak_order::meet(all);
  }
  // match.any
  for (unsigned n = 0; n < lanes; ++n)
    if ((members >> n & 1) != 0) {
      const instruction& i = code_.code[waits_at_[n]];
      std::uint32_t same = 0;
      for (unsigned m = 0; m < lanes; ++m)
        if ((members >> m & 1) != 0 && low_bytes(registers_[i.from[0]][m], i.bytes) ==
                                           low_bytes(registers_[i.from[0]][n], i.bytes))
          same |= 1u << m;
      registers_[i.to[0]][n] = same;
    }
}

void warp::shuffle(std::uint32_t members) {
  lane_values given{};
  for (unsigned n = 0; n < lanes; ++n)
    if ((members >> n & 1) != 0) given[n] = registers_[code_.code[waits_at_[n]].from[0]][n];
  for (unsigned n = 0; n < lanes; ++n) {
    if ((members >> n & 1) == 0) continue;
    const instruction& i = code_.code[waits_at_[n]];
    auto by = static_cast<unsigned>(registers_[i.from[1]][n] & 31);
    auto limits = static_cast<unsigned>(registers_[i.from[2]][n]);
    unsigned segment = limits >> 8 & 31, clamp = limits & 31;
    unsigned first = n & segment, last = first | (clamp & ~segment);
    unsigned source = n;
    bool inside = false;
    switch (i.shuffled) {
      case shuffle_kind::index: source = first | (by & ~segment), inside = source <= last; break;
      case shuffle_kind::up: source = n - by, inside = n >= by && source >= last; break;
      case shuffle_kind::down: source = n + by, inside = source <= last; break;
      case shuffle_kind::butterfly: source = n ^ by, inside = source <= last; break;
    }
    if (!inside) source = n;
    if ((members >> source & 1) == 0)
      fail(i, n, "reads lane " + std::to_string(source) + ", which takes no part");
    registers_[i.to[0]][n] = low_bytes(given[source], i.bytes);
    if (i.to.size() > 1) registers_[i.to[1]][n] = inside;
  }
}

void warp::vote(std::uint32_t members) {
  std::uint32_t yes = 0;
  for (unsigned n = 0; n < lanes; ++n)
    if ((members >> n & 1) != 0 && registers_[code_.code[waits_at_[n]].from[0]][n] != 0)
      yes |= 1u << n;
  for (unsigned n = 0; n < lanes; ++n)
    if ((members >> n & 1) != 0) {
      const instruction& i = code_.code[waits_at_[n]];
      registers_[i.to[0]][n] = i.voted == vote_kind::ballot ? yes
                               : i.voted == vote_kind::any  ? std::uint64_t{yes != 0}
                                                            : std::uint64_t{yes == members};
    }
}

// ------------------------------------------------------------------------------------- execution

void warp::execute(const instruction& i, std::uint32_t on) {
  switch (i.what) {
    case opcode::load:
    case opcode::store:
    case opcode::atomic:
      if (of_.weak != nullptr) of_.weak->draw();
      return access_memory(i, on);
    case opcode::fence:
      (i.seen_by == scope::system ? launch_.counted->system_fences
                                  : launch_.counted->device_fences)++;
      for (unsigned n = 0; of_.weak != nullptr && n < lanes; ++n)
        if ((on >> n & 1) != 0) of_.weak->fence(actors_[n], i.order, i.seen_by);
      return;
    case opcode::active_mask:
      for (unsigned n = 0; n < lanes; ++n)
        if ((on >> n & 1) != 0) registers_[i.to[0]][n] = on;
      return;
    case opcode::sleep: return;
    default: arithmetic(registers_).execute(i, on);
  }
}

bool warp::is_own(unsigned lane, std::uint64_t address, unsigned bytes) const {
  std::uint64_t first = reinterpret_cast<std::uint64_t>(local_.data()) + lane * code_.local_bytes;
  return address >= first && address + bytes <= first + code_.local_bytes;
}
bool warp::is_parameter(std::uint64_t address, unsigned bytes) const {
  auto first = reinterpret_cast<std::uint64_t>(launch_.parameters.data());
  return address >= first && address + bytes <= first + launch_.parameters.size();
}

/// A parameter that all lanes load from one address. False: it is not so.
bool warp::same_for_all(const instruction& i, std::uint32_t on) {
  const lane_values& base = registers_[i.from[0]];
  auto lane = static_cast<unsigned>(std::countr_zero(on));
  for (unsigned n = lane; n < lanes; ++n)
    if ((on >> n & 1) != 0 && base[n] != base[lane]) return false;
  std::uint64_t address = base[lane] + static_cast<std::uint64_t>(i.offset);
  auto all = static_cast<unsigned>(i.bytes * i.to.size());
  if (i.is_signed || address % all != 0 || !is_parameter(address, all)) return false;
  for (std::size_t w = 0; w < i.to.size(); ++w) {
    std::uint64_t got = read_now(address + w * i.bytes, i.bytes);
    in_lanes(
        on, registers_[i.to[w]], [got](std::uint64_t) { return got; }, base);
  }
  return true;
}

void warp::access_memory(const instruction& i, std::uint32_t on) {
  std::size_t words = i.what == opcode::load    ? i.to.size()
                      : i.what == opcode::store ? i.from.size() - 1
                                                : 1;
  if (i.where == space::parameter && i.what == opcode::load && same_for_all(i, on)) return;
  if (i.where != space::parameter && i.where != space::local) count(i, on);
  for (unsigned lane = 0; lane < lanes; ++lane) {
    if ((on >> lane & 1) == 0) continue;
    std::uint64_t first = registers_[i.from[0]][lane] + static_cast<std::uint64_t>(i.offset);
    if (first % (i.bytes * words) != 0) fail(i, lane, "a misaligned address");
    for (std::size_t n = 0; n < words; ++n) {
      std::uint64_t address = first + n * i.bytes;
      if (is_own(lane, address, i.bytes) || is_parameter(address, i.bytes)) {
        in_own_memory(i, lane, address, n);
        continue;
      }
      if (i.where == space::parameter || i.where == space::local ||
          of_.pieces.find(address, i.bytes) == nullptr)
        fail(i, lane, "an address where there is no memory");
      std::uint64_t got = one_access(i, lane, address, n);
      if (i.what == opcode::load)
        registers_[i.to[n]][lane] =
            i.is_signed ? low_bytes(static_cast<std::uint64_t>(sign_extended(got, i.bytes)),
                                    std::max<unsigned>(i.bytes, 4))
                        : got;
      else if (i.what == opcode::atomic && !i.to.empty()) registers_[i.to[0]][lane] = got;
    }
  }
}

/// Parameters and a lane's own memory: nobody else sees them.
void warp::in_own_memory(const instruction& i, unsigned lane, std::uint64_t address,
                         std::size_t n) {
  bool writes = i.what != opcode::load;
  if (i.what == opcode::atomic || (writes && is_parameter(address, i.bytes)))
    fail(i, lane, "writes what is no memory of the device");
  if (writes) write_now(address, i.bytes, registers_[i.from[n + 1]][lane]);
  else
    registers_[i.to[n]][lane] = i.is_signed ? low_bytes(static_cast<std::uint64_t>(sign_extended(
                                                            read_now(address, i.bytes), i.bytes)),
                                                        std::max<unsigned>(i.bytes, 4))
                                            : read_now(address, i.bytes);
}

std::uint64_t warp::one_access(const instruction& i, unsigned lane, std::uint64_t address,
                               std::size_t n) {
  if (i.what == opcode::atomic) return atomically(i, lane, address);
  access a{address, i.bytes, i.order, i.seen_by, &i};
  if (i.what == opcode::load)
    return of_.weak != nullptr ? of_.weak->read(actors_[lane], a) : read_now(address, i.bytes);
  std::uint64_t value = low_bytes(registers_[i.from[n + 1]][lane], i.bytes);
  if (of_.weak != nullptr) of_.weak->write(actors_[lane], a, value);
  else write_now(address, i.bytes, value);
  return 0;
}

std::uint64_t warp::atomically(const instruction& i, unsigned lane, std::uint64_t address) {
  std::uint64_t operand = low_bytes(registers_[i.from[1]][lane], i.bytes);
  auto change = [&](std::uint64_t& v) {
    switch (i.kind) {
      case atomic_kind::add: v = low_bytes(v + operand, i.bytes); return true;
      case atomic_kind::bit_and: v &= operand; return true;
      case atomic_kind::bit_or: v |= operand; return true;
      case atomic_kind::exchange: v = operand; return true;
      case atomic_kind::max: v = std::max(v, operand); return true;
      case atomic_kind::min: v = std::min(v, operand); return true;
      case atomic_kind::cas:
        if (v != operand) return false;
        v = low_bytes(registers_[i.from[2]][lane], i.bytes);
        return true;
    }
    return false;
  };
  if (i.bytes < 4 || (i.is_signed && (i.kind == atomic_kind::max || i.kind == atomic_kind::min)))
    fail(i, lane, "an instruction that the interpreter lacks");
  if (of_.weak != nullptr)
    return of_.weak->update(actors_[lane], {address, i.bytes, i.order, i.seen_by, &i}, change);
  // nobody else runs kernels; the program's own stores beside are not atomic with it, as on a bus
  std::uint64_t old = read_now(address, i.bytes), next = old;
  if (change(next)) write_now(address, i.bytes, next);
  return old;
}

void warp::count(const instruction& i, std::uint32_t on) {
  distinct device, host, host_lines;
  for (unsigned lane = 0; lane < lanes; ++lane) {
    if ((on >> lane & 1) == 0) continue;
    std::uint64_t address = registers_[i.from[0]][lane] + static_cast<std::uint64_t>(i.offset);
    const piece* p = of_.pieces.find(address, i.bytes);
    if (p == nullptr) continue;
    if (p->of == owner::device) device.add(address / 32);
    else host.add(address / 32), host_lines.add(address / 128);
  }
  counters& c = *launch_.counted;
  c.device_sectors += device.count(), c.device_requests += device.count() != 0;
  c.host_sectors += host.count(), c.host_lines += host_lines.count(),
      c.host_requests += host.count() != 0;
  if (i.what == opcode::atomic) c.device_atomics += device.count(), c.host_atomics += host.count();
  if (i.what == opcode::store && releases(i.order) && i.seen_by == scope::system)
    ++c.system_releases;
}

void warp::fail(const instruction& i, unsigned lane, const std::string& what) const {
  char address[24] = "";
  if (i.is_memory())
    std::snprintf(address, sizeof address, " %llx",
                  static_cast<unsigned long long>(registers_[i.from[0]][lane] +
                                                  static_cast<std::uint64_t>(i.offset)));
  throw fault("block " + std::to_string(block_) + " thread " +
              std::to_string(number_ * lanes + lane) + ", line " + std::to_string(i.line) + " '" +
              i.text + "' of " + code_.name + ": " + what + address);
}

}  // namespace durahash::ptx
