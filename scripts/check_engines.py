#!/usr/bin/env python3
"""Checks that each engine of src/store/engine_list.hpp has all its parts, and that nothing else lists
engines: what runs over all of them asks the list.

Usage: check_engines.py [FOLDER]     (default: the repository this script stands in)
Exit code: 0, or 1 and a line for each that is wrong.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent).resolve()
LIST = "src/store/engine_list.hpp"
# Where a list would be one more. test/format/read_pool.py knows the format's page alone.
FOLDERS = ["src", "tool", "bench", "explorer", "fuzz", "scripts", "test", "examples"]
LONGEST_TABLE = 150
SUFFIXES = {".hpp", ".cpp", ".py", ".sh", ".txt"}
LISTS_BY_ITSELF = {LIST, "test/format/read_pool.py"}


def text_of(path):
    file = ROOT / path
    return file.read_text() if file.is_file() else ""


def code_lines_of(path):
    """Neither blank nor comment."""
    return sum(1 for line in text_of(path).splitlines() if line.strip() and not line.lstrip().startswith("//"))


def parts(name, number):
    """Of an engine: where a part stands, what is to be found there, and what it is."""
    yield "include/durahash/options.hpp", rf"\b{name} = {number}\b", "its number"
    yield f"src/engine/{name}/table.hpp", rf"namespace durahash::{name}\b", "the engine"
    yield f"src/store/engine_{name}.cpp", rf"\b{name}_engine\(\)", "its instantiation"
    yield f"src/store/engine_{name}_bytes.cpp", r"\bDURAHASH_BINDINGS\(template,", "its instantiation for bytes"
    yield f"src/store/beside_{name}.cpp", rf"\bread_{name}_beside\(", "its reader beside a writer"
    yield f"src/emulated/engine_{name}.cpp", rf"\b{name}_on_emulated\(\)", "its counted instantiation"
    yield f"explorer/{name}_subject.cpp", rf"\b{name}_subject\(\)", "its explorer subject"
    yield "explorer/planted_bugs.cpp", rf"\{{engine_kind::{name}\}}", "a mutant of its own"
    yield f"docs/explanation/engines/{name}.md", r"(?m)^## ", "its document"
    yield "docs/reference/format.md", rf"(?i)(?m)^## {name}$", "a section with its bytes"
    yield "docs/reference/format.md", rf"\b{number} {name}\b", "its number"
    yield "docs/reference/cli.md", rf"`{name}`", "its name"
    yield "docs/reference/options.md", rf"(?m)^\| {name} \|", "its settings"
    yield "test/format/read_pool.py", rf"\b{name.upper()}: ", "a reader of its bytes"


def lists_of(engines):
    """Files in which all engines stand one after the other."""
    between = r"[\s\"',]*(?:or |and |engine_kind::)?"
    everybody = re.compile(rf"\b{between.join(engines)}\b")
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            short = path.relative_to(ROOT).as_posix()
            if path.suffix in SUFFIXES and path.is_file() and short not in LISTS_BY_ITSELF:
                text = path.read_text()
                for found in everybody.finditer(text):
                    yield f"{short}:{text.count(chr(10), 0, found.start()) + 1}"


def main():
    engines = re.findall(r" each\((\w+)\)", text_of(LIST))
    wrong = [] if engines else [f"{LIST} lists no engine"]
    numbers = dict(re.findall(r"\b(\w+) = (\d+)", re.search(r"enum class engine_kind[^{]*\{([^}]*)\}",
                                                            text_of("include/durahash/options.hpp"))[1]))
    for name in engines:
        for path, pattern, what in parts(name, numbers.get(name, "0")):
            if not re.search(pattern, text_of(path)):
                wrong.append(f"{path}: the engine {name} has not got {what} there")
        if (lines := code_lines_of(f"src/engine/{name}/table.hpp")) > LONGEST_TABLE:
            wrong.append(f"src/engine/{name}/table.hpp: {lines} lines of code, {LONGEST_TABLE} at most: "
                         "give a class of its own what is not reading and writing")
    wrong += [f"{place} lists the engines once more: {LIST} is the one list" for place in lists_of(engines)]
    print("\n".join(wrong) or f"{len(engines)} engines have all their parts",
          file=sys.stderr if wrong else sys.stdout)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
