#!/usr/bin/env python3
"""Fails on an upward #include. Data flows one way:

    tool, bench, examples, bindings -> include/durahash <- store -> engine/<engine> -> persist -> media -> base
    tool -> explorer -> engine/<engine>

Usage: check_layers.py [FOLDER]     (default: the repository this script stands in)
Exit code: 0 when every include is allowed, 1 when one is not (each is named), 2 when there is nothing to check.
"""
import re
import sys
from pathlib import Path

# Layer -> the layers its files may include, besides itself. "api" is include/durahash.
BELOW_ENGINE = {"api", "base", "media", "persist"}
ALLOWED = {
    "api": set(),
    "base": {"api"},
    "media": {"api", "base"},
    "disk": {"api", "base", "media"},
    "persist": {"api", "base", "media"},
    "warp": {"api", "base"},
    "engine": BELOW_ENGINE,  # files directly in src/engine: what the engines share
    "engine/*": BELOW_ENGINE | {"engine"},
    "engine/gphash": BELOW_ENGINE | {"engine", "warp"},
    "gpu": BELOW_ENGINE | {"engine", "engine/gphash", "warp", "store"},
    "store": BELOW_ENGINE | {"disk", "engine", "engine/*"},
    "emulated": BELOW_ENGINE | {"engine", "engine/*", "store"},
    "bench": {"api", "bench/baselines"},
    "bench/baselines": BELOW_ENGINE,  # tables that are measured beside the engines
    "tool": {"api", "bench", "bench/baselines", "explorer"},
    "examples": {"api"},
    "bindings": {"api"},
    "server": {"api"},
    "explorer": BELOW_ENGINE | {"engine", "engine/*", "store", "gpu"},
    "test": {"anything"},
    "fuzz": {"anything"},
}

# Libraries that only some layers may use: a pattern for the header's name, and the layers.
LIBRARIES = [
    (r"libpmem2", {"media"}),
    (r"xxhash\.h|xxh3\.h", {"base", "tool"}),
    (r"CLI/", {"tool"}),
    (r"(fmt|spdlog|nlohmann)/", {"tool", "bench"}),
    (r"(cuda|cub/|thrust/)", {"gpu", "engine/gphash", "warp"}),
    (r"(gtest|gmock)", set()),  # tests alone
]

SUFFIXES = {".hpp", ".cpp", ".h", ".c", ".cu", ".cuh", ".ipp"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def layer_of(path):
    """The layer of a file, from its path below the repository; None where the rules say nothing."""
    parts = path.parts
    if parts[:2] == ("include", "durahash"):
        return "api"
    if parts[0] == "src" and len(parts) > 2:
        if parts[1] == "engine" and len(parts) > 3 and parts[2] != "frame":
            return f"engine/{parts[2]}"
        return parts[1]
    if parts[:2] == ("bench", "baselines"):
        return "bench/baselines"
    return parts[0] if len(parts) > 1 and parts[0] in ALLOWED else None


def rules_of(layer):
    return ALLOWED.get(layer, ALLOWED["engine/*"] if layer.startswith("engine/") else None)


def may_include(layer, target):
    if target == layer:
        return True
    rules = rules_of(layer)
    return "anything" in rules or target in rules or (target.startswith("engine/") and "engine/*" in rules)


def resolve(root, file, name):
    """The file of ours that an include names, relative to the root, or None."""
    for folder in (file.parent, root / "include", root / "src", root):
        candidate = (folder / name).resolve()
        if candidate.is_file() and candidate.is_relative_to(root):
            return candidate.relative_to(root)
    return None


def users_of_library(name):
    """The layers that may use this library, or None where no rule names it."""
    return next((layers for pattern, layers in LIBRARIES if re.match(pattern, name)), None)


def is_standard(name):
    """A header of the C++ library, or one of the C headers that a C API needs."""
    return re.fullmatch(r"[a-z_0-9]+", name) or name in {"stdint.h", "stddef.h", "stdbool.h"}


def complaint(root, file, layer, kind, name):
    """Why this include is not allowed, or None."""
    target = resolve(root, file, name)
    if target is not None:
        target_layer = layer_of(target)
        if target_layer is None:
            return f"{target} belongs to no layer"
        if not may_include(layer, target_layer):
            return f"{layer} may not include {target} ({target_layer})"
        return None
    rules = rules_of(layer)
    if "anything" in rules:
        return None
    if kind == '"':
        return "no such file in the repository"
    users = users_of_library(name)
    if users is not None and layer not in users:
        return f"{layer} may not use this library (only {', '.join(sorted(users)) or 'tests'})"
    if layer == "api" and not is_standard(name):
        return "public headers include only the standard library and durahash/"
    return None


def sources(root):
    for top in ("include", "src", "tool", "bench", "examples", "bindings", "explorer", "test", "fuzz"):
        for path in sorted((root / top).rglob("*")):
            if path.suffix in SUFFIXES and path.is_file():
                yield path


def main(arguments):
    root = Path(arguments[0] if arguments else Path(__file__).parent.parent).resolve()
    files = includes = 0
    violations = []
    for path in sources(root):
        layer = layer_of(path.relative_to(root))
        files += 1
        if layer is None or rules_of(layer) is None:
            violations.append(f"{path.relative_to(root)}: belongs to no layer that this script knows")
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            found = INCLUDE.match(line)
            if not found:
                continue
            includes += 1
            if why := complaint(root, path, layer, *found.groups()):
                violations.append(f"{path.relative_to(root)}:{number}: {line.strip()}: {why}")
    for violation in violations:
        print(violation)
    if files == 0:
        print(f"{root}: no source files to check", file=sys.stderr)
        return 2
    print(f"layers: {files} files, {includes} includes, {len(violations)} not allowed")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
