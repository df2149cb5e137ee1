"""The demo on a small tree of its own: it must pass, be quick and leave nothing behind."""

import os
import re
import signal
import subprocess
import time
import unittest

from harness import TOOL, ToolTest, run


class Demo(ToolTest):
    def make_tree(self, files=1500):
        for i in range(files):
            folder = os.path.join(self.folder, "tree", f"part {i % 5}", f"{i % 31}")
            os.makedirs(folder, exist_ok=True)
            with open(os.path.join(folder, f"file\n{i}"), "wb") as file:
                file.write(b"content %d" % i * (i % 50))
        os.symlink("nowhere", os.path.join(self.folder, "tree", "link"))
        return os.path.join(self.folder, "tree")

    def test_it_survives_its_kills_and_says_so(self):
        tree = self.make_tree()
        before = leftovers()
        text = self.succeeds("demo", "--dir", tree, "--seconds", "20", "--seed", "1").out.decode()
        self.assertEqual(leftovers(), before)
        for line in [r"files +1,500 under", r"seed +1\n", r"Check +ok, [\d,]+ records", r"kills survived +(\d+)", r"0 lost, 0 wrong",
                     r"reopen after a kill +\S+ m?s median", r"lookups +[\d.]+ ?[kM]?/s", r"file +[\d.]+ [KM]iB",
                     r"Nothing that was acknowledged was lost",
                     r"durability power_buffered: no write waits|Power cuts are not shown"]:
            self.assertRegex(text, line)
        self.assertGreaterEqual(int(re.search(r"kills survived +(\d+)", text).group(1)), 5, text)

    def test_a_named_pool_is_kept_and_holds_what_the_demo_left(self):
        tree = self.make_tree()
        pool = self.path("files.dh")
        text = self.succeeds("demo", "--dir", tree, "--pool", pool, "--seconds", "20").out.decode()
        records = self.dump(pool)
        self.assertIn(f"records               {len(records):,}", text)
        part = re.search(r"Erase everything under (.*)", text).group(1)
        found = {os.path.join(folder, name).encode() for folder, _, names in os.walk(tree) for name in names}
        found.discard(os.path.join(tree, "link").encode())
        self.assertEqual(set(records), {path for path in found if not path.startswith(part.encode())})
        for path, facts in records.items():
            size, _, fingerprint, visits = facts.split()
            self.assertEqual((int(size), int(visits)), (os.stat(path).st_size, 2))
            self.assertRegex(fingerprint, rb"^[0-9a-f]{16}$")
        self.fails(3, "exists", "demo", "--dir", tree, "--pool", pool)
        self.succeeds("check", pool)

    def test_an_interrupted_demo_leaves_nothing_behind(self):
        before = leftovers()
        with subprocess.Popen([TOOL, "demo", "--dir", self.make_tree(4000)], stdout=subprocess.PIPE, start_new_session=True) as demo:
            while b"kill" not in demo.stdout.readline():
                pass
            demo.send_signal(signal.SIGINT)
            self.assertEqual(demo.wait(timeout=10), -signal.SIGINT)
            deadline = time.monotonic() + 10  # its worker dies with it
            while living_in_group(demo.pid) and time.monotonic() < deadline:
                time.sleep(0.02)
            self.assertEqual(living_in_group(demo.pid), [])
        self.assertEqual(leftovers(), before)

    def test_it_fails_loudly_when_something_acknowledged_is_lost(self):
        pool = self.path("files.dh")
        answer = run("demo", "--dir", self.make_tree(), "--pool", pool, "--sabotage")
        self.assertEqual(answer.code, 1, answer)
        lost = re.search(rb"Sabotage +the record of (.*) is erased", answer.out, re.DOTALL).group(1)
        self.assertIn(b"1 promise broken", answer.err)
        self.assertIn(lost.replace(b"\n", b"\\n") + b"': acknowledged", answer.err)
        self.assertIn(b"FAILED. The pool is kept for a look: " + pool.encode(), answer.out)
        self.assertNotIn(b"Nothing that was acknowledged was lost", answer.out)
        self.succeeds("check", pool)


def living_in_group(group):
    """Processes of a group that are not dead already and waiting to be noticed."""
    found = []
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{process}/stat") as file:
                state, _, its_group = file.read().rpartition(")")[2].split()[:3]
        except OSError:
            continue
        if int(its_group) == group and state != "Z":
            found.append(process)
    return found


def leftovers():
    return sorted(name for folder in ("/dev/shm", "/tmp", "/var/tmp") if os.path.isdir(folder) for name in os.listdir(folder) if name.startswith("durahash-demo-"))


if __name__ == "__main__":
    unittest.main()
