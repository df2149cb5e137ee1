#!/usr/bin/env python3
"""kill -9, again and again, and nothing lost.

Each round feeds `durahash load --acks` with puts, updates and erasures, kills it with SIGKILL at a random moment (some while it opens
the pool) and compares `durahash dump` with what was acknowledged. Now and then a `durahash compact` is killed, too.

  - every acknowledged operation has its effect, with the right value;
  - nothing is there that was never sent, and no record is torn;
  - of the operations behind the last acknowledgement, only those of the one batch in flight may have an effect, each all or nothing.

Keys come from a fixed set and values have a bounded length, so the content of a pool has a bound. The file must respect one too. In the
middle of its life a pool is filled with every key and killed: from then on it may never be larger than it was by then by more than a
quarter (GROWTH) and one of the steps in which a pool takes space (STEP). A life of fewer than SETTLING rounds is too short to say so.

  torture.py [--rounds 400] [--seed S] [--engine turbo] [--kind u64|bytes|all]   exit code 1 if a promise is broken
  torture.py --self-test      plants losses, wrong values, phantoms and growth; exit code 1 unless every one is noticed
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

TOOL = os.environ.get("DURAHASH", "durahash")
BATCH = 64
KEYS = 3000
OPERATIONS = 6000  # of a round; more than it lives to do
GROWTH = 0.25
STEP = 256 << 10  # of a small pool
SETTLING = 40
ABSENT = None


class BrokenPromise(Exception):
    pass


def tool(*arguments, stdin=None):
    done = subprocess.run([TOOL, *arguments], stdin=stdin, capture_output=True, timeout=60)
    if done.returncode != 0:
        raise BrokenPromise(f"durahash {' '.join(arguments)}: exit code {done.returncode}: {done.stderr.decode(errors='replace')}")
    return done.stdout


class Words:
    """u64 keys and values. A value names its key and version."""

    flags = ["--key", "u64", "--value", "u64"]

    def __init__(self, chance):
        # Neighbours, strangers and the two ends of the domain.
        self.keys = [0, 2**64 - 1, *range(1, KEYS // 2), *(chance.getrandbits(64) for _ in range(KEYS // 2))]

    def value(self, key, version, chance):
        return (version << 32 | (key * 0x9E3779B9 & 0xFFFFFFFF)) & (2**64 - 1)


class Strings:
    """bytes keys and values. Lengths vary, so that updates move records between size classes."""

    flags = ["--key", "bytes", "--value", "bytes"]

    def __init__(self, chance):
        self.keys = ["", *(f"key {i}" + "·" * (i % 7) + "x" * (i % 300 if i % 10 == 0 else 0) for i in range(KEYS))]

    def value(self, key, version, chance):
        return f"{version}:{len(key)}:" + "v" * chance.choice([0, 1, 5, 20, 100, 300, 2000 if version % 16 == 0 else 40])


KINDS = {"u64": Words, "bytes": Strings}


class Round:
    """The operations of one run, as the lines that load reads, with their results."""

    def __init__(self, kind, chance, version, keys, share_of_puts):
        self.operations = []  # (key, value or ABSENT)
        lines = []
        for key in keys:
            if chance.random() < share_of_puts:
                version += 1
                value = kind.value(key, version, chance)
                lines.append(json.dumps({"key": key, "value": value}))
            else:
                value = ABSENT
                lines.append(json.dumps({"key": key, "erase": True}))
            self.operations.append((key, value))
        self.version = version
        self.text = "".join(line + "\n" for line in lines).encode()


def some_of(keys, chance):
    return [chance.choice(keys) for _ in range(OPERATIONS)]


def every_one_of(keys):
    """In whole batches, so that each is acknowledged without an end of the input."""
    return keys + keys[: -len(keys) % BATCH]


class NoWork:
    operations = []


class Pool:
    """A pool in its folder, what must be in it, and the comparison."""

    def __init__(self, folder, kind_name, engine, durability, chance):
        self.kind = KINDS[kind_name](chance)
        self.chance = chance
        self.path = os.path.join(folder, f"{kind_name}.dh")
        self.input, self.acks = os.path.join(folder, "input"), os.path.join(folder, "acks")
        self.content = {}
        self.version = 0
        self.in_flight = 0
        self.opening_seconds = 0.005
        tool("create", self.path, "--engine", engine, "--durability", durability, *self.kind.flags)

    def close(self):
        os.unlink(self.path)

    def run_and_kill(self, work, moment):
        """Feeds the operations, kills at `moment`, returns how many are acknowledged and whether the kill came in time."""
        with open(self.input, "wb") as file:
            file.write(work.text)
        with open(self.input, "rb") as stdin, open(self.acks, "wb") as stdout:
            process = self.load(stdin, stdout)
        moment(self, process)
        process.kill()
        complaint = process.communicate(timeout=60)[1]
        if process.returncode not in (0, -9):
            raise BrokenPromise(f"load ended with {process.returncode}: {complaint.decode(errors='replace')}")
        return self.count_acks(work), process.returncode == -9

    def load(self, stdin, stdout):
        return subprocess.Popen([TOOL, "load", self.path, "-", "--format", "jsonl", "--acks", "--batch", str(BATCH)],
                                stdin=stdin, stdout=stdout, stderr=subprocess.PIPE)

    def fill_and_kill(self, work):
        """Feeds whole batches of operations and kills when all are acknowledged, in a process that waits for more: nothing has cut the file."""
        with open(self.acks, "wb") as stdout:
            process = self.load(subprocess.PIPE, stdout)
        try:
            process.stdin.write(work.text)
            process.stdin.flush()
            patience = time.monotonic() + 60
            while self.count_acks(work) < len(work.operations) and process.poll() is None and time.monotonic() < patience:
                time.sleep(0.001)
        except BrokenPipeError:
            pass  # it ended early: told below
        process.kill()
        complaint = process.communicate(timeout=60)[1]
        if process.returncode != -9 or self.count_acks(work) < len(work.operations):
            raise BrokenPromise(f"load of every key: {self.count_acks(work)} of {len(work.operations)} acknowledged, "
                                f"exit code {process.returncode}: {complaint.decode(errors='replace')}")

    def compact_and_kill(self):
        """No operation is in flight: the content stays as it is."""
        process = subprocess.Popen([TOOL, "compact", self.path], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        time.sleep(self.chance.uniform(0, 3) * self.opening_seconds)
        process.kill()
        complaint = process.communicate(timeout=60)[1]
        if process.returncode not in (0, -9):
            raise BrokenPromise(f"compact ended with {process.returncode}: {complaint.decode(errors='replace')}")
        return process.returncode == -9

    def count_acks(self, work):
        with open(self.acks, "rb") as file:
            lines = file.read().split(b"\n")[:-1]  # the kill may cut the last line off
        for line, (key, _) in zip(lines, work.operations):
            if json.loads(line) != {"key": key}:
                raise BrokenPromise(f"acknowledged {line!r}, expected key {key!r}")
        if len(lines) > len(work.operations):
            raise BrokenPromise(f"{len(lines)} acknowledgements for {len(work.operations)} operations")
        return len(lines)

    def dump(self):
        found = {}
        for line in tool("dump", self.path, "--format", "jsonl").splitlines():
            record = json.loads(line)
            if record["key"] in found:
                raise BrokenPromise(f"the key {record['key']!r} is dumped twice")
            found[record["key"]] = record["value"]
        return found

    def verify(self, work, acknowledged):
        """Compares, and takes what was found as the truth from here on: what a reader was given may not be undone."""
        found = self.dump()
        for key, value in work.operations[:acknowledged]:
            if value is ABSENT:
                self.content.pop(key, None)
            else:
                self.content[key] = value
        flying = {}
        for key, value in work.operations[acknowledged : acknowledged + BATCH]:
            flying.setdefault(key, []).append(value)
        for key in found.keys() | self.content.keys():
            is_there, should_be = found.get(key, ABSENT), self.content.get(key, ABSENT)
            if is_there == should_be:
                continue
            if is_there not in flying.get(key, []):
                raise BrokenPromise(f"key {key!r}: acknowledged {should_be!r}, in flight {flying.get(key, [])!r}, found {is_there!r}")
            self.in_flight += 1
        self.content = found

    def file_bytes(self):
        return os.stat(self.path).st_size


# Moments to kill at. Each waits; the kill follows.


def while_it_opens(pool, process):
    time.sleep(pool.chance.uniform(0, 1.5) * pool.opening_seconds)


def after_some_acks(pool, process):
    """When so many bytes of acknowledgements are there, and a little later."""
    start = time.monotonic()
    enough = pool.chance.randrange(0, OPERATIONS * 12)
    first = None
    while process.poll() is None and time.monotonic() - start < 30:
        size = os.stat(pool.acks).st_size
        if size > 0 and first is None:
            first = time.monotonic()
            pool.opening_seconds = first - start
        if size > enough:
            break
    spin_until = time.monotonic() + pool.chance.uniform(0, 0.0005)
    while time.monotonic() < spin_until:
        pass


class Life:
    """One pool from its creation through many kills."""

    def __init__(self, pool, rounds, sabotage=None):
        self.pool, self.rounds, self.sabotage = pool, rounds, sabotage
        self.kills = self.finished = self.without_acks = self.compactions = 0
        self.settled_bytes = self.final_bytes = 0

    def run(self):
        for number in range(self.rounds):
            if number == self.rounds // 2:
                self.fill()
            self.round(number)
        tool("check", self.pool.path)

    def fill(self):
        pool = self.pool
        work = Round(pool.kind, pool.chance, pool.version, every_one_of(pool.kind.keys), 1)
        pool.version = work.version
        pool.fill_and_kill(work)
        self.kills += 1
        self.settled_bytes = max(self.settled_bytes, pool.file_bytes())
        pool.verify(work, len(work.operations))

    def round(self, number):
        pool, chance = self.pool, self.pool.chance
        # Filling, emptying and standing still in turn: tables grow, collect and reuse.
        work = Round(pool.kind, chance, pool.version, some_of(pool.kind.keys, chance), chance.choice([0.95, 0.8, 0.5, 0.2]))
        pool.version = work.version
        moment = while_it_opens if chance.random() < 0.2 else after_some_acks
        acknowledged, killed = pool.run_and_kill(work, moment)
        self.kills += killed
        self.finished += not killed
        self.without_acks += acknowledged == 0
        if self.sabotage:
            self.sabotage(pool, work, acknowledged, number)
        pool.verify(work, acknowledged)
        if chance.random() < 0.15:
            self.compactions += pool.compact_and_kill()
            pool.verify(NoWork, 0)
        if number % 10 == 9:
            tool("check", pool.path)
        self.watch_growth(number)

    def watch_growth(self, number):
        """In its middle a pool has had every key; from there on it may not grow."""
        size = self.pool.file_bytes()
        if number < self.rounds // 2:
            self.settled_bytes = max(self.settled_bytes, size)
            return
        if self.rounds >= SETTLING and size > self.settled_bytes * (1 + GROWTH) + STEP:
            raise BrokenPromise(f"the file has {size} bytes after round {number + 1}, and had at most {self.settled_bytes} until "
                                f"it had had every key, in the middle of its {self.rounds} rounds")
        self.final_bytes = max(self.final_bytes, size)


def torture(arguments, folder):
    kinds = list(KINDS) if arguments.kind == "all" else [arguments.kind]
    lives = 2 * len(kinds)  # young pools, which grow under fire, and grown ones
    start = time.monotonic()
    done = []
    for life_number in range(lives):
        chance = random.Random(f"{arguments.seed} {life_number}")
        rounds = arguments.rounds * (life_number + 1) // lives - arguments.rounds * life_number // lives
        kind = kinds[life_number % len(kinds)]
        life = Life(Pool(folder, kind, arguments.engine, arguments.durability, chance), rounds)
        try:
            life.run()
        except BrokenPromise as broken:
            kept = os.path.join(tempfile.gettempdir(), f"durahash-torture-{arguments.seed}.dh")
            shutil.copy(life.pool.path, kept)
            print(f"\nBROKEN in pool {life_number + 1} ({kind}): {broken}\nthe pool is kept: {kept}\nseed {arguments.seed}", file=sys.stderr)
            return 1
        print(f"pool {life_number + 1}  {kind:5}  {life.kills:4} kills, {life.without_acks:2} before the first acknowledgement, {life.compactions:2} of compact   "
              f"{len(life.pool.content):5} records   in flight and kept {life.pool.in_flight:4}   "
              f"file {life.settled_bytes:,} bytes at half, at most {life.final_bytes:,} after", flush=True)
        life.pool.close()
        done.append(life)
    kills, finished = sum(l.kills + l.compactions for l in done), sum(l.finished for l in done)
    print(f"{kills} kills, 0 acknowledged operations lost, 0 wrong, 0 phantoms; {finished} loads were faster than their kill; "
          f"{time.monotonic() - start:.1f} s; engine {arguments.engine}, seed {arguments.seed}")
    if finished * 4 > kills:
        print("too few of the rounds were killed in the middle: this run shows little", file=sys.stderr)
        return 1
    return 0


# Sabotage: each plants one fault behind the pool's back, as a broken table would leave it.


def last_acknowledged(pool, work, acknowledged, want_value):
    """A key whose acknowledged state is settled: not written again in flight."""
    flying = {key for key, _ in work.operations[acknowledged : acknowledged + BATCH]}
    state = dict(pool.content)
    state.update(work.operations[:acknowledged])
    keys = [key for key, value in state.items() if key not in flying and (value is not ABSENT) == want_value]
    return (pool.chance.choice(keys), state) if keys else (None, state)


def put(pool, key, value):
    tool("put", pool.path, "--", str(key), str(value))


def lose_a_record(pool, work, acknowledged):
    key, _ = last_acknowledged(pool, work, acknowledged, True)
    if key is None:
        return False
    tool("erase", pool.path, "--", str(key))
    return True


def resurrect_a_record(pool, work, acknowledged):
    key, _ = last_acknowledged(pool, work, acknowledged, False)
    if key is None:
        return False
    put(pool, key, pool.kind.value(key, 1, pool.chance))
    return True


def keep_an_older_value(pool, work, acknowledged):
    key, state = last_acknowledged(pool, work, acknowledged, True)
    older = key is not None and pool.kind.value(key, 0, pool.chance)
    if key is None or state[key] == older:
        return False
    put(pool, key, older)
    return True


def tear_a_value(pool, work, acknowledged):
    key, state = last_acknowledged(pool, work, acknowledged, True)
    if key is None:
        return False
    put(pool, key, state[key] ^ 1 << 40 if isinstance(state[key], int) else state[key] + "v")
    return True


def invent_a_record(pool, work, acknowledged):
    put(pool, 12345678901 if isinstance(pool.kind, Words) else "nobody", 1)
    return True


def run_ahead(pool, work, acknowledged):
    """An operation far behind the last acknowledgement has an effect."""
    soon = {key for key, _ in work.operations[: acknowledged + BATCH]}
    for key, value in work.operations[acknowledged + 2 * BATCH :]:
        if key not in soon and value is not ABSENT:
            put(pool, key, value)
            return True
    return False


def grow(pool, work, acknowledged):
    """Again in every round: a clean close in between cuts the file to its pool."""
    pool.grown_to = getattr(pool, "grown_to", 4 * pool.file_bytes() + (4 << 20))
    with open(pool.path, "ab") as file:
        file.truncate(pool.grown_to)
    return True


def self_test(arguments, folder):
    faults = [lose_a_record, resurrect_a_record, keep_an_older_value, tear_a_value, invent_a_record, run_ahead, grow]
    missed = 0
    for kind in KINDS if arguments.kind == "all" else [arguments.kind]:
        for fault in faults:
            chance = random.Random(f"{arguments.seed} {kind} {fault.__name__}")
            pool = Pool(folder, kind, arguments.engine, arguments.durability, chance)
            planted = []
            rounds = SETTLING if fault is grow else 10

            def sabotage(pool, work, acknowledged, number, fault=fault, planted=planted, rounds=rounds):
                if number >= rounds // 2 and (fault is grow or not planted) and fault(pool, work, acknowledged):
                    planted.append(number)

            try:
                Life(pool, rounds, sabotage).run()
                missed += 1
                print(f"NOT NOTICED  {kind:5}  {fault.__name__}" + ("" if planted else " (it was never planted)"))
            except BrokenPromise as broken:
                early = not planted
                missed += early
                print(f"{'TOO EARLY' if early else 'noticed':11}  {kind:5}  {fault.__name__}: {str(broken)[:120]}")
            pool.close()
    print(f"seed {arguments.seed}: " + ("every planted fault was noticed" if missed == 0 else f"{missed} faults were missed"))
    return 1 if missed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=400)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--engine", default="turbo")
    parser.add_argument("--durability", default="process", help="power needs a --folder on a DAX file system")
    parser.add_argument("--kind", choices=[*KINDS, "all"], default="all")
    parser.add_argument("--folder", help="where the pools are made (memory, where there is /dev/shm)")
    parser.add_argument("--self-test", action="store_true")
    arguments = parser.parse_args()
    if os.environ.get("DURAHASH_LONG") == "1":
        arguments.rounds *= 4
    if arguments.seed is None:
        arguments.seed = random.SystemRandom().getrandbits(32)
    root = arguments.folder or ("/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
    print(f"seed {arguments.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="durahash-torture-", dir=root) as folder:
        return self_test(arguments, folder) if arguments.self_test else torture(arguments, folder)


if __name__ == "__main__":
    sys.exit(main())
