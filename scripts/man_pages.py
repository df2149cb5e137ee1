#!/usr/bin/env python3
"""Writes durahash(1) and durahash-COMMAND(1) from what the tool says of itself.

    scripts/man_pages.py TOOL FOLDER
"""
import os
import pathlib
import re
import subprocess
import sys
import time


def escaped(text):
    """Text for roff: dashes that can be copied, no line that begins with a request."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.M)


def says(tool, *arguments):
    return subprocess.run([tool, *arguments], capture_output=True, text=True, check=True, env={**os.environ, "NO_COLOR": "1"}).stdout


def sections(text):
    """{heading: lines}; what stands before the first is the description, what is indented after an
    empty line or without a heading is told as it stands."""
    found, heading = {"": []}, ""
    for line in text.splitlines():
        named = re.fullmatch(r"([A-Z][A-Za-z ]*):(?: (.*))?", line)
        if named and named[1] in ("Usage", "Arguments", "Options", "Commands", "Example", "Examples", "A first minute"):
            heading = named[1]
            found[heading] = [named[2]] if named[2] else []
        else:
            found.setdefault(heading, []).append(line)
    return found


def items(lines):
    """Pairs of a name and what is said of it, which may go on in the next lines."""
    pairs = []
    for line in lines:
        named = re.fullmatch(r"  (\S.*?)(?:  +(\S.*))?", line)
        if named and not line.startswith("      "):
            pairs.append([named[1], named[2] or ""])
        elif line.strip() and pairs:
            pairs[-1][1] = (pairs[-1][1] + " " + line.strip()).strip()
    return pairs


def page(name, summary, text, see_also, date, version):
    found = sections(text)
    body = [f'.TH {name.upper()} 1 "{date}" "durahash {version}" "durahash"', ".SH NAME",
            f"{escaped(name)} \\- {escaped(summary)}", ".SH SYNOPSIS"]
    body += [f".B {escaped(line)}" for line in found.get("Usage", []) if line.strip()]
    for heading in ("Arguments", "Options", "Commands"):
        if pairs := items(found.get(heading, [])):
            body.append(f".SH {heading.upper()}")
            for key, said in pairs:
                body += [".TP", f".B {escaped(key)}", escaped(said) or "\\&"]
    # What follows the last list without a heading is the footer's prose.
    prose, last = [], None
    for heading in ("Arguments", "Options", "Commands"):
        last = heading if heading in found else last
    if last is not None:
        prose = [line for line in found[last] if line and not line.startswith(" ")]
    if prose:
        body += [".SH NOTES", escaped("\n".join(prose))]
    for heading in ("Example", "Examples", "A first minute"):
        lines = [line for line in found.get(heading, [])]
        if any(line.strip() for line in lines):
            shown = [line[2:] for line in lines if line.startswith("  ")]
            rest = [line for line in lines if line.strip() and not line.startswith("  ")]
            body += [".SH EXAMPLES", ".nf", escaped("\n".join(shown)), ".fi"]
            if rest:
                body += [".SH NOTES", escaped("\n".join(rest))]
    body += [".SH SEE ALSO", ",\n".join(f".BR {escaped(other)} (1)" for other in see_also)]
    return "\n".join(body) + "\n"


def main():
    tool, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    date = time.strftime("%Y-%m-%d", time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))))
    version = says(tool, "--version").split()[1]
    whole = says(tool, "--help")
    commands = [(name, summary) for name, summary in items(sections(whole)["Commands"]) if re.fullmatch("[a-z]+", name)]
    assert len(commands) >= 12, commands
    names = [f"durahash-{name}" for name, _ in commands]
    (folder / "durahash.1").write_text(
        page("durahash", "persistent hash maps that are still there after kill -9", whole, names, date, version))
    for name, summary in commands:
        # the explorer is a program of its own, which may not be there
        done = subprocess.run([tool, name, "--help"], capture_output=True, text=True, check=False)
        text = done.stdout if done.returncode == 0 else f"Usage: durahash {name}\n"
        (folder / f"durahash-{name}.1").write_text(
            page(f"durahash-{name}", summary[:1].lower() + summary[1:], text, ["durahash"], date, version))
    print(f"{1 + len(commands)} pages")


if __name__ == "__main__":
    main()
