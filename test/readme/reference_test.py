"""docs/reference tells of every command, option, field and status that there is, and of no others; of the options of the
build and of the environment, too, and CONTRIBUTING.md of the environment of the tests."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

source_dir, tool = pathlib.Path(sys.argv[1]), sys.argv[2]
reference = source_dir / "docs/reference"
cli = (reference / "cli.md").read_text()
sections = dict(re.findall(r"^##+ (.*)\n((?:(?!##).*\n?)*)", cli, re.M))


def says(*arguments):
    return subprocess.run([tool, *arguments], capture_output=True, text=True, check=True).stdout


def options(text):
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text))


commands = re.findall(r"^  ([a-z]+) ", says("--help").split("Commands:")[1].split("\n\n")[0], re.M)
assert len(commands) >= 12, commands
for command in commands:
    if command == "crash" and not pathlib.Path(tool).with_name("durahash-crash").exists():
        continue  # the explorer is a program of its own, which not every tree builds
    listed = options("\n".join(re.findall(r"^  (?:-h,)?(--.*)$", says(command, "--help"), re.M))) - {"--help"}
    rows = "\n".join(line.split("|")[1] for line in sections.get(command, "").splitlines() if line.startswith("| `--"))
    assert command in sections or (not listed and f"| `{command} " in cli), f"cli.md has no section on {command}"
    assert options(rows) == listed, f"cli.md, {command}: {sorted(options(rows) ^ listed)} stand in one of the two alone"

with tempfile.TemporaryDirectory(prefix="durahash-reference-") as folder:
    pool = f"{folder}/a.dh"
    subprocess.run([tool, "create", pool], check=True, capture_output=True)
    for command in ("info", "check"):
        fields = set(json.loads(says(command, pool, "--json")))
        row = re.search(r"^\| `--json` \|(.*)\|$", sections[command], re.M)[1]
        assert set(re.findall(r"`(\w+)`", row)) == fields, f"cli.md, {command} --json: {fields} are the fields"

header = (source_dir / "include/durahash/status.hpp").read_text()
codes = re.findall(r"^  (\w+)(?: = 0)?,", header.split("enum class status")[1].split("};")[0], re.M)
told = re.findall(r"^\| `(\w+)` \|", (reference / "status.md").read_text(), re.M)
assert told == codes and len(codes) >= 13, f"status.md tells of {told}, and there are {codes}"

header = (source_dir / "include/durahash/options.hpp").read_text()
fields = set(re.findall(r"^  [\w:<>, ]+ (\w+) = ", header.split("struct options {")[1].split("\n};")[0], re.M))
table = (reference / "options.md").read_text().split("## Media")[0]
told = set(re.findall(r"`(\w+)`", "\n".join(line.split("|")[1] for line in table.splitlines() if line.startswith("| `"))))
assert told == fields and len(fields) >= 12, f"options.md: {sorted(told ^ fields)} stand in one of the two alone"
def first_cells(text, heading):
    """Names in the first cells of the table below a heading."""
    section = re.search(rf"^## {heading}\n((?:(?!## ).*\n)*)", text, re.M)[1]
    return set(re.findall(r"`([A-Z]\w*)", "\n".join(line.split("|")[1] for line in section.splitlines() if line.startswith("| `"))))


def sources(folders, endings):
    return [path.read_text() for folder in folders for path in sorted((source_dir / folder).rglob("*"))
            if path.suffix in endings and path.is_file()]


page = (reference / "options.md").read_text()
build_files = sources(("cmake", "bench"), {".cmake", ".txt"})
build = set(re.findall(r"^ *(?:option\(|set\()(DURAHASH_\w+)(?= \"|[^\n]* CACHE )", "\n".join(build_files), re.M))
told = first_cells(page, "Options of the build")
assert told == build and len(build) >= 15, f"options.md: {sorted(told ^ build)} are not told of, or not there"

asks = r'(?:getenv|environ\.get|environment_or|from_environment|number_from\w*)\("(DURAHASH\w*)"'
of_library = set(re.findall(asks, "\n".join(sources(("src", "tool"), {".cpp", ".hpp"}))))
told = {name for name in first_cells(page, "Environment") if name.startswith("DURAHASH") and name != "DURAHASH_MAINTAINER"}
assert told == of_library and of_library, f"options.md, environment: {sorted(told ^ of_library)}"
of_tests = set(re.findall(asks, "\n".join(sources(("test", "server", "fuzz", "bindings"), {".cpp", ".hpp", ".py"})))) - of_library
told = first_cells((source_dir / "CONTRIBUTING.md").read_text(), "Environment of the tests")
assert told == of_tests and len(of_tests) >= 15, f"CONTRIBUTING.md, environment: {sorted(told ^ of_tests)}"
print(f"{len(commands)} commands, {len(codes)} status codes, {len(fields)} options, {len(build)} of the build and "
      f"{len(of_library | of_tests)} variables of the environment are told of")
