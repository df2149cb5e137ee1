"""What the reports of scripts/bench_*.py share."""
import os
import pathlib
import platform
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent


def commit():
    return subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"],
                          capture_output=True, text=True, check=False).stdout.strip()


def heading(run):
    """When, of what, on which machine; then what `run` says of the run."""
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo", encoding="utf-8")
                if line.startswith("model name")), "an unknown processor")
    return (f"{time.strftime('%Y-%m-%d %H:%M')}, commit {commit()}, {cpu}, {os.cpu_count()} "
            f"processors, Linux {platform.release()}, {run}\n")


def table(head, rows):
    wide = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    lines = ["| " + " | ".join(cell.ljust(w) for cell, w in zip(row, wide)) + " |"
             for row in [head, *rows]]
    return "\n".join([lines[0], "|" + "|".join("-" * (w + 2) for w in wide) + "|", *lines[1:]])
