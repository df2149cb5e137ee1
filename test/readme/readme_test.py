"""The README shows what is there: its program is examples/quickstart, and it does what the README says. Its other
snippets of C++ are statements that compile."""
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

source_dir, program, compiler = pathlib.Path(sys.argv[1]), *sys.argv[2:]
readme = (source_dir / "README.md").read_text()
example = (source_dir / "examples/quickstart/main.cpp").read_text()

snippets = re.findall(r"```cpp\n(.*?)```", readme, re.S)
assert example in snippets, "README.md does not show examples/quickstart/main.cpp as it is"

for snippet in snippets:
    if snippet == example:
        continue
    lines = snippet.splitlines()
    includes = [line for line in lines if line.startswith("#include")]
    statements = [line for line in lines if not line.startswith("#include")]
    source = "\n".join([*includes, "void snippet() {", *statements, "}"])
    compiled = subprocess.run([compiler, "-std=c++20", "-fsyntax-only", f"-I{source_dir}/include", "-x", "c++", "-"],
                              input=source, capture_output=True, text=True)
    assert includes and compiled.returncode == 0, f"README.md: this does not compile:\n{snippet}\n{compiled.stderr}"

shown = re.search(r"```\n\$ ./quickstart\n(.*?)```", readme, re.S).group(1)
expected = [line for line in shown.splitlines() if line.startswith("this program")]
assert len(expected) >= 2, "README.md shows no runs of the example"

with tempfile.TemporaryDirectory(prefix="durahash-readme-") as folder:
    printed = []
    for _ in expected:
        run = subprocess.run([program, f"{folder}/visits.dh"], capture_output=True, text=True)
        assert run.returncode == -signal.SIGKILL, f"the example ended with {run.returncode}: {run.stderr}"
        printed += run.stdout.splitlines()
    assert printed == expected, f"README.md shows {expected}, and the example prints {printed}"
print("README.md and examples/quickstart agree")
