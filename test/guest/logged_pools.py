"""Pools of the levels power and power_buffered on a disk, and what each promises about a power cut.

  power            everything acknowledged is there; of the batch in flight each operation, or it is not
  power_buffered   what is there is what the first operations of the load leave, with some of the batch behind them; and those that are not there were
                   acknowledged at most LAG before the cut, and two writes of the disk: the one that they came too late for, and their own. Where it is
                   loaded with --sync, everything acknowledged is there

Both are never refused, and `check` is clean. The moments are the guest's own: shim.c writes them between the acknowledgements, and ticks.c says every
two milliseconds on each processor what time it is. The youngest moment that came out of the guest is taken for the cut, which was later: an age is the
least that it can be. Time in which a processor did not tick, on a host that is busy, is not the pool's.
"""

import bisect
import json
import typing

import torture
from pools import ABSENT, KINDS, BrokenPromise, Life, Pool, frames_of

from engines import ENGINES  # pools knows where

CUTS_OF_A_LIFE = 4
LAG = 10_000    # microseconds: what power_buffered promises, beside writes of the disk
SLACK = 20_000  # that a thread of the guest may wait for one of its two processors
OPERATIONS = {1: 2500, 8: 6000, 64: 12000}  # by the size of a batch

# In front of each machine's job.
PRELUDE = r"""
mkdir -p /dev/shm && mount -t tmpfs -o size=240m tmpfs /dev/shm
answer() {  # as the other, and several may answer at once
  local name=$1; shift
  "$@" >/tmp/$name.out 2>/tmp/$name.err
  local code=$?
  frame $name $code /tmp/$name.out /tmp/$name.err >/tmp/$name.frame
  flock /tmp/mouth busybox cat /tmp/$name.frame >&9
  return $code
}
say() { echo "$1 0 0 0" | flock /tmp/mouth busybox cat >&9; }
work_logged() {  # name pool port batch holds_on sync...
  local name=$1 pool=$2 port=$3 batch=$4 holds_on=$5
  shift 5
  { cat /input/$name; [ $holds_on = 0 ] || sleep 1000; } |
    LD_PRELOAD=/shim.so durahash load $pool - --format jsonl --acks --batch $batch "$@" >$(echo /dev/vport*p$port) 2>/tmp/$name.errors
  local code=$?
  answer closed-$name sh -c "cat /tmp/$name.errors >&2; exit $code"
}
until [ -e /dev/vport*p11 ]; do usleep 10000; done
for processor in 0 1; do ticks $processor >$(echo /dev/vport*p$((10 + processor))) & done
"""
TICKS = [9, 10]  # the ports that they come from, one for each processor
LATE = 10_000    # microseconds between two ticks: the processor did not run, or ran something else


class Age(typing.NamedTuple):
    """Of the oldest acknowledged operation that a cut took from a buffered pool, in microseconds."""

    age: int
    call: int    # the longest of the disk since
    stolen: int  # how long a processor did not run since
    lost: int    # operations


class Moments:
    """What came out of a port: how many acknowledgements there were when, and the calls that waited for the disk."""

    def __init__(self, data):
        self.acknowledgements, self.counts, self.times, self.calls, self.ticks = [], [], [], [], []
        under_way = {}
        for line in bytes(data).split(b"\n")[:-1]:  # the cut may have hit the last
            if not line.startswith(b"@"):
                self.acknowledgements.append(line)
                continue
            what, *moments = line.split()
            moments = list(map(int, moments))
            if what == b"@a":
                self.counts.append(len(self.acknowledgements))
                self.times.append(moments[0])
            elif what == b"@t":
                self.ticks.append(moments[1])
            elif what == b"@b":
                under_way[moments[0]] = None
            else:
                under_way.pop(moments[0], None)
                self.calls.append((moments[0], moments[1]))
        self.under_way = list(under_way)

    def youngest(self):
        return max([*self.times[-1:], *self.ticks[-1:], *self.under_way, *(end for _, end in self.calls[-1:])], default=0)

    def acknowledged_at(self, number):
        """No later than this; the operation was acknowledged."""
        return self.times[bisect.bisect_right(self.counts, number)] if self.counts and self.counts[-1] > number else None

    def longest_calls(self, since, until):
        """The two longest of the calls that were under way at some time in between."""
        lengths = [end - began for began, end in self.calls if end >= since] + [until - began for began in self.under_way] + [0, 0]
        return sorted(lengths)[-1:-3:-1]


def late(ticks, since, until):
    """How long the processor was silent in between, in all."""
    moments = [*ticks[max(0, bisect.bisect_left(ticks, since) - 1) : bisect.bisect_right(ticks, until)], until]
    return sum(later - earlier for earlier, later in zip(moments, moments[1:]) if later - earlier > LATE)


class LoggedLife(Life):
    def __init__(self, number, path, kind_name, engine, log_bytes, chance):
        super().__init__(number, path, KINDS[kind_name](chance))
        self.kind_name, self.engine, self.log_bytes = kind_name, engine, log_bytes


