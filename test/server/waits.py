"""What the event loop waits for on this machine's disk: beside each command, the longest time
without an answer to another client's PING. `scripts/server.sh waits [--rounds N] [--folder F]`"""
import argparse
import statistics
import tempfile
import threading
import time

import running
from running import MODULE, Server, programs

LEVELS = ["process", "power"]


class Pings:
    """A client that never stops to ask; how long it was without an answer says who waited."""

    def __init__(self, server):
        self.server, self.stopping, self.answered = server, False, [time.monotonic()]
        self.thread = threading.Thread(target=self.run)

    def run(self):
        with self.server.client() as c:
            while not self.stopping:
                c.ping()
                self.answered.append(time.monotonic())

    def longest_silence_beside(self, step):
        first = len(self.answered) - 1
        step()
        time.sleep(0.02)
        seen = self.answered[first:]
        return max(b - a for a, b in zip(seen, seen[1:]))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopping = True
        self.thread.join()


def await_spares(client, count):
    end = time.monotonic() + 60  # a busy disk may stand still for some seconds
    while client.info("durahash")["durahash_spare_tables"] < count:
        assert time.monotonic() < end, "no table is made ahead"
        time.sleep(0.01)


def fill(client, key, records):
    for first in range(0, records, 1000):
        pairs = [x for i in range(first, first + 1000) for x in (f"field {i}", "v" * 64)]
        client.execute_command("DH.SET", key, *pairs)


def measure(server, rounds, records):
    """Milliseconds of silence beside each command: median and longest."""
    found = {}
    with server.client() as c, server.client(db=1) as other, Pings(server) as pings:
        run = c.execute_command
        fill(c, "large", records)
        run("DH.CREATE", "first of its kind", "ENGINE", "cceh")
        steps = {
            "nothing": lambda n: time.sleep(0.02),
            "DH.CREATE": lambda n: run("DH.CREATE", f"created {n}"),
            "DH.CREATE of another kind": lambda n: run("DH.CREATE", f"cceh {n}", "ENGINE", "cceh"),
            "DH.SET of a new table": lambda n: run("DH.SET", f"new {n}", "a", "1"),
            "DH.SET": lambda n: run("DH.SET", f"new {n}", "b", "1"),
            "COPY, 2 records": lambda n: c.copy(f"new {n}", f"copy {n}"),
            "RESTORE, 2 records": lambda n: c.restore(f"back {n}", 0, c.dump(f"new {n}")),
            f"COPY, {records} records": lambda n: c.copy("large", f"large {n}"),
            "RENAME": lambda n: c.rename(f"copy {n}", f"renamed {n}"),
            "EXPIRE": lambda n: c.expire(f"renamed {n}", 10_000),
            "DEL": lambda n: c.delete(f"renamed {n}"),
            "SWAPDB": lambda n: c.swapdb(0, 1),
            "FLUSHDB": lambda n: (other if n % 2 else c).flushdb(),
        }
        for name, step in steps.items():
            silences = []
            for n in range(rounds):
                if name == "FLUSHDB":
                    (other if n % 2 else c).execute_command("DH.SET", f"gone {n}", "a", "1")
                await_spares(c, 8)  # of both kinds
                time.sleep(0.02)
                silences.append(1000 * pings.longest_silence_beside(lambda: step(n)))
            found[name] = statistics.median(silences), max(silences)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--records", type=int, default=100_000, help="of the large table")
    parser.add_argument("--folder", default=tempfile.gettempdir(), help="on a disk")
    asked = parser.parse_args()
    running.FOLDERS = asked.folder
    columns = [(program, level) for program in programs() for level in LEVELS]
    figures = []
    for program, level in columns:
        with Server(programs()[program], "--loadmodule", MODULE, "--durahash.durability", level,
                    module=None, spares=4) as server:
            figures.append(measure(server, asked.rounds, asked.records))
    print("| ms without an answer: median, longest | " +
          " | ".join(f"{program}, {level}" for program, level in columns) + " |")
    print("|" + "---|" * (len(columns) + 1))
    for name in figures[0]:
        print(f"| {name} | " + " | ".join("{:.1f}, {:.1f}".format(*f[name]) for f in figures) + " |")


if __name__ == "__main__":
    main()
