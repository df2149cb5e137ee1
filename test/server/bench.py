#!/usr/bin/env python3
"""DH.SET and DH.GET beside SET, HSET, GET and HGET: throughput, p99, restart after kill -9, bytes
per record. redis-benchmark, values of 64 bytes. Prints a table in Markdown."""
import argparse
import csv
import io
import os
import platform
import subprocess
import tempfile
import time

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
    with open(f"/proc/{server.process.pid}/stat") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


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


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--operations", type=int, default=600_000)
    arguments.add_argument("--keys", type=int, default=1_000_000)
    arguments.add_argument("--pipeline", type=int, default=32)
    arguments.add_argument("--disk", default=tempfile.gettempdir())
    arguments.add_argument("--server", default="redis", choices=["redis", "valkey"])
    a = arguments.parse_args()
    with open("/proc/cpuinfo") as f:
        cpu = next((line.split(":")[1].strip() for line in f if line.startswith("model name")), "")
    print(f"{cpu}, {os.cpu_count()} processors, Linux {platform.release()}; {a.server}-server; "
          f"{a.operations} operations each, {a.keys} keys, 20 clients, {a.pipeline} pipelined, "
          f"one run; load {os.getloadavg()[0]:.1f}\n")
    print("| | write K/s | p99 ms | CPU us | read K/s | p99 ms | CPU us | back after kill -9, ms | "
          "bytes a record |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, settings, folder, (write, read) in cases(a.disk):
        running.FOLDERS = folder
        with Server(programs()[a.server], *settings, module=None) as server:
            with server.client() as c:
                used = c.info("memory")["used_memory"]
            operations = a.operations if "power," not in name else a.operations // 10
            w = measure(server, a.pipeline, operations, a.keys, *write)
            r = measure(server, a.pipeline, a.operations, a.keys, *read)
            size = bytes_per_record(server, used, name)
            back = restart_ms(server) if "nothing" not in name else None
            print(f"| {name} | {w[0]:.0f} | {w[1]:.1f} | {w[2]:.1f} | "
                  f"{r[0]:.0f} | {r[1]:.1f} | {r[2]:.1f} | "
                  f"{'lost' if back is None else f'{back:.0f}'} | {size:.0f} |", flush=True)


if __name__ == "__main__":
    main()
