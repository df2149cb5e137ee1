R"python("
# Draws what `durahash bench --json` wrote: python3 plot.py REPORT.json FILE.png
# The first and the last line of this file make it a C++ string as well: bench/plot.cpp includes it, so that the tool carries it along.
import json
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt


def label(result):
    return result["workload"] + (" (cold)" if result["memory"] == "cold" else "")


def draw_rates(axes, runs):
    names = [label(result) for result in runs[0]["results"]]
    width = 0.8 / len(runs)
    for i, run in enumerate(runs):
        at = [place - 0.4 + width * (i + 0.5) for place in range(len(names))]
        rates = [result["mops"] for result in run["results"]]
        below = [result["mops"] - min(result["mops_of_each_repetition"]) for result in run["results"]]
        above = [max(result["mops_of_each_repetition"]) - result["mops"] for result in run["results"]]
        bars = axes.bar(at, rates, width * 0.9, yerr=[below, above], capsize=3, label=run["engine"])
        axes.bar_label(bars, fmt="%.1f", padding=3, fontsize=8)
    axes.set_xticks(range(len(names)), names, rotation=30, ha="right")
    axes.set_xlim(-0.6, len(names) - 0.4)
    axes.set_ylabel("million operations per second")
    axes.margins(y=0.15)
    axes.legend()


def draw_latencies(axes, runs):
    names = [label(result) for result in runs[0]["results"]]
    marks = {"p50": "o", "p99": "s", "p999": "^", "max": "x"}
    for i, run in enumerate(runs):
        for quantile, mark in marks.items():
            points = [(place + 0.12 * (i - (len(runs) - 1) / 2), result["latency_ns"][quantile])
                      for place, result in enumerate(run["results"]) if result["latency_ns"]]
            axes.plot([x for x, _ in points], [y for _, y in points], mark, color=f"C{i}",
                      label=f"{run['engine']} {quantile}")
    axes.set_yscale("log")
    axes.set_xticks(range(len(names)), names, rotation=30, ha="right")
    axes.set_xlim(-0.6, len(names) - 0.4)
    axes.set_ylabel("latency, ns per operation")
    axes.grid(axis="y", alpha=0.3)
    axes.legend(fontsize=7)


def draw_tails(axes, runs):
    """Of the first workload that was timed: the share of the operations that took longer."""
    timed = [[result for result in run["results"] if result["latency_steps"]] for run in runs]
    for run, results in zip(runs, timed):
        steps = results[0]["latency_steps"]
        total = left = sum(count for _, count in steps)
        shares = []
        for _, count in steps[:-1]:
            left -= count
            shares.append(left / total)
        bounds = [at_most for at_most, _ in steps]
        # The slowest share is drawn to the maximum, since a share of 0 has no place on this axis.
        axes.step(bounds, [*shares, shares[-1] if shares else 1], where="post", label=run["engine"])
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel(f"ns per operation of {label(timed[0][0])}")
    axes.set_ylabel("share that takes longer")
    axes.grid(alpha=0.3)
    axes.legend()


def title(run):
    batch = f"batches of {run['batch']}" if run["batch"] > 1 else "single operations"
    on = "" if run["device"] == "cpu" else f"{run['device']} ({run['device_memory']}), "
    return (f"{on}{run['medium']}, durability {run['durability']}: {run['keys']:,} records, {run['threads']} thread(s), {batch}, "
            f"median of {run['repetitions']}, seed {run['seed']}\n{run['machine']['cpu']}, commit {run['machine']['commit']}")


def main(report, picture):
    with open(report, encoding="utf-8") as file:
        runs = json.load(file)
    runs = runs if isinstance(runs, list) else [runs]
    with_latency = any(result["latency_ns"] for run in runs for result in run["results"])
    figure, axes = plt.subplots(3 if with_latency else 1, 1, squeeze=False, figsize=(10, 13 if with_latency else 5))
    draw_rates(axes[0][0], runs)
    if with_latency:
        draw_latencies(axes[1][0], runs)
        draw_tails(axes[2][0], runs)
    figure.suptitle(title(runs[0]), fontsize=10)
    figure.tight_layout()
    figure.savefig(picture, dpi=150)


main(sys.argv[1], sys.argv[2])
#)python"
