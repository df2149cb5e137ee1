R"python("
# Draws what `durahash reproduce --json` wrote: python3 pictures.py REPORT.json [--plot DIR] [--html FILE]
# The first and the last line of this file make it a C++ string as well: bench/reproduce/pictures.cpp
# includes it, so that the tool carries it along.
import argparse
import html
import io
import json
import os
import re

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

PAPERS = {"turbo": "TurboHash (SYSTOR'23)", "cceh": "CCEH (FAST'19)",
          "level": "Level hashing (OSDI'18)", "gphash": "GPHash (FAST'25)"}
MARKS = "osD^v<>P"

plt.rcParams.update({
    "font.size": 9, "axes.titlesize": 9, "axes.labelsize": 9, "legend.fontsize": 8,
    "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True,
    "grid.alpha": 0.25, "axes.axisbelow": True, "lines.linewidth": 1.4, "lines.markersize": 4,
    "svg.fonttype": "none", "svg.hashsalt": "durahash",
    "font.family": "sans-serif", "font.sans-serif": ["DejaVu Sans", "Arial", "sans-serif"],
})


def short(value):
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def draw_bars(axes, picture):
    lines = picture["lines"]
    width = 0.8 / len(lines)
    # A place has only the bars that it needs, around its middle.
    there = {x: [i for i, line in enumerate(lines) if any(at == x for at, _ in line["points"])]
             for line in lines for x, _ in line["points"]}
    for i, line in enumerate(lines):
        at = [x + width * (there[x].index(i) + 0.5 - len(there[x]) / 2) for x, _ in line["points"]]
        bars = axes.bar(at, [y for _, y in line["points"]], width * 0.92, label=line["name"])
        if len(lines) * len(picture["bars"]) <= 12:
            axes.bar_label(bars, fmt=short, padding=2, fontsize=7)
    longest = max(len(name) for name in picture["bars"])
    turned = longest * len(picture["bars"]) > 52
    axes.set_xticks(range(len(picture["bars"])), picture["bars"],
                    **({"rotation": 25, "ha": "right"} if turned else {}))
    axes.grid(axis="x", visible=False)
    axes.margins(y=0.12)


def draw_lines(axes, picture):
    for i, line in enumerate(picture["lines"]):
        few = len(line["points"]) <= 20
        axes.plot([x for x, _ in line["points"]], [y for _, y in line["points"]],
                  marker=MARKS[i % len(MARKS)] if few else None, label=line["name"])
    if picture["log_x"]:
        axes.set_xscale("log", base=2 if max_x(picture) < 5000 else 10)
    if picture["log_y"]:
        axes.set_yscale("log")
    elif all(y >= 0 for line in picture["lines"] for _, y in line["points"]):
        axes.set_ylim(bottom=0)
    places = sorted({x for line in picture["lines"] for x, _ in line["points"]})
    if len(places) <= 8 and (picture["log_x"] or all(x == int(x) for x in places)):
        axes.set_xticks(places)
    if picture["log_x"]:
        axes.xaxis.set_minor_formatter(lambda x, _: "")
    if picture["log_x"] or max_x(picture) >= 10_000:
        axes.xaxis.set_major_formatter(lambda x, _: f"{x:,g}" if x < 10_000 else thousands(x))


def thousands(value):
    return f"{value / 1e6:g} M" if value >= 1e6 else f"{value / 1e3:g} k"


def max_x(picture):
    return max((x for line in picture["lines"] for x, _ in line["points"]), default=1)


