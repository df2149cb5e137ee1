"""The pools in a guest, and what each of them promises about a power cut.

A pool knows what was acknowledged before the cut, writes the shell script that reads it out behind the cut and the one that works on it, and judges
what was read. The operations and their values are those of test/tool/torture.py.
"""

import json
import os
import sys

for folder in ("../tool", "../../scripts"):
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), folder))
import torture  # noqa: E402

BATCH = 64
ABSENT = torture.ABSENT
BrokenPromise = torture.BrokenPromise
REFUSAL = "the machine went down while it was open and not synced"


class Words(torture.Words):
    operations = 12000

    def __init__(self, chance):
        super().__init__(chance)
        self.keys += [chance.getrandbits(64) for _ in range(60000)]


class Strings(torture.Strings):
    """Longer values than the torture's: the pool is to outgrow the units of its mapping every few cuts."""

    operations = 4000

    def value(self, key, version, chance):
        return f"{version}:{len(key)}:" + "v" * chance.choice([0, 5, 40, 300, 1000, 2500, 9000 if version % 16 == 0 else 120])


KINDS = {"u64": Words, "bytes": Strings}
CUTS_OF_A_LIFE = 7

# What every job of a guest starts with. One frame is one answer: its name, the exit code, the lengths of stdout and stderr, and these.
PRELUDE = r"""
until [ -e /dev/vport*p9 ]; do usleep 10000; done  # the last port
exec 9>$(echo /dev/vport*p1)
frame() { printf '%s %d %d %d\n' $1 $2 $(wc -c <$3) $(wc -c <$4); cat $3 $4; }
answer() {
  local name=$1; shift
  "$@" >/tmp/$name.out 2>/tmp/$name.err
  local code=$?
  frame $name $code /tmp/$name.out /tmp/$name.err >/tmp/$name.frame
  cat /tmp/$name.frame >&9
  return $code
}
say() { printf '%s 0 0 0\n' $1 >&9; }
flags_of_mapping() { awk -v pool=$2 '/^[0-9a-f]+-/ { hit = $6 == pool } hit && /^VmFlags/' /proc/$1/smaps; }
# The kernel's word for MAP_SYNC is "sf"; a pool that opens is mapped as a file for a moment, to be looked at.
show_sync() {
  local tries=0
  while kill -0 $1 && [ $tries -lt 200 ]; do
    flags_of_mapping $1 $2 >/tmp/flags.$1
    if [ -s /tmp/flags.$1 ] && ! grep -qv ' sf' /tmp/flags.$1; then break; fi
    tries=$((tries + 1))
  done
  cat /tmp/flags.$1
}
finish_work() {  # name pid: the loader reads to the end of what it was fed
  exec 3>&-
  wait $2
  local code=$?
  cp /tmp/$1.errors /tmp/$1.out
  answer closed-$1 sh -c "cat /tmp/$1.errors >&2; exit $code"
}
work() {  # name pool port is_dax
  mkfifo /tmp/$1.fifo
  durahash load $2 - --format jsonl --acks --batch 64 </tmp/$1.fifo >$(echo /dev/vport*p$3) 2>/tmp/$1.errors &
  local pid=$!
  exec 3>/tmp/$1.fifo
  if [ $4 = 1 ]; then answer flags-$1 show_sync $pid $2; fi
  cat /input/$1 >&3
  finish_work $1 $pid
}
work_in_parts() {  # name pool port sync holds_on first,last:pause...: says what it feeds before it does
  local name=$1 pool=$2 port=$3 sync=$4 holds_on=$5 part=0 piece
  shift 5
  mkfifo /tmp/$name.fifo
  durahash load $pool - --format jsonl --acks --batch 64 --sync $sync </tmp/$name.fifo >$(echo /dev/vport*p$port) 2>/tmp/$name.errors &
  local pid=$!
  exec 3>/tmp/$name.fifo
  for piece in "$@"; do
    part=$((part + 1))
    say feeding-$name-$part
    sed -n "${piece%:*}p" /input/$name >&3
    usleep ${piece#*:}
  done
  if [ $holds_on = 1 ]; then sleep 1000 & fi  # with the other end of the loader's input
  finish_work $name $pid
}
"""


