#!/usr/bin/env python3
"""Checks the names of media/site.hpp, by which arguments, witnesses and reports refer to sources.

Every write-back and every commit in src/ has a name, given once for each verb. Argued elisions,
witnesses and planted bugs speak of names that the sources have. Every mutant in the sources is told
of in explorer/planted_bugs.cpp, and the other way round. The crash catalogue lists every planted bug
under its hole, and speaks of names that the sources have. Whoever refers to a hole says "hole", and
an id of the catalogue.

Usage: check_names.py [FOLDER]     (default: the repository this script stands in)
Exit code: 0, or 1 and a line for each that is wrong.
"""
import collections
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).parent.parent
ROOT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else HERE).resolve()
EFFECTS = {  # of each verb, what can be left out
    "flush": ["flush"],
    "flush_in_line": ["flush"],
    "fence": ["fence"],
    "persist": ["flush", "fence"],
    "publish_unfenced": ["flush", "order"],
    "publish": ["flush", "fence", "order"],
    "publish_if": ["flush", "fence", "order"],
}
CALL = re.compile(r"(?<![\w.>:])(flush|flush_in_line|fence|persist|publish|publish_if|publish_unfenced)"
                  r"\(\s*(?:\*?m_?|\*medium_|medium_)\s*,")
CATALOGUE = "docs/explanation/crash-catalogue.md"
HOLE = r"(?:X[1-9]|(?:CCEH|Level|TurboHash|GPHash|Ours) [0-9]+)"
COMMENT_LINE = r"(?:\s*\n\s*(?://+|#|>)?\s*)"  # a reference may go on in the next line
REFERENCE = re.compile(rf"\b[Hh]oles?(?:\s|{COMMENT_LINE})(\[?{HOLE}(?:\]\([^)]*\))?"
                       rf"(?:(?:,|,? and| to)(?:\s|{COMMENT_LINE})\[?{HOLE}(?:\]\([^)]*\))?)*)")


def holes():
    """The catalogue's sections: text by id. What mutants break an invariant stands in the last one."""
    text = (ROOT / CATALOGUE).read_text()
    sections = re.split(rf"^### ({HOLE})$|^## ", text, flags=re.M)
    found = {sections[i]: sections[i + 1] for i in range(1, len(sections), 2) if sections[i]}
    return found, sections[-1], text


def check_catalogue(bugs, effects):
    """`bugs`: the hole of each by its name. `effects`: what can be left out."""
    sections, invariants, text = holes()
    for name, hole in bugs.items():
        if hole.startswith("invariant "):
            if not re.search(rf"^\| `{re.escape(name)}` \| {hole.split()[1]} of ", invariants, re.M):
                yield f"{CATALOGUE} does not tell of {name} among the invariants, under {hole.split()[1]}"
        elif hole not in sections:
            yield f"explorer/planted_bugs.cpp: {name}: {CATALOGUE} has no hole {hole}"
        elif f"`{name}`" not in " ".join(sections[hole].split()):
            yield f"{CATALOGUE}: {hole} does not tell of {name}"
    for name in re.findall(r"`((?:the (?:flush|fence|order) of )?[a-z0-9]+(?:[-.][a-z0-9]+){2,})`",
                           " ".join(text.split())):
        if name not in bugs and name not in effects:
            yield f"{CATALOGUE} speaks of {name}, which no source has"


def check_references():
    """Comments and documents name holes as "hole CCEH 7", and only those there are."""
    known = set(holes()[0])
    for folder in "src explorer test tool fuzz bench include docs".split():
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix not in (".hpp", ".cpp", ".cuh", ".cu", ".py", ".md") or "layers" in path.parts \
                    or path.name in ("planted_bugs.cpp", "crash-catalogue.md"):
                continue
            text, short = path.read_text(), path.relative_to(ROOT)
            for referred in REFERENCE.findall(text):
                yield from (f"{short}: {CATALOGUE} has no hole {hole}"
                            for hole in re.findall(HOLE, referred) if hole not in known)
            for bare in re.findall(rf"(?<![\w.\[`])({HOLE})(?![\w.])", REFERENCE.sub("", text)):
                yield f'{short}: {bare} has no "hole" in front of it'


def arguments(text, start):
    """The text between the parenthesis that opens before `start` and the one that closes it."""
    depth, at = 1, start
    while depth:
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    return text[start:at - 1]


def main():
    wrong, places, mutants = [], collections.defaultdict(list), set()
    sources = [p for folder in ("src", "explorer") for p in sorted((ROOT / folder).rglob("*"))
               if p.suffix in (".hpp", ".cpp", ".cuh", ".cu")]
    for path in sources:
        if path.parent.name == "media" or path.name == "order.hpp":  # what names are, and the verbs themselves
            continue
        text, short = path.read_text(), path.relative_to(ROOT)
        mutants |= set(re.findall(r'planted\(\s*"([^"]+)"\)', text))
        for call in CALL.finditer(text):
            line = text.count("\n", 0, call.start()) + 1
            name = re.search(r',\s*"([a-z0-9.-]+)"$', arguments(text, call.end()).rstrip())
            if not name:
                wrong.append(f"{short}:{line}: this {call[1]} has no name")
                continue
            for effect in EFFECTS[call[1]]:
                places[f"the {effect} of {name[1]}"].append(f"{short}:{line}")
    wrong += [f"{name} stands at {', '.join(at)}" for name, at in places.items() if len(at) > 1]

    bugs = dict(re.findall(r'^      \{"([^"]+)",\s*"([^"]+)"', (ROOT / "explorer/planted_bugs.cpp").read_text(),
                           re.M))
    elisions = re.compile(r'"(the (?:flush|fence|order) of [a-z0-9.-]+)"')
    wrong += [f"explorer/planted_bugs.cpp tells of {name}, which no source has"
              for name in sorted(set(bugs) - mutants - set(places))]
    wrong += [f"explorer/planted_bugs.cpp does not tell of {name}" for name in sorted(mutants - set(bugs))]
    for path in [*sorted((ROOT / "explorer").glob("*_subject.cpp")), ROOT / "explorer/witnesses.cpp"]:
        for name in elisions.findall(path.read_text()):
            if name not in places:
                wrong.append(f"{path.relative_to(ROOT)} speaks of {name}, which no source has")
    wrong += [*check_catalogue(bugs, set(places)), *check_references()]
    print("\n".join(dict.fromkeys(wrong)) or
          f"{len(places)} effects and {len(mutants)} mutants have names, {len(holes()[0])} holes an entry",
          file=sys.stderr if wrong else sys.stdout)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
