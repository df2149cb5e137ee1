#!/usr/bin/env python3
"""Writes explorer/witnesses.cpp: of each elision and each planted bug, an exploration that catches it.

    build/bin/durahash crash --engine all --json elisions.json
    build/bin/durahash crash --engine all --mutants --json mutants.json
    scripts/witnesses.py elisions.json mutants.json

What a report does not tell of stays as it was; names that no source knows any more go.
"""
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FILE = ROOT / "explorer/witnesses.cpp"
HEAD = """// Written by scripts/witnesses.py from reports of `durahash crash --json`.
// clang-format off
#include "explorer/matrix.hpp"

namespace durahash::crash {

const std::map<std::string, std::string>& witnesses(engine_kind engine) {
  static const std::map<engine_kind, std::map<std::string, std::string>> all = {
"""
TAIL = """  };
  static const std::map<std::string, std::string> none;
  auto found = all.find(engine);
  return found == all.end() ? none : found->second;
}

}  // namespace durahash::crash
"""


def known():
    """By engine: what the file says now."""
    found, engine = {}, None
    for line in FILE.read_text().splitlines():
        if begins := re.match(r"\s+\{engine_kind::(\w+),", line):
            engine = found.setdefault(begins[1], {})
        if pair := re.match(r'\s+\{"([^"]+)",\s*$', line):
            name = pair[1]
        if job := re.match(r'\s+"([^"]+)"\}', line):
            engine[name] = job[1]
    return found


def names_in_sources():
    text = "".join(path.read_text() for folder in ("src", "explorer")
                   for path in sorted((ROOT / folder).rglob("*.[ch]*")) if path != FILE)
    return set(re.findall(r'"([a-z0-9.-]+)"', text))


def main():
    all_of_them, names = known(), names_in_sources()
    for path in sys.argv[1:]:
        reports = json.loads(pathlib.Path(path).read_text())
        for report in reports if isinstance(reports, list) else [reports]:
            for line in report.get("elision_matrix", []) + report.get("mutation_matrix", []):
                if line["caught"]:
                    name = line.get("left_out") or line["planted"]
                    all_of_them.setdefault(report["engine"], {})[name] = line["witness"]
    text = HEAD
    for engine, pairs in sorted(all_of_them.items()):
        text += f"      {{engine_kind::{engine},\n       {{\n"
        for name, job in sorted(pairs.items()):
            if name.split(" of ")[-1] in names:
                text += f'           {{"{name}",\n            "{job}"}},\n'
        text += "       }},\n"
    FILE.write_text(text + TAIL)


if __name__ == "__main__":
    main()