class LoggedPool(Pool):
    """A pool whose engine and kind change from life to life. Most have a small log: it goes round, and checkpoints come often."""

    mount = "disk"

    def __init__(self, level, port, chance):
        self.level = level
        self.ages = []  # of buffered cuts: of the oldest acknowledged operation that was lost, and the longest call of the disk since
        self.setups = {}  # cuts by engine and kind
        self.synced_cuts = self.idle_cuts = 0
        super().__init__(f"{level}-{port}", port, chance)

    def next_life(self):
        number = self.life + 1
        kind_name, engine = list(KINDS)[(self.port // 2 + number) % 2], ENGINES[(self.port + number) % len(ENGINES)]
        usual = self.port % 4 == 1 and number % 2 == 1  # 64 MiB of zeros take their time
        log_bytes = 0 if usual else self.chance.choice([256 << 10, 256 << 10, 1 << 20, 4 << 20])
        return LoggedLife(number, f"/disk/{self.label}-{number}.dh", kind_name, engine, log_bytes, self.chance)

    def begin_life(self, life):
        super().begin_life(life)
        self.living, self.setup = life, f"{life.engine} {life.kind_name}"
        self.moments, self.end = Moments(b""), 0

    def plan(self, count=None):
        life = self.next_life() if self.cuts_of_life >= CUTS_OF_A_LIFE else None
        self.next_batch = self.chance.choice([1, 8, 64])
        kind, version = (life.kind, 0) if life else (self.kind, self.version)
        count = OPERATIONS[self.next_batch] // (3 if isinstance(kind, torture.Strings) else 1)
        keys = [self.chance.choice(kind.keys) for _ in range(self.chance.choice([count // 8, count, count]))]
        self.planned = life, torture.Round(kind, self.chance, version, keys, self.chance.choice([0.97, 0.9, 0.8, 0.4]))
        self.next_sync = self.chance.choice([0, 0, 0, 1, 50, 500]) if self.level == "power_buffered" else 0
        self.holds_on = self.chance.random() < 0.5

    def working_script(self):
        life, _ = self.planned
        path = life.path if life else self.path
        lines = [f"rm -f /disk/{self.label}-*.dh*"] if life else []  # also what an earlier removal left, which a cut undid
        lines.append(f"[ -e {path} ] || answer created-{self.name} {self.creation(life or self.living, path)} || exit 1")
        sync = f"--sync {self.next_sync}" if self.next_sync else ""
        lines.append(f"work_logged {self.name} {path} {self.port + 1} {self.next_batch} {int(self.holds_on)} {sync}")
        return "{ " + "\n".join(lines) + "\n} &\n"

    def creation(self, life, path):
        if life.log_bytes:
            return f"create_pool {path} {life.engine} {life.kind_name} {self.level} {life.log_bytes}"
        return f"durahash create {path} --engine {life.engine} {' '.join(life.kind.flags)} --durability {self.level}"

    def begin_work(self):
        super().begin_work()
        self.batch, self.sync = self.next_batch, self.next_sync

    def answers_script(self):
        return f"answer check-{self.name} durahash check {self.path}\nanswer dump-{self.name} durahash dump {self.path} --format jsonl"

    # --------------------------------------------------------------------------------------- what was heard

    def hear(self, machine):
        self.moments = Moments(machine.received[self.port])
        super().hear(machine)
        self.end, self.ticks = youngest_moment(machine), [Moments(machine.received[port]).ticks for port in TICKS]
        self.setups[self.setup] = self.setups.get(self.setup, 0) + 1
        self.synced_cuts += self.sync > 0
        self.idle_cuts += not self.closed and self.acknowledged == len(self.work.operations)

    def count_acks(self, _):
        return super().count_acks(b"".join(line + b"\n" for line in self.moments.acknowledgements))

    # -------------------------------------------------------------------------------------------- judgement

    def judge_content(self, frames):
        self.read(frames, "check")
        found = self.dumped(frames, "dump")
        if self.level == "power" or self.sync or self.closed or self.work is torture.NoWork:
            return self.compare(found)
        best = None
        for done, different in self.prefixes(found, 0):
            if self.explained_by_batch(different, found, done):
                best = done
        if best is None:
            self.compare(found)  # it cannot agree either, and tells in which key
        self.judge_age(best)
        self.in_flight_kept += max(0, best - self.acknowledged)
        self.content = found

    def judge_age(self, done):
        """The first `done` operations are there. The one behind them was acknowledged when?"""
        if done >= self.acknowledged:
            return self.ages.append(Age(0, 0, 0, 0))
        acknowledged_at = self.moments.acknowledged_at(done) or self.end  # else its moment died in the guest
        age = self.end - acknowledged_at
        calls = self.moments.longest_calls(acknowledged_at, self.end)
        stolen = max(late(ticks, acknowledged_at, self.end) for ticks in self.ticks)
        self.ages.append(Age(age, calls[0], stolen, self.acknowledged - done))
        if age > LAG + SLACK + sum(calls) + stolen:
            raise BrokenPromise(f"{self.name} ({self.setup}): {done} of {self.acknowledged} acknowledged operations are there, and the next was acknowledged "
                                f"{age} us before the cut or earlier; the longest calls of the disk since took {calls} us, a processor was away for {stolen} us")

    def be_at_rest(self):
        super().be_at_rest()
        self.sync = 0


def youngest_moment(machine):
    if not hasattr(machine, "youngest"):
        machine.youngest = max(Moments(data[-4096:]).youngest() for data in machine.received[1:])
    return machine.youngest
