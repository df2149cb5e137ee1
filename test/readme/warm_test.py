"""docs/howto/restart-warm.md shows examples/warm as it is, and the program finds what it wrote before."""
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

source_dir, program = pathlib.Path(sys.argv[1]), sys.argv[2]
page = (source_dir / "docs/howto/restart-warm.md").read_text()
example = (source_dir / "examples/warm/main.cpp").read_text()
assert example in re.findall(r"```cpp\n(.*?)```", page, re.S), "restart-warm.md does not show examples/warm as it is"

with tempfile.TemporaryDirectory(prefix="durahash-warm-") as folder:
    def run(records, ends_by=None):
        process = subprocess.Popen([program, f"{folder}/warm.dh"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        process.stdin.write("".join(f"key{n} value{n}\n" for n in records))
        process.stdin.flush()
        if ends_by:
            process.send_signal(ends_by)  # wherever it is: what was there before stays
        told = process.communicate()[0]
        assert process.returncode == (-ends_by if ends_by else 0), f"the program ended with {process.returncode}"
        return told

    def found():
        return int(re.fullmatch(r"open after [\d.e-]+ ms, (\d+) records\n", run([]))[1])

    run(range(1000))
    assert found() == 1000, "records of a closed pool are gone"
    run(range(1000, 200_000), signal.SIGKILL)
    assert found() >= 1000, "records of a killed process are gone"
print("restart-warm.md and examples/warm agree")
