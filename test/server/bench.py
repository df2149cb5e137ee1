#!/usr/bin/env python3
"""DH.SET and DH.GET beside SET, HSET, GET and HGET: throughput, p99, restart after kill -9, bytes
per record. redis-benchmark, values of 64 bytes; all servers are up, and take turns round by round.
Prints a table in Markdown."""
import argparse
import csv
import io
import os
import platform
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import running
from running import MODULE, Server, programs

VALUE = "x" * 64


def measure(server, pipeline, operations, keys, *command):
    """(thousands of operations a second, p99 in ms, microseconds of the server's processor each)"""
    before = processor_seconds(server)
    done = subprocess.run(
        ["redis-benchmark", "-p", str(server.port), "-c", "20", "-P", str(pipeline), "-n",
         str(operations), "-r", str(keys), "--csv", *command],
        check=True, capture_output=True, text=True)
    row = list(csv.DictReader(io.StringIO(done.stdout)))[-1]
    busy = processor_seconds(server) - before
    return float(row["rps"]) / 1000, float(row["p99_latency_ms"]), 1e6 * busy / operations


def processor_seconds(server):
    """Of all its threads: what a busy machine changes least."""
    of_threads = Path(f"/proc/{server.process.pid}/task").glob("*/schedstat")
    return sum(int(thread.read_text().split()[0]) for thread in of_threads) / 1e9


def restart_ms(server):
    server.kill()
    began = time.monotonic()
    server.start()
    return 1000 * (time.monotonic() - began)


def cases(disk):
    """Name, settings, folder, write, read, what is restarted."""
    string, in_hash, table = (["SET", "k:__rand_int__", VALUE], ["GET", "k:__rand_int__"]), \
        (["HSET", "h", "__rand_int__", VALUE], ["HGET", "h", "__rand_int__"]), \
        (["DH.SET", "t", "__rand_int__", VALUE], ["DH.GET", "t", "__rand_int__"])
    module = ("--loadmodule", MODULE)
    aof = ("--appendonly", "yes", "--appendfsync")
    return [
        ("SET, nothing kept", (), "/dev/shm", string),
        ("SET, AOF everysec", (*aof, "everysec"), disk, string),
        ("SET, AOF always", (*aof, "always"), disk, string),
        ("HSET, nothing kept", (), "/dev/shm", in_hash),
        ("HSET, AOF everysec", (*aof, "everysec"), disk, in_hash),
        ("HSET, AOF always", (*aof, "always"), disk, in_hash),
        ("DH.SET, process, /dev/shm", module, "/dev/shm", table),
        ("DH.SET, process, disk", module, disk, table),
        ("DH.SET, power_buffered, disk", (*module, "--durahash.durability", "power_buffered"),
         disk, table),
        ("DH.SET, power, disk", (*module, "--durahash.durability", "power"), disk, table),
    ]


def bytes_per_record(server, used_before, name):
    with server.client() as c:
        if name.startswith("DH"):
            facts = c.execute_command("DH.INFO", "t")
            facts = facts if isinstance(facts, dict) else dict(zip(facts[::2], facts[1::2]))
            return facts[b"file-bytes"] / c.execute_command("DH.LEN", "t")
        count = c.hlen("h") if name.startswith("HSET") else c.dbsize()
        return (c.info("memory")["used_memory"] - used_before) / count


class Case:
    """A server that stays up from the first round to the last, and what it did in each."""

    def __init__(self, program, name, settings, folder, write, read):
        running.FOLDERS = folder
        self.name, self.commands = name, {"write": write, "read": read}
        self.server = Server(program, *settings, module=None).start()
        with self.server.client() as c:
            self.used = c.info("memory")["used_memory"]
        self.rounds = {"write": [], "read": []}

    def run(self, what, a):
        operations = a.operations // 10 if what == "write" and "power," in self.name \
            else a.operations
        self.rounds[what].append(
            measure(self.server, a.pipeline, operations, a.keys, *self.commands[what]))

    def median(self, what, figure):
        return statistics.median(r[figure] for r in self.rounds[what])

    def times_as_fast(self, what, other):
        """Round by round: what a busy machine does to both is in neither."""
        return statistics.median(
            mine[0] / its[0] for mine, its in zip(self.rounds[what], other.rounds[what]))


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--operations", type=int, default=200_000, help="in each round")
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--keys", type=int, default=1_000_000)
    arguments.add_argument("--pipeline", type=int, default=32)
    arguments.add_argument("--disk", default=tempfile.gettempdir())
    arguments.add_argument("--server", default="redis", choices=["redis", "valkey"])
    a = arguments.parse_args()
    with open("/proc/cpuinfo") as f:
        cpu = next((line.split(":")[1].strip() for line in f if line.startswith("model name")), "")
    print(f"{cpu}, {os.cpu_count()} processors, Linux {platform.release()}; {a.server}-server; "
          f"{a.rounds} rounds of {a.operations} operations, the servers in turns; {a.keys} keys, "
          f"20 clients, {a.pipeline} pipelined; load {os.getloadavg()[0]:.1f}\n")
    made = []
    try:
        for name, settings, folder, (write, read) in cases(a.disk):
            made.append(Case(programs()[a.server], name, settings, folder, write, read))
        for what in "write", "read":
            for number in range(a.rounds):
                for case in made[number % len(made):] + made[:number % len(made)]:
                    case.run(what, a)
        show(made)
    finally:
        for case in made:
            case.server.end()


def show(made):
    """Medians; and each beside HSET and SET that keep nothing."""
    by_name = {case.name: case for case in made}
    string, in_hash = by_name["SET, nothing kept"], by_name["HSET, nothing kept"]
    print("| | write K/s | of SET | of HSET | p99 ms | CPU us | read K/s | of GET | of HGET | "
          "p99 ms | CPU us | back after kill -9, ms | bytes a record |")
    print("|---|" + "---|" * 12)
    for case in made:
        size = bytes_per_record(case.server, case.used, case.name)
        back = restart_ms(case.server) if "nothing" not in case.name else None
        cells = [case.name]
        for what in "write", "read":
            cells += [f"{case.median(what, 0):.0f}", f"{case.times_as_fast(what, string):.2f}",
                      f"{case.times_as_fast(what, in_hash):.2f}", f"{case.median(what, 1):.1f}",
                      f"{case.median(what, 2):.1f}"]
        cells += ["lost" if back is None else f"{back:.0f}", f"{size:.0f}"]
        print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