def frames_of(data):
    """The answers that came whole, by name."""
    found, at = {}, 0
    while True:
        end = data.find(b"\n", at)
        if end < 0:
            return found
        name, code, out, err = data[at:end].split()
        begin, middle = end + 1, end + 1 + int(out)
        at = middle + int(err)
        if at > len(data):
            return found
        found[name.decode()] = (int(code), bytes(data[begin:middle]), bytes(data[middle:at]))


class Life:
    """A pool file: its number, where it is, its keys and values."""

    def __init__(self, number, path, kind):
        self.number, self.path, self.kind = number, path, kind


class Pool:
    """A pool through its lives: each starts with a creation under power cuts and ends by removal."""

    label_prefix = ""
    batch = BATCH  # operations that are written together, and acknowledged behind that

    def __init__(self, kind_name, port, chance):
        self.kind_name, self.port, self.chance = kind_name, port, chance
        self.label = self.label_prefix + kind_name
        self.name = f"{self.mount}-{self.label}"
        self.life = self.cuts = self.acknowledged_in_all = self.records_compared = self.in_flight_kept = self.creations = 0
        self.largest_bytes = 0
        self.begin_life(self.next_life())

    def next_life(self):
        return Life(self.life + 1, f"/{self.mount}/{self.label}-{self.life + 1}.dh", KINDS[self.kind_name](self.chance))

    def begin_life(self, life):
        self.life, self.path, self.kind = life.number, life.path, life.kind
        self.exists = "no"  # or maybe: a cut came while it was created; or yes
        self.content, self.version = {}, 0
        self.cuts_of_life = 0
        self.be_at_rest()

    def be_at_rest(self):
        """Nothing was done to the pool since its content was known."""
        self.work, self.acknowledged, self.closed = torture.NoWork, 0, False

    # ------------------------------------------------------------------------------------------ the scripts

    def reading_script(self):
        """Shell lines that read the pool out behind a cut, or nothing."""
        if self.exists == "no":
            return ""
        return f"if [ -e {self.path} ]; then\n{self.answers_script()}\nelse say absent-{self.name}; fi\nsay read-{self.name}\n"

    def plan(self, count=None):
        """Chooses what the next machine does to the pool once it was read; `begin_work` makes it so."""
        life = self.next_life() if self.cuts_of_life >= CUTS_OF_A_LIFE else None
        kind, version = (life.kind, 0) if life else (self.kind, self.version)
        keys = [self.chance.choice(kind.keys) for _ in range(count or kind.operations)]
        self.planned = life, torture.Round(kind, self.chance, version, keys, self.chance.choice([0.97, 0.9, 0.8, 0.4]))

    def working_script(self):
        life, work = self.planned
        path, kind = (life.path, life.kind) if life else (self.path, self.kind)
        lines = [f"rm -f {self.path}"] if life else []
        lines.append(f"[ -e {path} ] || answer created-{self.name} durahash create {path} {' '.join(kind.flags)} {self.creation_flags} || exit 1")
        lines.append(self.load_script(path))
        return "{ " + "\n".join(lines) + "\n} &\n"

    def load_script(self, path):
        return f"work {self.name} {path} {self.port + 1} {int(self.mount == 'dax')}"

    def input(self):
        return self.planned[1].text + b"\n"

    def begin_work(self):
        """The pool was judged, and the machine goes on to what was planned."""
        life, work = self.planned
        if life:
            self.begin_life(life)
        self.work, self.version = work, work.version
        self.creations += self.exists == "no"

    # --------------------------------------------------------------------------------------- what was heard

    def hear(self, machine):
        """Behind the cut: what the guest had said about this pool."""
        frames = frames_of(machine.received[0])
        self.acknowledged = self.count_acks(machine.received[self.port])
        if self.exists == "no":
            code, _, err = frames.get(f"created-{self.name}", (None, b"", b""))
            if code:
                raise BrokenPromise(f"{self.name}: create failed: {err.decode(errors='replace')}")
            self.exists = "maybe" if code is None else "yes"
        code, _, err = frames.get(f"closed-{self.name}", (None, b"", b""))
        if code:
            raise BrokenPromise(f"{self.name}: load ended with exit code {code}: {err.decode(errors='replace')}")
        self.closed = code == 0
        if self.closed:
            self.acknowledged = len(self.work.operations)  # by the exit code; the last lines may have died in the guest's kernel
        self.acknowledged_in_all += self.acknowledged
        self.cuts += 1
        self.cuts_of_life += 1

    def cut_while_read(self):
        """The cut came before the planned work began."""
        self.cuts += self.exists != "no"

    def count_acks(self, data):
        lines = bytes(data).split(b"\n")[:-1]  # the cut may have hit the last line
        for line, (key, _) in zip(lines, self.work.operations):
            if json.loads(line) != {"key": key}:
                raise BrokenPromise(f"{self.name}: acknowledged {line!r}, expected key {key!r}")
        if len(lines) > len(self.work.operations):
            raise BrokenPromise(f"{self.name}: {len(lines)} acknowledgements for {len(self.work.operations)} operations")
        return len(lines)

    # -------------------------------------------------------------------------------------------- judgement

    def was_read(self, frames):
        return self.exists == "no" or f"read-{self.name}" in frames

    def judge(self, frames):
        """Compares what was read behind the cut with what may be there. What is there is the truth from here on."""
        if self.exists == "no":
            return
        if f"absent-{self.name}" in frames:
            if self.exists == "yes":
                raise BrokenPromise(f"{self.name}: create had returned, and there is no {self.path}")
            self.exists = "no"
            return
        self.exists = "yes"
        self.judge_content(frames)
        self.records_compared += len(self.content)
        self.be_at_rest()

    def expected(self, count):
        """The content after so many operations of the work."""
        content = dict(self.content)
        for key, value in self.work.operations[:count]:
            if value is ABSENT:
                content.pop(key, None)
            else:
                content[key] = value
        return content

    def read(self, frames, what):
        code, out, err = frames[f"{what}-{self.name}"]
        if code != 0:
            raise BrokenPromise(f"{self.name}: {what} of {self.path} answers {code}: {(err + out).decode(errors='replace')}")
        return out

    def dumped(self, frames, what):
        found = {}
        for line in self.read(frames, what).splitlines():
            record = json.loads(line)
            if record["key"] in found:
                raise BrokenPromise(f"{self.name}: the key {record['key']!r} is dumped twice")
            found[record["key"]] = record["value"]
        return found

    def compare(self, found):
        """What is there must be what some prefix of the operations leaves, with some of the batch behind it, each all or nothing; and the prefix holds all
        that were acknowledged. It may be longer: acknowledgements that the guest's kernel had not yet handed out died with it."""
        operations, first = self.work.operations, []
        for done, different in self.prefixes(found):
            if self.explained_by_batch(different, found, done):
                self.in_flight_kept += done - self.acknowledged + len(different)
                self.content = found
                return
            first = first or sorted(different, key=repr)[:1]
        key, state = first[0], self.expected(self.acknowledged)
        writer = [number for number, operation in enumerate(operations) if operation == (key, found.get(key, ABSENT))]
        raise BrokenPromise(f"{self.name}: no prefix of the operations leaves what is there. The key {key!r}: acknowledged {state.get(key, ABSENT)!r:.200}, found "
                            f"{found.get(key, ABSENT)!r:.200}, which the operations {writer} of the last {len(operations)} wrote; {self.acknowledged} were acknowledged")

    def prefixes(self, found, first=None):
        """For every number of operations, from those that were acknowledged to all: the keys in which what they leave is not what was found."""
        first = self.acknowledged if first is None else first
        operations, state = self.work.operations, self.expected(first)
        different = {key for key in found.keys() | state.keys() if found.get(key, ABSENT) != state.get(key, ABSENT)}
        for done in range(first, len(operations) + 1):
            yield done, different
            if done < len(operations):
                key, value = operations[done]
                (different.discard if found.get(key, ABSENT) == value else different.add)(key)

    def explained_by_batch(self, different, found, done):
        if len(different) > self.batch:
            return False
        flying = set(self.work.operations[done : done + self.batch])
        return all((key, found.get(key, ABSENT)) in flying for key in different)


