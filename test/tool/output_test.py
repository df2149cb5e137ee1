"""Output that cannot be written: an error of its own, never a result, and never harm to a pool."""

import json
import os
import resource
import signal
import subprocess
import unittest

from harness import TOOL, ToolTest, run

BENCH = ("bench", "--keys=1k", "--workload=insert", "--repeat=1", "--no-latency")
CRASH = ("crash", "--quick", "--rounds=1", "--ops=2", "--only=turbo/u64/power", "--job=0")
LINES = b"".join(b"k%d\tv\n" % i for i in range(1000))


def closing(*descriptors):
    """A preexec_fn that starts the tool without them, as `>&-` does."""
    return lambda: [os.close(descriptor) for descriptor in descriptors]


def ignoring_sigpipe():
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)


class Output(ToolTest):
    def setUp(self):
        super().setUp()
        self.pool = self.create()
        self.succeeds("put", self.pool, "k", "v")

    def printers(self):
        """Every command that prints a result."""
        pool = self.pool
        return [
            ("get", pool, "k"),
            ("dump", pool),
            ("dump", pool, "--format", "jsonl"),
            ("info", pool),
            ("info", pool, "--json"),
            ("info", pool, "--stats"),
            ("check", pool),
            ("check", pool, "--json"),
            ("check", pool, "--salvage"),
            ("inspect", pool),
            ("inspect", pool, "--json"),
            ("compact", pool),
            ("load", pool, "-", "--acks"),
            BENCH,
            (*BENCH, "--json", "-"),
            CRASH,
            (*CRASH, "--json", "-"),
            ("--help",),
            ("--version",),
            ("load", "--help"),
        ]

    def is_told(self, answer, command, why):
        self.assertEqual(answer.code, 3, f"{command}: {answer}")
        self.assertIn(f"cannot write to standard output: {why}", answer.err.decode(), command)

    def is_whole(self):
        self.assertIs(self.info(self.pool)["clean"], True)
        self.assertTrue(json.loads(self.succeeds("check", self.pool, "--json").out)["ok"])

    def test_a_full_device(self):
        for command in self.printers():
            with self.subTest(command=command), open("/dev/full", "wb") as full:
                self.is_told(
                    run(*command, stdin=LINES, stdout=full), command, "No space left on device"
                )
                self.is_whole()

    def test_no_standard_output_at_all(self):
        for command in self.printers():
            with self.subTest(command=command):
                self.is_told(
                    run(*command, stdin=LINES, stdout=None, preexec_fn=closing(1)),
                    command,
                    "Bad file descriptor",
                )
                self.is_whole()

    def to_a_closed_pipe(self, command, **options):
        reader, writer = os.pipe()
        os.close(reader)
        with open(writer, "wb") as pipe:
            return run(*command, stdin=LINES, stdout=pipe, **options)

    def test_a_closed_pipe_where_its_signal_is_ignored(self):
        for command in self.printers():
            with self.subTest(command=command):
                answer = self.to_a_closed_pipe(
                    command, preexec_fn=ignoring_sigpipe, restore_signals=False
                )
                self.is_told(answer, command, "Broken pipe")
                self.is_whole()

    def test_a_closed_pipe_ends_a_reading_command_as_any_other(self):
        """`durahash dump pool | head -1` says nothing."""
        for command in self.printers():
            if command[0] in ("load", "compact") or "--salvage" in command:
                continue
            with self.subTest(command=command):
                answer = self.to_a_closed_pipe(command)
                self.assertEqual((answer.code, answer.err), (-signal.SIGPIPE, b""), command)

    def test_a_closed_pipe_leaves_a_pool_that_was_written_clean(self):
        answer = self.to_a_closed_pipe(("load", self.pool, "-", "--acks"))
        self.is_told(answer, "load", "Broken pipe")
        self.assertRegex(
            answer.err.decode(), "the load stopped there: .* records written, and kept"
        )
        self.is_whole()
        self.to_a_closed_pipe(("compact", self.pool))
        self.is_whole()

    def test_the_result_of_a_check_is_not_mistaken(self):
        """Exit code 1 says that something is wrong with the pool; a script deletes it then."""
        with open("/dev/full", "wb") as full:
            self.assertEqual(run("check", self.pool, stdout=full).code, 3)

    def test_messages_that_cannot_be_written_change_nothing(self):
        with open("/dev/full", "wb") as full:
            for stderr in ({"stderr": full}, {"preexec_fn": closing(2)}):
                done = subprocess.run(
                    [TOOL, "load", self.pool, "-"], input=LINES, timeout=60, **stderr
                )
                self.assertEqual(done.returncode, 0)
                self.assertEqual(self.info(self.pool)["records"], 1001)
                subprocess.run(
                    [TOOL, "create", self.path("a.dh")], check=True, timeout=60, **stderr
                )
                os.remove(self.path("a.dh"))
                done = subprocess.run(
                    [TOOL, "get", self.pool, "nokey"],
                    stdout=subprocess.DEVNULL,
                    timeout=60,
                    **stderr,
                )
                self.assertEqual(done.returncode, 1)

    def test_standard_descriptors_never_are_the_pool(self):
        """A pool opened while one is closed took its number: what is printed went into it."""
        for closed in ((0,), (1,), (2,), (1, 2), (0, 1, 2)):
            with self.subTest(closed=closed):
                for command in (
                    ("load", self.pool, "/dev/null"),
                    ("put", self.pool, "k", "v"),
                    ("load", self.pool, "-", "--acks"),
                    ("erase", self.pool, "nokey"),
                    ("put", "--if-absent", self.pool, "k", "v"),
                    ("get", self.pool, "k"),
                    ("create", self.path(f"new{closed}.dh")),
                ):
                    subprocess.run(
                        [TOOL, *command],
                        stdin=subprocess.DEVNULL,
                        preexec_fn=closing(*closed),
                        timeout=60,
                    )
                    self.is_whole()
                    self.assertEqual(self.dump(self.pool), {b"k": b"v"})
        self.fails(
            2,
            "cannot read standard input: Bad file descriptor",
            "load",
            self.pool,
            "-",
            stdin=None,
            preexec_fn=closing(0),
        )

    def test_a_limit_on_file_sizes_is_an_error_and_no_signal(self):
        def limited():
            resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

        self.load(self.pool, {b"k%d" % i: b"v" * 1000 for i in range(1000)})
        with open(self.path("dump"), "wb") as file:
            self.is_told(
                run("dump", self.pool, stdout=file, preexec_fn=limited), "dump", "File too large"
            )
        answer = run(
            "load",
            self.create("small.dh"),
            "-",
            preexec_fn=limited,
            stdin=b"".join(b"k%d\t%s\n" % (i, b"v" * 1000) for i in range(1000)),
        )
        self.assertEqual(answer.code, 3, answer)
        self.assertRegex(answer.err.decode(), r"standard input:\d+: .*(room|space)")

    def test_a_report_that_cannot_be_written(self):
        for command in (BENCH, CRASH):
            for path, why in (
                ("/dev/full", "No space left on device"),
                (self.path("no/where"), "No such file"),
                (self.folder, "Is a directory"),
            ):
                with self.subTest(command=command[0], path=path):
                    answer = run(*command, "--json", path)
                    self.assertIn(answer.code, (2, 3), answer)
                    self.assertRegex(answer.err.decode(), f"cannot write .*{path}: {why}")


if __name__ == "__main__":
    unittest.main()