def drawn(picture):
    figure, axes = plt.subplots(figsize=(5.2, 3.6), layout="constrained")
    (draw_bars if picture["bars"] else draw_lines)(axes, picture)
    axes.set_title(picture["title"], loc="left")
    axes.set_xlabel(picture["x"])
    axes.set_ylabel(picture["y"])
    if len(picture["lines"]) > 1:  # below the axes: it covers nothing
        longest = max(len(line["name"]) for line in picture["lines"])
        columns = max(1, min(len(picture["lines"]), 72 // (longest + 6)))
        rows = -(-len(picture["lines"]) // columns)
        columns = -(-len(picture["lines"]) // rows)  # rows of about one length
        figure.legend(loc="outside lower center", ncols=columns, frameon=False)
    return figure


def svg_of(figure):
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()


def inline(svg, title):
    """As part of a page: no prologue, no size of its own, no names that another picture has."""
    svg = svg[svg.index("<svg"):]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.S)
    svg = re.sub(r'<g id="[a-z0-9_.]+">', "<g>", svg)
    svg = re.sub(r' (width|height)="[0-9.]+pt"', "", svg, count=2)
    svg = re.sub(r"(\d+\.\d\d)\d+", r"\1", svg)
    svg = re.sub(r"\n\s*", "\n", svg)
    return svg.replace("<svg ", f'<svg role="img" aria-label="{html.escape(title, quote=True)}" ', 1)


STYLE = """
:root { color-scheme: light dark; --line: #8884; --dim: #777; --good: #1a7f37; --bad: #b35900;
  --none: #777; }
* { box-sizing: border-box; }
body { font: 16px/1.45 system-ui, sans-serif; margin: 0 auto; max-width: 72rem; padding: 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.25rem; margin-top: 2.5rem; }
p, li, td, dd { overflow-wrap: anywhere; }
code { font-size: .85em; }
table { border-collapse: collapse; width: 100%; }
th { text-align: left; font-weight: 600; }
th, td { border-bottom: 1px solid var(--line); padding: .5rem .6rem .5rem 0; vertical-align: top; }
td.id { width: 11rem; } td.verdict { width: 7rem; } td.says { width: 26%; }
.dim, summary { color: var(--dim); font-size: .85rem; }
.holds { color: var(--good); } .differs { color: var(--bad); } .none { color: var(--none); }
.verdict b { white-space: nowrap; }
.figures { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fill, minmax(20rem, 1fr)); }
figure { margin: 0; background: #fff; color: #000; border: 1px solid var(--line);
  border-radius: 6px; padding: .5rem; color-scheme: light; }
figure svg { display: block; height: auto; width: 100%; }
nav a { display: inline-block; margin-right: 1rem; }
@media (max-width: 48rem) {
  thead { display: none; }
  tr { border-bottom: 1px solid var(--line); display: block; padding: .6rem 0; }
  td, td.id, td.says, td.verdict { border: 0; display: block; padding: .1rem 0; width: auto; }
  td.says::before { color: var(--dim); content: "the paper: "; }
  td.here:not(:empty)::before { color: var(--dim); content: "here: "; }
  .figures { grid-template-columns: minmax(0, 1fr); }
}
"""


def number(value):
    return f"{value:.4g}"


def row_of(row, changes):
    e = html.escape
    kind = {"holds": "holds", "differs": "differs"}.get(row["verdict"], "none")
    here = ""
    if row["value"] is not None:
        here = f'{e(row["measured"])}: <b>{number(row["value"])}</b> {e(row["unit"])}'
    why = e(row["reason"])
    more = []
    if row["beside"]:
        more.append("; ".join(f"{e(name)} {number(value)}" for name, value in row["beside"].items()
                              if value is not None))
    if row["note"]:
        more.append(e(row["note"]))
    if row["parameters"]:
        more.append("with " + e(row["parameters"]))
    details = ""
    if more:
        details = ("<details><summary>figures beside it, and parameters</summary>"
                   + "".join(f'<p class="dim">{one}</p>' for one in more) + "</details>")
    changed = ""
    if row["id"] in changes:
        one = changes[row["id"]]
        changed = (f'<p class="{"differs" if one["worse"] else "dim"}">'
                   f'{"worse" if one["worse"] else "changed"}: {number(one["before"])} before; '
                   f'{e(one["why"])}</p>')
    return (f'<tr class="claim" id="{e(row["id"])}"><td class="id"><code>{e(row["id"])}</code><br>'
            f'<span class="dim">{e(row["where"])}; {e(row["evidence"])}</span></td>'
            f'<td class="says">{e(row["says"])}</td><td class="here">{here}{details}{changed}</td>'
            f'<td class="verdict"><b class="{kind}">{e(row["verdict"])}</b>'
            f'<br><span class="dim">{why}</span></td></tr>')


def section(engine, report, svgs, changes):
    rows = [row for row in report["rows"] if row["engine"] == engine]
    figures = [f"<figure>{svgs[one['id']]}</figure>" for one in report["figures"]
               if one["engine"] == engine]
    return (f'<h2 id="{engine}">{html.escape(PAPERS[engine])}</h2>'
            "<table><thead><tr><th>claim</th><th>the paper</th><th>here</th><th>verdict</th></tr>"
            "</thead><tbody>" + "\n".join(row_of(row, changes) for row in rows)
            + f'</tbody></table><h3>Figures</h3><div class="figures">{"".join(figures)}</div>')


def page(report, svgs):
    e = html.escape
    machine, counted = report["machine"], report["verdicts"]
    changes = {one["id"]: one for one in report.get("changes", [])}
    facts = (f'{e(machine["cpu"])}, {machine["cores"]} cores, kernel {e(machine["kernel"])}, load '
             f'average up to {number(machine["load_average"])}; commit {e(machine["commit"])}'
             f'{"; " + e(machine["device"]) if machine.get("device") else ""}')
    asked = (f'{report["keys"]:,} records, seed {report["seed"]}'
             f'{", quick" if report["quick"] else ""}; {number(report["seconds"])} seconds, '
             f'{number(report["processor_seconds"])} of a processor')
    against = ""
    if "changes" in report:
        worse = sum(one["worse"] for one in report["changes"])
        against = (f"<p>Beside an earlier report: {worse} rows got worse, "
                   f"{len(report['changes']) - worse} changed otherwise.</p>")
    return ('<!doctype html><html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            '<link rel="icon" href="data:,">'
            f"<title>durahash reproduce: {len(report['rows'])} claims</title>"
            f"<style>{STYLE}</style></head><body><h1>What the papers claim, and what holds here</h1>"
            f"<p>{len(report['rows'])} claims: <b class=\"holds\">{counted['holds']} hold</b>, "
            f"<b class=\"differs\">{counted['differs']} differ</b>, "
            f"{counted['not measured here']} cannot be measured here. The verdict of a row comes from "
            "its figure, by the rule in its source.</p>"
            f"<p>{facts}. {asked}.</p>"
            "<p><b>counts</b> are exact: the same in every run with one seed, but for a few lines in a "
            "million operations that a growing pool writes. <b>sampled</b>: counted beside other "
            "threads. <b>times</b> are ratios of tables that took turns in this one run. "
            "<b>recorded</b>: counted by a test of the project.</p>"
            f"{against}<nav>" + "".join(f'<a href="#{one}">{e(PAPERS[one])}</a>'
                                        for one in report["engines"])
            + "</nav>" + "".join(section(one, report, svgs, changes) for one in report["engines"])
            + "</body></html>\n")


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("report")
    arguments.add_argument("--plot")
    arguments.add_argument("--html")
    asked = arguments.parse_args()
    with open(asked.report, encoding="utf-8") as file:
        report = json.load(file)
    if asked.plot:
        os.makedirs(asked.plot, exist_ok=True)
    svgs = {}
    for picture in report["figures"]:
        if not any(line["points"] for line in picture["lines"]):
            continue
        figure = drawn(picture)
        svg = svg_of(figure)
        svgs[picture["id"]] = inline(svg, picture["title"])
        if asked.plot:
            with open(os.path.join(asked.plot, picture["id"] + ".svg"), "w", encoding="utf-8") as out:
                out.write(svg)
            figure.savefig(os.path.join(asked.plot, picture["id"] + ".png"), dpi=150)
        plt.close(figure)
    report["figures"] = [one for one in report["figures"] if one["id"] in svgs]
    if asked.html:
        with open(asked.html, "w", encoding="utf-8") as out:
            out.write(page(report, svgs))


main()
#)python"
