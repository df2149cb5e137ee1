"""Ctrl-C, TERM and HUP: a pool that is written is closed, and the command ends by the signal."""

import os
import random
import re
import signal
import subprocess
import time
import unittest

from harness import TOOL, ToolTest, encode

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SAME_SECONDS = 0.25  # signals that come closer are taken for one


def start(*arguments, **popen):
    options = {
        "stdin": subprocess.PIPE,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
        **popen,
    }
    return subprocess.Popen([TOOL, *map(str, arguments)], **options)


class Load(ToolTest):
    def lines(self, count, first=0, value=b"v"):
        return b"".join(b"k%d\t%s\n" % (i, value) for i in range(first, first + count))

    def is_clean_with(self, pool, records):
        facts = self.info(pool)
        self.assertEqual((facts["clean"], facts["records"]), (True, records))
        self.succeeds("check", pool)

    def test_a_loader_that_waits_for_input(self):
        for number in ENDING:
            for flags in ([], ["--sync", "1000"]):
                with self.subTest(signal=number.name, flags=flags):
                    pool = self.create(f"{number.name}{len(flags)}.dh")
                    with start("load", pool, "-", "--acks", *flags) as loading:
                        loading.stdin.write(self.lines(300) + b"k300\thalf a li")
                        loading.stdin.flush()
                        acknowledged = [loading.stdout.readline() for _ in range(300)]
                        loading.send_signal(number)
                        out, err = loading.communicate(timeout=30)
                    self.assertEqual(loading.returncode, -number, err)
                    self.assertRegex(
                        err.decode(),
                        f"^durahash load: interrupted \\({number.name}\\) behind line 300 of "
                        "standard input: 300 records written, and kept; 300 acknowledged\n$",
                    )
                    self.assertEqual(
                        acknowledged + out.splitlines(), [b"k%d\n" % i for i in range(300)]
                    )
                    self.is_clean_with(pool, 300)

    def test_a_loader_at_work(self):
        with open(self.path("records.tsv"), "wb") as file:
            file.write(self.lines(400_000, value=b"v" * 100))
        chance = random.Random(18)
        for round_ in range(6):
            pool = self.create(f"{round_}.dh", "--engine", ("turbo", "cceh", "level")[round_ % 3])
            number = chance.choice(ENDING)
            with self.subTest(round=round_, signal=number.name):
                with open(self.path("acks"), "wb") as acks, start(
                    "load", pool, self.path("records.tsv"), "--acks", stdout=acks
                ) as loading:
                    while os.stat(self.path("acks")).st_size == 0:
                        time.sleep(0.001)
                    time.sleep(chance.random() * 0.05)
                    loading.send_signal(number)
                    err = loading.communicate(timeout=60)[1].decode()
                self.assertEqual(loading.returncode, -number, err)
                told = re.search(
                    r"behind line ([0-9]+) of .*records.tsv: ([0-9,]+) records written, and kept; "
                    r"([0-9,]+) acknowledged\n$",
                    err,
                )
                self.assertTrue(told, err)
                line, written, acknowledged = (int(n.replace(",", "")) for n in told.groups())
                self.assertEqual((written, acknowledged), (line, line))
                self.assertLess(line, 400_000)
                with open(self.path("acks"), "rb") as acks:
                    self.assertEqual(
                        acks.read(), b"".join(b"k%d\n" % i for i in range(acknowledged))
                    )
                self.is_clean_with(pool, written)
                # From there it goes on.
                rest = subprocess.run(
                    ["tail", "-n", f"+{line + 1}", self.path("records.tsv")],
                    check=True,
                    capture_output=True,
                )
                self.succeeds("load", pool, "-", stdin=rest.stdout)
                self.is_clean_with(pool, 400_000)
                os.remove(pool)

    def test_signals_that_come_together_are_one(self):
        """timeout sends its signal to the process and to the group: twice."""
        pool = self.create()
        with start("load", pool, "-", "--acks") as loading:
            loading.stdin.write(self.lines(10))
            loading.stdin.flush()
            loading.stdout.readline()
            for _ in range(20):
                loading.send_signal(signal.SIGTERM)
            err = loading.communicate(timeout=30)[1]
        self.assertEqual(loading.returncode, -signal.SIGTERM, err)
        self.is_clean_with(pool, 10)
        slow = f"(cat {self.path('lines')}; sleep 60) | (timeout 1 {TOOL} load {pool} -; echo $?)"
        with open(self.path("lines"), "wb") as file:
            file.write(self.lines(20))
        with subprocess.Popen(
            ["bash", "-c", slow],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        ) as shell:
            self.assertEqual(shell.stdout.readline(), b"124\n")
            os.killpg(shell.pid, signal.SIGKILL)
        self.is_clean_with(pool, 20)

    def test_a_second_signal_ends_at_once(self):
        """Nobody reads the messages: the loader hangs, and what came first cannot be said."""
        pool = self.create()
        message_reader, message_writer = os.pipe()
        os.set_blocking(message_writer, False)
        while True:
            try:
                os.write(message_writer, b"." * 4096)
            except BlockingIOError:
                break
        os.set_blocking(message_writer, True)
        with start("load", pool, "-", stderr=message_writer) as loading:
            loading.stdin.write(self.lines(10))
            loading.stdin.flush()
            time.sleep(0.2)
            loading.send_signal(signal.SIGINT)  # closes, and waits until its message is read
            time.sleep(2 * SAME_SECONDS)
            self.assertIsNone(loading.poll())
            loading.send_signal(signal.SIGTERM)
            self.assertEqual(loading.wait(timeout=10), -signal.SIGTERM)
        os.close(message_reader)
        os.close(message_writer)
        self.is_clean_with(pool, 10)

    def test_acknowledgements_that_nobody_reads_do_not_keep_it(self):
        pool = self.create()
        with open(self.path("records.tsv"), "wb") as file:
            file.write(self.lines(200_000))
        with start("load", pool, self.path("records.tsv"), "--acks") as loading:
            loading.stdout.read(1)
            time.sleep(0.3)  # the pipe is full by now
            loading.send_signal(signal.SIGINT)
            self.assertEqual(loading.wait(timeout=30), -signal.SIGINT)
            acknowledged = loading.stdout.read().count(b"\n")
            err = loading.stderr.read().decode()
        self.assertIn("cannot write to standard output: interrupted, and nobody reads it", err)
        facts = self.info(pool)
        self.assertIs(facts["clean"], True)
        self.assertGreaterEqual(facts["records"], acknowledged)
        self.assertGreater(acknowledged, 0)

    def test_signals_that_the_caller_ignores_stay_ignored(self):
        """nohup"""
        pool = self.create()
        with start(
            "load",
            pool,
            "-",
            "--acks",
            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
        ) as loading:
            loading.stdin.write(self.lines(10))
            loading.stdin.flush()
            loading.stdout.readline()
            loading.send_signal(signal.SIGHUP)
            time.sleep(0.1)
            out, err = loading.communicate(self.lines(10, 10), timeout=30)
        self.assertEqual(loading.returncode, 0, err)
        self.is_clean_with(pool, 20)


