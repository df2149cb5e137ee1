#!/usr/bin/env python3
"""Checks that sentences of the documents can be read once: none has more than 30 words.

Words of prose, list items and cells of tables count. A code span, a link's text word by word, and a
number are words; fenced and indented code, headings and link targets are not prose. A colon or a
semicolon ends no sentence.

Usage: check_prose.py [FOLDER]     (default: the repository this script stands in)
Exit code: 0, or 1 and a line for each sentence that is too long.
"""
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).parent.parent
ROOT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else HERE).resolve()
MOST_WORDS = 30
MARKER = re.compile(r"^\s*(?:[-*]|\d+\.)\s+")
END = re.compile(r"(?<=[.!?])[)\"*_]*\s+(?=[(\"*_]*[A-Z0-9`\[§])")
NO_END = re.compile(r"\b(?:e\.g|i\.e|etc|vs|p|No)\.$")


def blocks(text):
    """Line number and text of each paragraph, list item and cell."""
    fenced, number, held = False, 0, []
    for line in [*text.splitlines(), ""]:
        number += 1
        if line.lstrip().startswith("```"):
            fenced = not fenced
            line = ""
        elif fenced:
            continue
        starts = not line.strip() or line.startswith(("#", "|", "<", "    ")) and not (held and line.startswith("    "))
        if (starts or MARKER.match(line)) and held:
            yield held[0][0], " ".join(part for _, part in held)
            held = []
        if line.startswith("|"):
            yield from ((number, cell) for cell in line.strip("|").split("|"))
        elif not starts:
            held.append((number, MARKER.sub("", line, count=1) if not held else line.strip()))


def sentences(block):
    plain = re.sub(r"`[^`]*`", "Code", block)  # one word, and no end of a sentence
    plain = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", plain)
    found = []
    for part in END.split(plain):
        if found and NO_END.search(found[-1]):
            found[-1] += " " + part
        else:
            found.append(part)
    return found


def words(sentence):
    return [w for w in sentence.split() if re.search(r"\w", w)]


def main():
    if not (ROOT / ".git").exists():
        listed = [p.relative_to(ROOT) for p in ROOT.rglob("*.md")]
    else:
        listed = map(pathlib.Path, subprocess.run(["git", "-C", ROOT, "ls-files", "*.md"], text=True,
                                                  capture_output=True, check=True).stdout.split())
    wrong, count = [], 0
    for name in sorted(listed):
        for line, block in blocks((ROOT / name).read_text()):
            for sentence in sentences(block):
                count += 1
                if (length := len(words(sentence))) > MOST_WORDS:
                    wrong.append(f"{name}:{line}: {length} words: {' '.join(sentence.split()[:8])} ...")
    print("\n".join(wrong) or f"{count} sentences of at most {MOST_WORDS} words",
          file=sys.stderr if wrong else sys.stdout)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