class DaxPool(Pool):
    """Durability power on ext4 -o dax: everything acknowledged is there, without exception, and so is every pool whose create returned."""

    mount, creation_flags = "dax", "--durability power"
    mappings_seen = 0

    def answers_script(self):
        return (f"answer info-{self.name} durahash info {self.path} --json\n"
                f"answer check-{self.name} durahash check {self.path}\n"
                f"answer dump-{self.name} durahash dump {self.path} --format jsonl")

    def judge_content(self, frames):
        facts = json.loads(self.read(frames, "info"))
        self.largest_bytes = max(self.largest_bytes, facts["file_bytes"])
        if facts["medium"] != "pmem" or facts["durability"] != "power":
            raise BrokenPromise(f"{self.name}: medium {facts['medium']}, durability {facts['durability']}: this is not persistent memory")
        self.read(frames, "check")
        self.compare(self.dumped(frames, "dump"))

    def hear(self, machine):
        super().hear(machine)
        frames = frames_of(machine.received[0])
        if self.acknowledged and f"flags-{self.name}" not in frames:
            raise BrokenPromise(f"{self.name}: operations were acknowledged, and the mapping's flags were never shown")
        if f"flags-{self.name}" in frames:
            self.mappings_seen += 1
            require_sync(self.name, frames[f"flags-{self.name}"][1].decode())