class Others(ToolTest):
    def test_a_compaction_ends_with_a_clean_pool(self):
        whole = self.create("whole.dh")
        self.succeeds(
            "load",
            whole,
            "-",
            stdin=encode([(b"k%d" % i, b"v" * 200) for i in range(150_000)], "tsv"),
        )
        self.succeeds(
            "load",
            whole,
            "-",
            "--erase",
            stdin=b"".join(b"k%d\n" % i for i in range(0, 150_000, 3)),
        )
        ended = []
        for delay in (0.01, 0.02, 0.04, 0.06, 0.08, 0.1):
            pool = self.path("pool.dh")
            subprocess.run(["cp", whole, pool], check=True)
            with start("compact", pool) as compacting:
                time.sleep(delay)
                compacting.send_signal(signal.SIGTERM)
                err = compacting.communicate(timeout=60)[1]
            ended.append(compacting.returncode)
            self.assertIn(compacting.returncode, (0, -signal.SIGTERM), err)
            facts = self.info(pool)
            self.assertEqual(
                (facts["clean"], facts["records"]), (True, 100_000), f"after {delay} seconds"
            )
            self.succeeds("check", pool)
        self.assertIn(-signal.SIGTERM, ended)

    def test_commands_that_read_just_end(self):
        pool = self.create()
        self.succeeds(
            "load",
            pool,
            "-",
            stdin=encode([(b"k%d" % i, b"v" * 200) for i in range(100_000)], "tsv"),
        )
        for command in (
            ("dump", pool),
            ("bench", "--keys", "1M", "--path", self.path("bench.dh"), "--medium", "file"),
        ):
            for number in ENDING:
                with self.subTest(command=command[0], signal=number.name), start(
                    *command
                ) as reading:
                    if command[0] == "dump":
                        reading.stdout.read(1)
                    else:
                        time.sleep(0.2)
                    reading.send_signal(number)
                    self.assertEqual(reading.wait(timeout=10), -number)
        self.assertEqual(os.listdir(self.folder), ["pool.dh"], "bench leaves nothing behind")
        self.assertIs(self.info(pool)["clean"], True)

    def test_a_demo_that_is_interrupted_leaves_no_pool(self):
        for number in ENDING:
            with start(
                "demo",
                "--dir",
                os.path.dirname(os.__file__),
                env={**os.environ, "TMPDIR": self.folder},
            ) as demo:
                while not (line := demo.stdout.readline()).startswith(b"  pool "):
                    self.assertTrue(line)
                pool = line.split()[1].decode()
                time.sleep(0.3)
                self.assertTrue(os.path.exists(pool))
                demo.send_signal(number)
                demo.communicate(timeout=10)
            self.assertEqual(demo.returncode, -number)
            self.assertFalse(os.path.exists(pool))

    def test_a_file_that_is_cut_from_outside(self):
        """Nothing saves the process, but it says why it ends."""
        pool = self.create()
        self.succeeds(
            "load",
            pool,
            "-",
            stdin=encode([(b"k%d" % i, b"v" * 200) for i in range(10_000)], "tsv"),
        )
        with start("load", pool, "-", "--acks") as loading:
            loading.stdin.write(b"k\tv\n")
            loading.stdin.flush()
            self.assertEqual(loading.stdout.readline(), b"k\n")
            os.truncate(pool, 4096)
            err = loading.communicate(b"".join(b"k%d\tw\n" % i for i in range(10_000)), timeout=30)[
                1
            ]
        self.assertEqual(loading.returncode, -signal.SIGBUS)
        self.assertEqual(
            err,
            b"durahash: the pool's file cannot be read any more: another program has cut it short, "
            b"or the disk is broken\n",
        )

    def test_a_file_that_is_renamed_or_removed(self):
        for harm in (os.remove, lambda pool: os.rename(pool, self.path("moved.dh"))):
            pool = self.create()
            with start("load", pool, "-", "--acks") as loading:
                loading.stdin.write(b"k\tv\n")
                loading.stdin.flush()
                self.assertEqual(loading.stdout.readline(), b"k\n")
                harm(pool)
                lines = b"".join(b"k%d\t%s\n" % (i, b"v" * 200) for i in range(20_000))
                err = loading.communicate(lines, timeout=30)[1]
            self.assertEqual(loading.returncode, 0, err)
            self.assertFalse(os.path.exists(pool))
        self.assertEqual(self.info(self.path("moved.dh"))["records"], 20_001)

    def test_a_value_that_is_waited_for(self):
        pool = self.create()
        with start("put", pool, "k", "-") as putting:
            putting.stdin.write(b"half a val")
            putting.stdin.flush()
            time.sleep(0.2)
            putting.send_signal(signal.SIGINT)
            self.assertEqual(putting.wait(timeout=10), -signal.SIGINT)
        facts = self.info(pool)
        self.assertEqual((facts["clean"], facts["records"]), (True, 0))


if __name__ == "__main__":
    unittest.main()
