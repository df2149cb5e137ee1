#!/usr/bin/env python3
"""Counts the lines of src/engine by what they are for: those that are neither blank nor only a `//`
comment. The table is that of docs/lab/house.md.

Usage: engine_lines.py [FOLDER]     (default: the repository this script stands in)
Exit code: 0, or 1 and a line for each file that stands in no row of JOBS.
"""
import pathlib
import sys

from engines import ENGINES

HERE = pathlib.Path(__file__).resolve().parent
ROOT = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else HERE.parent
# By the names of files; those of the frame are named with their folder.
JOBS = {
    "bytes of the pool": "format place",
    "places; what DRAM knows of the structure":
        "places bucket buckets mirror shards directory_view segments segment_reader stripe stripes "
        "stripe_states filters intents levels levels_view level_cells search frame/stripes kinds",
    "declarations of the table, concept": "table concept",
    "reads": "find answer frame/live_record",
    "copies of buckets in DRAM": "copies bucket_cache bucket_choice",
    "writes, groups of writes":
        "write group stage operation claims tell frame/frame frame/group frame/decision",
    "iteration": "iteration stretch frame/iteration frame/rests frame/hash_order frame/instances",
    "growth, shrinking, compaction":
        "grow rebuild arrays build merge rewrite survey compact directory segment_writer move "
        "drain shrink balance prepared_level resize growth_need coming_level frame/compaction "
        "frame/arrays",
    "settings, opening, recovery, count, close":
        "open recover tree count sweep settings frame/lifecycle frame/refusals",
    "salvage": "salvage frame/salvage",
    "check, figures": "check violations figures frame/reached",
    "what lies where (`inspect`)": "describe structure",
    "readers beside a writer": "beside",
    "lending to a GPU": "lease leased",
}


def lines_of(path):
    lines = (line.strip() for line in path.read_text().splitlines())
    return sum(1 for line in lines if line and not line.startswith("//"))


def counted():
    """By column and job, lines; and the files of no job."""
    job_of = {name: job for job, names in JOBS.items() for name in names.split()}
    lines, unknown = {}, []
    for path in sorted((ROOT / "src/engine").rglob("*.?pp")):
        folder = path.parent.name
        column = folder if folder in ENGINES else "shared"
        job = job_of.get(f"frame/{path.stem}" if folder == "frame" else path.stem)
        if job is None:
            unknown.append(path.relative_to(ROOT).as_posix())
        lines[column, job] = lines.get((column, job), 0) + lines_of(path)
    return lines, unknown


def main():
    lines, unknown = counted()
    columns = ["shared", *ENGINES]

    def row(name, cells):
        return "| " + " | ".join([name, *(f"{n:,}" if n else "" for n in cells)]) + " |"

    print("| job | " + " | ".join(columns) + " | all |\n|" + "---|" * (len(columns) + 2))
    for job in JOBS:
        cells = [lines.get((column, job), 0) for column in columns]
        print(row(job, [*cells, sum(cells)]))
    sums = [sum(n for (its, _), n in lines.items() if its == column) for column in columns]
    print(row("all", [*sums, sum(sums)]))
    for path in unknown:
        print(f"{path}: no row of JOBS has it", file=sys.stderr)
    return 1 if unknown else 0


if __name__ == "__main__":
    sys.exit(main())
