"""The shared library shows what durahash.h declares and bindings/c/durahash.map lists, and nothing else;
its soname has the major version; the header alone compiles as C11, C17 and C++."""
import pathlib
import re
import subprocess
import sys

source, library, c_compiler, cxx_compiler = sys.argv[1:]
header = (pathlib.Path(source) / "include/durahash/durahash.h").read_text()
listed = set(re.findall(r"^    (durahash_\w+);$", (pathlib.Path(source) / "bindings/c/durahash.map").read_text(), re.M))
declared = set(re.findall(r"DURAHASH_API[^;(]*?\b(durahash_\w+)\(", header))
assert len(declared) > 50, declared
assert declared == listed, f"in the header or in the map alone: {sorted(declared ^ listed)}"

shown = set()
for line in subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout.splitlines():
    kind, name = line.split()[-2:]
    if kind != "A":  # the version's own name
        shown.add(name.partition("@")[0])
assert shown == listed, f"shown by the library or listed alone: {sorted(shown ^ listed)}"

major = re.search(r"DURAHASH_VERSION_MAJOR (\d+)", header)[1]
dynamic = subprocess.run(["readelf", "-d", library], capture_output=True, text=True, check=True).stdout
assert f"[libdurahash.so.{major}]" in dynamic, dynamic

for compiler, language in ((c_compiler, ["-x", "c", "-std=c11"]), (c_compiler, ["-x", "c", "-std=c17"]),
                           (cxx_compiler, ["-x", "c++", "-std=c++11"]), (cxx_compiler, ["-x", "c++", "-std=c++20"])):
    subprocess.run([compiler, *language, "-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only",
                    "-I", f"{source}/include", "-"], input="#include <durahash/durahash.h>\n", text=True, check=True)
print(f"{len(shown)} functions are shown, declared and listed")
