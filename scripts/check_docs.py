#!/usr/bin/env python3
"""Checks what documents and comments refer to: links of Markdown and their anchors, files of this
repository that are named, and tests that documents name, as `Suite.Test` or `Suite.Begins...`.
Exit code 0, or 1 and a line for each that is not there.
"""
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
    for name in listed:
        path = ROOT / name
        if path.suffix not in KINDS or "test/layers" in name:
            continue  # those tests name files that are made up
        text = path.read_text()
        if path.suffix == ".md":
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
