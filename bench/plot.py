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


def draw_series(axes, runs):
    """Of the first workload with windows: operations that ended in each, and the longest of it."""
    longest = axes.twinx()
    for i, run in enumerate(runs):
        result = next(result for result in run["results"] if result["series"])
        at = [one["at_ms"] / 1e3 for one in result["series"]]
        axes.plot(at, [one["ops"] / run["window_ms"] / 1e3 for one in result["series"]], f"C{i}-", label=run["engine"])
        longest.plot(at, [one["longest_ns"] / 1e6 for one in result["series"]], f"C{i}x", alpha=0.6)
    axes.set_xlabel(f"seconds of {label(result)}")
    axes.set_ylabel("million operations per second")
    axes.set_ylim(bottom=0)
    longest.set_ylabel("longest operation, ms (x)")
    longest.set_yscale("log")
    axes.grid(alpha=0.3)
    axes.legend()


AXES = ("keys", "threads", "batch")


def draw_sweep(runs, picture):
    """Rates by the axis that has most values: a panel for each workload, a line for each of the rest."""
    values = {axis: sorted({run[axis] for run in runs}) for axis in AXES}
    by = max(AXES, key=lambda axis: len(values[axis]))
    others = [axis for axis in AXES if axis != by and len(values[axis]) > 1]
    workloads = [label(result) for result in runs[0]["results"]]
    columns = min(len(workloads), 2)
    rows = -(-len(workloads) // columns)
    figure, axes = plt.subplots(rows, columns, squeeze=False, figsize=(5.2 * columns, 3.4 * rows), layout="constrained")
    # an engine has a colour, and what else differs a mark and a stroke
    engines = list(dict.fromkeys(run["engine"] for run in runs))
    rest = list(dict.fromkeys(tuple(run[axis] for axis in others) for run in runs))
    lines, look = {}, {}
    for run in runs:
        name = ", ".join([run["engine"], *(f"{axis} {run[axis]:,}" for axis in others)])
        lines.setdefault(name, []).append(run)
        which = rest.index(tuple(run[axis] for axis in others))
        look[name] = {"color": f"C{engines.index(run['engine'])}", "marker": "os^Dv*xP+."[which % 10],
                      "linestyle": ("-", "--", ":", "-.")[which % 4]}
    for panel, workload in zip(axes.flat, workloads):
        for name, some in lines.items():
            some = sorted(some, key=lambda run: run[by])
            panel.plot([run[by] for run in some],
                       [next(r["mops"] for r in run["results"] if label(r) == workload) for run in some], label=name, **look[name])
        panel.set_title(workload, loc="left", fontsize=10)
        panel.set_xscale("log")
        panel.set_xticks(values[by], [f"{value:,}" for value in values[by]])
        panel.minorticks_off()
        panel.set_xlabel(by)
        panel.set_ylabel("Mops/s")
        panel.set_ylim(bottom=0)
        panel.grid(alpha=0.3)
    for panel in list(axes.flat)[len(workloads):]:
        panel.axis("off")
    figure.legend(*axes[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=min(len(lines), 4), fontsize=8)
    figure.suptitle(f"{runs[0]['medium']}, durability {runs[0]['durability']}, seed {runs[0]['seed']}\n"
                    f"{runs[0]['machine']['cpu']}, commit {runs[0]['machine']['commit']}", fontsize=9)
    figure.savefig(picture, dpi=150)


def title(run):
    batch = f"batches of {run['batch']}" if run["batch"] > 1 else "single operations"
    on = "" if run["device"] == "cpu" else f"{run['device']} ({run['device_memory']}), "
    return (f"{on}{run['medium']}, durability {run['durability']}: {run['keys']:,} records, {run['threads']} thread(s), {batch}, "
            f"median of {run['repetitions']}, seed {run['seed']}\n{run['machine']['cpu']}, commit {run['machine']['commit']}")


def main(report, picture):
    with open(report, encoding="utf-8") as file:
        runs = json.load(file)
    runs = runs if isinstance(runs, list) else [runs]
    if any(len({run[axis] for run in runs}) > 1 for axis in AXES):
        draw_sweep(runs, picture)
        return
    with_series = all(any(result["series"] for result in run["results"]) for run in runs)
    with_latency = any(result["latency_ns"] for run in runs for result in run["results"])
    panels = 1 + 2 * with_latency + with_series
    figure, axes = plt.subplots(panels, 1, squeeze=False, figsize=(10, 1 + 4 * panels))
    draw_rates(axes[0][0], runs)
    if with_latency:
        draw_latencies(axes[1][0], runs)
        draw_tails(axes[2][0], runs)
    if with_series:
        draw_series(axes[-1][0], runs)
    figure.suptitle(title(runs[0]), fontsize=10)
    figure.tight_layout()
    figure.savefig(picture, dpi=150)


main(sys.argv[1], sys.argv[2])
#)python"