def require_sync(name, flags):
    lines = flags.splitlines()
    if not lines or any("sf" not in line.split() for line in lines):
        raise BrokenPromise(f"{name}: MAP_SYNC is not in force, the mapping's flags are {flags!r}")


class DiskPool(Pool):
    """Durability process on a disk: whole as of the last clean close, or refused with a sentence; then what salvage keeps is nothing torn."""

    mount, creation_flags = "disk", "--durability process"

    def __init__(self, *arguments):
        self.opened = self.refused = self.kept_by_salvage = self.lost_to_salvage = 0
        super().__init__(*arguments)

    def begin_life(self, life):
        super().begin_life(life)
        self.history = {}  # key: every value that was ever sent
        self.perhaps_salvaged = False

    def plan(self, count=None):
        # Loads of all lengths: some end, close their pool and leave it in peace before the cut.
        super().plan(count or self.chance.choice([200, 1000, KINDS[self.kind_name].operations]))

    def begin_work(self):
        super().begin_work()
        for key, value in self.work.operations:
            self.history.setdefault(key, set()).add(value)
        self.perhaps_salvaged = False

    def answers_script(self):
        return (f"if ! answer dump-{self.name} durahash dump {self.path} --format jsonl; then\n"
                f"answer salvage-{self.name} durahash check --salvage {self.path}\n"
                f"answer salvaged-{self.name} durahash dump {self.path} --format jsonl\nfi\n"
                f"answer info-{self.name} durahash info {self.path} --json\n"
                f"answer check-{self.name} durahash check {self.path}")

    def judge_content(self, frames):
        code, _, err = frames[f"dump-{self.name}"]
        if code == 0:
            self.judge_opened(self.dumped(frames, "dump"))
        else:
            self.judge_refused(err.decode(errors="replace"), frames)
        self.largest_bytes = max(self.largest_bytes, json.loads(self.read(frames, "info"))["file_bytes"])
        self.read(frames, "check")

    def judge_opened(self, found):
        """Whole: as it was closed last, or, where the cut came while it was closed, as it was to be closed."""
        self.opened += 1
        if self.perhaps_salvaged:
            self.require_whole_values(found)
            self.content = found
            return
        size = len(self.work.operations)
        allowed = []
        if self.acknowledged == 0 and not self.closed:
            allowed.append(self.content)
        allowed.append(self.expected(size))
        if found not in allowed:
            raise BrokenPromise(f"{self.name}: opens with {len(found)} records as if whole, which is none of the {len(allowed)} states that were closed "
                                f"({[len(state) for state in allowed]} records); {self.acknowledged} of {size} operations were acknowledged since")
        self.content = found

    def judge_refused(self, sentence, frames):
        if self.was_at_peace():
            raise BrokenPromise(f"{self.name}: was closed cleanly, or synced and left so, before the cut, and is refused: {sentence}")
        if REFUSAL not in sentence or "check --salvage" not in sentence:
            raise BrokenPromise(f"{self.name}: refused without the reason: {sentence}")
        self.refused += 1
        self.read(frames, "salvage")
        found = self.dumped(frames, "salvaged")
        self.require_whole_values(found)
        should_be = self.expected(self.acknowledged)
        self.kept_by_salvage += sum(key in found for key in should_be)
        self.lost_to_salvage += sum(key not in found for key in should_be)
        self.content = found

    def was_at_peace(self):
        """Nothing had been written, when the cut came, since the pool was clean."""
        return self.closed or self.work is torture.NoWork

    def require_whole_values(self, found):
        for key, value in found.items():
            if value not in self.history.get(key, ()):
                raise BrokenPromise(f"{self.name}: salvage serves a value that was never written: key {key!r}, {value!r:.200}")

    def cut_while_read(self):
        """The cut came while the pool was read, which salvages one that is refused."""
        super().cut_while_read()
        self.perhaps_salvaged = not self.was_at_peace()


