#!/usr/bin/env python3
"""What Doxygen reads in the place of a header of ours: docs/Doxyfile's INPUT_FILTER.

A comment of ours is for all declarations that follow it without an empty line, and that of a
structure for its fields; Doxygen wants one for each. `Returns   ok, exists` begins a paragraph of
that name. Lines stay where they are.

    scripts/doxygen_filter.py HEADER
"""
import re
import sys

HEADING = re.compile(r"^(\s*///) (Returns|Cost|Durable|Threads|Crash|Paper|Keys|Values|Promises|`\w+`)\s{2,}(.*)$")
TO_THE_RIGHT = re.compile(r"^(\s*/// .*?\S) {4,}(Returns .*)$")
CODE = re.compile(r"//.*|/\*.*?\*/|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'")
SCOPE = re.compile(r"^(?:typedef )?(struct|class|enum|namespace|extern)\b")
MOVES = re.compile(r"^\w+\((\w+)&&\) noexcept;|^(\w+)& operator=\(\2&&\) noexcept;")
FIELD = re.compile(r"^[\w:<>,*& ]+?[\w>*&] [\w, =]+(\[\w+\])?( = [^()]+|\{.*\})?;$")


def with_headings(line):
    if found := HEADING.match(line):
        return f"{found[1]} @par {found[2].strip('`')}^^{found[1].strip()} {found[3]}"
    return TO_THE_RIGHT.sub(r"\1 @par Returns \2", line).replace("@par Returns Returns", "<b>Returns</b>")


def fields_apart(told, code, comment):
    """Of `T a = 0, b = 0;` each field by itself."""
    kind, _, names = code.removesuffix(";").partition(" ")
    if "," not in names:
        return told
    return " ".join(f"/** {' '.join(comment)} */ {kind} {name};" for name in names.split(", "))


def filtered(lines):
    scopes = [("namespace", False)]  # innermost last: what it is, whether it has a comment
    group, fresh, goes_on = [], False, False  # the comment of this group of declarations; just read
    for line in lines:
        text, told = line.strip(), line
        code = CODE.sub("", text).strip()
        if text.startswith("///") and not text.startswith("///<") and not goes_on:
            group, fresh = (group if fresh else []) + [text[3:].strip()], True
            yield with_headings(line)
            continue
        if not code:
            if not text:
                group = []
            yield line
            continue
        opens = SCOPE.match(code) if code.endswith("{") else None
        is_label = code in ("public:", "protected:", "private:")
        starts = not goes_on and scopes[-1][0] in ("struct", "class", "namespace", "extern") and not is_label and code[0] not in "}#"
        if starts and not fresh and "///<" not in text and not opens:
            if MOVES.match(code):
                told = f"/** Moves it. */ {text}"
            elif group:
                told = f"/** {' '.join(group)} */ {text}"
            elif scopes[-1][0] == "struct" and scopes[-1][1] and FIELD.match(code):
                told = f"/** See the structure. */ {text}"
        if starts and FIELD.match(code) and not re.search(r"[<*&({]", code):
            told = fields_apart(told, code, group if fresh or group else ["See the structure."])
        had_comment = fresh
        if not is_label and code[0] != "#":
            fresh = goes_on and fresh
        yield told
        opened, closed = code.count("{"), code.count("}")
        for _ in range(opened - closed):
            scopes.append((opens[1] if opens else "body", had_comment))
            if opens:
                group = []
        for _ in range(closed - opened):
            if len(scopes) > 1:
                scopes.pop()
        goes_on = scopes[-1][0] in ("struct", "class", "namespace", "extern") and not code.endswith((";", "{", "}", ":")) and code[0] != "#"


def main():
    lines = open(sys.argv[1], encoding="utf-8").read().split("\n")
    # what is not in a documented file and namespace Doxygen leaves out without a word
    lines[0] = f"/** @file */ {lines[0]}"
    lines = [f"/** The library. */ {line}" if line.startswith("namespace durahash") else line for line in lines]
    # a heading is a line more for Doxygen: it goes into the line of its text
    sys.stdout.write("\n".join(filtered(lines)).replace("^^///", " <br>"))


if __name__ == "__main__":
    main()
