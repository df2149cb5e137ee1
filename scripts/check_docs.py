#!/usr/bin/env python3
"""Checks what documents and comments refer to: links of Markdown and their anchors, files of this
repository that are named, and tests that documents name, as `Suite.Test` or `Suite.Begins...`. Each
engine's document ends with its paper, section by section: names in its code are in the sources.
A table behind `<!-- figures: FILE.json WORD -->` has the figures of FILE.json, at WORD, rounded.
Exit code 0, or 1 and a line for each that is not there.
"""
import json
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).parent.parent
ROOT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else HERE).resolve()
FOLDERS = "bench bindings cmake docs examples explorer fuzz include scripts src test tool".split()
KINDS = {".md", ".hpp", ".cpp", ".cuh", ".cu", ".h", ".py", ".sh"}
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FILE = re.compile(r"(?<![\w/.<{$-])((?:%s)/[\w./-]*\w\.(?:hpp|cpp|cuh|cu|py|sh|md|txt|cmake))(?![\w/])"
                  % "|".join(FOLDERS))
LOUD = re.compile(r"(?<![\w/.-])[A-Z]{2,}\.md\b")  # at the root, or in this folder
TEST = re.compile(r"\b(?:TYPED_)?TEST(?:_[FP])?\(\s*(\w+),\s*(\w+)\)")
NAMED_TEST = re.compile(r"`([A-Z]\w*\.[A-Z]\w*(?:\.\.\.)?)`")

ENGINE_DOCUMENT = re.compile(r"docs/explanation/engines/(\w+)\.md")
SECTIONS = "## The paper, section by section"


def words_of_sources(listed):
    """Every identifier and file name of the library and of what the explorer and bench share."""
    found = set()
    for name in listed:
        if name.startswith(("src/", "include/")) and pathlib.Path(name).suffix in KINDS:
            found.add(pathlib.PurePosixPath(name).name)
            found.update(re.findall(r"\w+", (ROOT / name).read_text()))
    return found


def sections_of_paper(name, text, words):
    """What is wrong with an engine's table, and how many names its code has."""
    headings = [line for line in text.splitlines() if line.startswith("## ")]
    if not headings or headings[-1] != SECTIONS:
        return [f'{name}: it does not end with "{SECTIONS[3:]}"'], 0
    wrong, names = [], 0
    rows = [line for line in text[text.index(SECTIONS):].splitlines() if line.startswith("|")][2:]
    for row in rows:
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        if len(cells) != 4 or not cells[0]:
            wrong.append(f"{name}: a row has not four cells: {row}")
            continue
        paper, code, kind, why = cells
        if kind not in ("same", "departs"):
            wrong.append(f'{name}: {paper}: "{kind}" is neither same nor departs')
        if kind == "departs" and not why:
            wrong.append(f"{name}: {paper}: departs, and no reason stands there")
        referred = re.findall(r"`([\w.]+)`", code)
        names += len(referred)
        if not referred:
            wrong.append(f"{name}: {paper}: no code is named")
        wrong += [f"{name}: {paper}: {each} is not in src/" for each in referred if each not in words]
    return wrong, names


FIGURES = re.compile(r"<!-- figures: (\S+) (\w+) -->\n+((?:\|.*\n)+)")


def figures(name, text):
    """What is wrong with tables of recorded figures: the columns are keys of the JSON, rows too."""
    wrong = []
    for source, part, table in FIGURES.findall(text):
        recorded = json.loads((ROOT / source).read_text())[part]
        rows = [[cell.strip(" `") for cell in row.strip("|").split("|")] for row in table.splitlines()]
        for row in rows[2:]:
            for column, cell in list(zip(rows[0], row))[1:]:
                is_now = str(round(recorded[row[0]][column]))
                if cell != is_now:
                    wrong.append(f"{name}: {row[0]}, {column}: {cell}, and {source} has {is_now}")
    return wrong


def tests(listed):
    return {".".join(found) for name in listed if name.startswith("test/") and name.endswith(".cpp")
            for found in TEST.findall((ROOT / name).read_text())}


def anchors(path):
    """As forges make them of headings."""
    found, fenced = set(), False
    for line in path.read_text().splitlines():
        fenced ^= line.startswith("```")
        if line.startswith("#") and not fenced:
            heading = re.sub(r"[`*]", "", line.lstrip("#").strip().lower())
            found.add(re.sub(r"[^\w\- ]", "", heading).replace(" ", "-"))
    return found


def main():
    if (ROOT / ".git").exists():
        listed = subprocess.run(["git", "-C", ROOT, "ls-files"], capture_output=True, text=True,
                                check=True).stdout.split()
    else:
        listed = sorted(str(p.relative_to(ROOT)) for p in ROOT.rglob("*") if p.is_file())
    files, wrong, links, names, known = set(listed), [], 0, 0, tests(listed)
    words = words_of_sources(listed)
    for name in listed:
        path = ROOT / name
        if path.suffix not in KINDS or "test/layers" in name:
            continue  # those tests name files that are made up
        text = path.read_text()
        if ENGINE_DOCUMENT.fullmatch(name):
            not_there, more = sections_of_paper(name, text, words)
            wrong += not_there
            names += more
        if path.suffix == ".md":
            wrong += figures(name, text)
            for link in LINK.findall(re.sub(r"(?ms)^ *```.*?^ *```", "", text)):  # not of code
                if re.match(r"[a-z]+:", link):
                    continue
                links += 1
                target, _, anchor = link.partition("#")
                to = (path.parent / target).resolve() if target else path
                if not to.exists():
                    wrong.append(f"{name}: the link {link} leads nowhere")
                elif anchor and anchor not in anchors(to):
                    wrong.append(f"{name}: {link}: no heading is called so")
            for test in NAMED_TEST.findall(text):
                names += 1
                if not any(each.startswith(test[:-3]) if test.endswith("...") else each == test for each in known):
                    wrong.append(f"{name}: no test is called {test}")
            text = LINK.sub("", text)
        for referred in FILE.findall(text):
            names += 1
            # as from the repository's root, from src/ and include/, or from the file's own folder
            roots = (".", "src", "include", "test", path.relative_to(ROOT).parent)
            if not any(str(pathlib.PurePosixPath(at) / referred) in files for at in roots):
                wrong.append(f"{name}: {referred} is not in the repository")
        for referred in LOUD.findall(text):
            names += 1
            if referred not in files and str(path.relative_to(ROOT).with_name(referred)) not in files:
                wrong.append(f"{name}: {referred} is not in the repository")
    print("\n".join(sorted(set(wrong))) or f"{links} links and {names} names of files and tests lead somewhere",
          file=sys.stderr if wrong else sys.stdout)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