class SyncedPool(DiskPool):
    """A DiskPool that is synced as it is loaded, and acknowledges what a sync has covered. It is fed in parts, and synced at the end of each while the loader
    waits: cut off then, it opens with every record. It opens as a sync left it, or it is refused because it was written after the last one."""

    label_prefix = "synced-"

    def __init__(self, *arguments):
        self.idle_cuts = self.synced_and_opened = 0
        super().__init__(*arguments)

    def be_at_rest(self):
        super().be_at_rest()
        self.idle = True

    def plan(self, count=None):
        super().plan(count)
        size = len(self.planned[1].operations)
        cuts = {self.chance.randrange(1, size) for _ in range(self.chance.randrange(6))}
        self.ends = sorted(cuts | {size})  # of the parts that it is fed in
        self.sync = self.chance.choice([1, 10, BATCH, 100, 500, 2000])
        self.pauses = [self.chance.choice([0, self.chance.uniform(0, 0.3), self.chance.uniform(0.5, 2)]) for _ in self.ends]
        self.holds_on = self.chance.random() < 0.6

    def load_script(self, path):
        parts = [f"{begin + 1},{end}:{pause * 1e6:.0f}" for begin, end, pause in zip([0, *self.ends], self.ends, self.pauses)]
        return f"work_in_parts {self.name} {path} {self.port + 1} {self.sync} {int(self.holds_on)} {' '.join(parts)}"

    def hear(self, machine):
        super().hear(machine)
        frames = frames_of(machine.received[0])
        fed = sum(f"feeding-{self.name}-{part}" in frames for part in range(1, len(self.ends) + 1))
        self.idle = self.acknowledged == [0, *self.ends][fed]  # nothing of the next part left the shell: it is announced first
        self.idle_cuts += self.idle and not self.closed and self.acknowledged > 0

    def was_at_peace(self):
        return super().was_at_peace() or self.idle

    def judge_opened(self, found):
        """Whole, as a sync left it: none from before the last acknowledgement."""
        self.opened += 1
        self.synced_and_opened += self.acknowledged > 0
        if self.perhaps_salvaged:
            self.require_whole_values(found)
        else:
            self.require_synced_state(found)
        self.content = found

    def require_synced_state(self, found):
        missing = set()
        for done, different in self.prefixes(found):
            if not different and (done == self.acknowledged or not self.was_at_peace()):
                return
            missing = missing or set(different)
        raise BrokenPromise(f"{self.name}: opens with {len(found)} records as if whole, which no sync left: {len(missing)} records are not as they were synced; "
                            f"{self.acknowledged} of {len(self.work.operations)} operations were acknowledged since{', and nothing was fed after them' if self.idle else ''}")
