"""Options that are numbers: what is none, or makes no sense, is refused with a sentence."""

import unittest

from harness import ToolTest

NO_COUNTS = (
    "nan",
    "inf",
    "-1",
    "1e6",
    "1.5",
    "0xg",
    "k",
    " 1",
    "1 ",
    "18446744073709551616",
    "20000000000G",
)
NO_DECIMALS = (
    "nan",
    "-nan",
    "inf",
    "-inf",
    "infinity",
    "-1",
    "-0.5",
    "1e400",
    "0.5x",
    "x",
    " 1",
    "1 ",
    "1,5",
    "0x1",
)
ONE_PASS = ("--keys=1k", "--ops=1k", "--repeat=1", "--no-latency", "--json=-")


class Bench(ToolTest):
    def refused(self, option, values, sentence, *arguments):
        for value in values:
            with self.subTest(option=option, value=value):
                self.fails(
                    2,
                    f"^durahash bench: {option} {value} is not {sentence}",
                    "bench",
                    *arguments,
                    f"{option}={value}",
                    timeout=10,
                )

    def test_a_theta_that_is_no_number_or_absurd(self):
        """`--theta nan` passed the check of the range, and a run of ycsb-c never ended."""
        self.refused(
            "--theta",
            (*NO_DECIMALS, "5.1", "1e9"),
            "a number from 0 to 5",
            *ONE_PASS,
            "--workload=ycsb-c",
        )
        for value in ("0", "0.5", "1", "1e0", "5"):
            self.succeeds("bench", *ONE_PASS, "--workload=ycsb-c", f"--theta={value}", timeout=60)

    def test_counts(self):
        for option in (
            "keys",
            "ops",
            "threads",
            "batch",
            "seed",
            "repeat",
            "flush-latency",
            "block-latency",
            "read-latency",
            "address-space-gib",
        ):
            with self.subTest(option=option):
                given = [word for word in ONE_PASS if not word.startswith(f"--{option}=")]
                self.refused(
                    f"--{option}", NO_COUNTS, "a whole number from ", *given, "--workload=insert"
                )

    def test_counts_that_this_run_does_not_use(self):
        """A typing error is told where the option has no effect, too."""
        for option in ("limits-mib", "key-bytes", "value-bytes"):
            self.refused(
                f"--{option}", NO_COUNTS, "a whole number from ", *ONE_PASS, "--workload=insert"
            )

    def test_more_keys_than_there_is_memory_for(self):
        for memory in ([], ["--medium=file", "--path=" + self.path("bench.dh")]):
            self.fails(
                2,
                "^durahash bench: --keys 1000G needs at least .* and there are ",
                "bench",
                "--keys=1000G",
                "--workload=insert",
                *memory,
                timeout=10,
            )
            self.fails(
                2,
                "--keys 1G needs at least .* and there are ",
                "bench",
                "--keys=1G",
                "--key=bytes",
                "--value-bytes=1000000",
                "--workload=insert",
                *memory,
                timeout=10,
            )


class Others(ToolTest):
    def test_load(self):
        for option, most in (("--batch", "65,536"), ("--sync", "1,000,000,000")):
            for value in (*NO_COUNTS, "0", "2000000000"):
                with self.subTest(option=option, value=value):
                    self.fails(
                        2,
                        f"^durahash load: {option} {value} is not a whole number from 1 to {most}",
                        "load",
                        self.path("none.dh"),
                        "-",
                        f"{option}={value}",
                    )

    def test_a_leading_zero_does_not_make_it_octal(self):
        pool = self.create()
        lines = b"".join(b"k%d\tv\n" % i for i in range(10))
        self.succeeds("load", pool, "-", "--batch=010", stdin=lines)
        self.fails(2, "--batch 08k", "load", pool, "-", "--batch=08kk")
        self.succeeds("load", pool, "-", "--batch=08", stdin=lines)

    def test_demo(self):
        for value in (*NO_DECIMALS, "0", "0.99", "3601"):
            with self.subTest(value=value):
                self.fails(
                    2,
                    f"^durahash demo: --seconds {value} is not a number from 1 to 3600",
                    "demo",
                    "--dir",
                    self.path("nowhere"),
                    f"--seconds={value}",
                    timeout=10,
                )
        for value in NO_COUNTS:
            with self.subTest(value=value):
                self.fails(
                    2,
                    f"^durahash demo: --seed {value} is not a whole number",
                    "demo",
                    "--dir",
                    self.path("nowhere"),
                    f"--seed={value}",
                    timeout=10,
                )

    def test_crash(self):
        arguments = (
            "crash",
            "--quick",
            "--rounds=1",
            "--ops=2",
            "--only=turbo/u64/power",
            "--job=0",
        )
        for value in NO_COUNTS:
            with self.subTest(value=value):
                self.fails(
                    2,
                    f"^durahash crash: --keep {value} is not a whole number",
                    *arguments,
                    f"--keep={value}",
                )
        self.fails(2, "--keep x is not a whole number", *arguments, "--keep=0,x")

    def test_create(self):
        for value in NO_COUNTS:
            with self.subTest(value=value):
                self.fails(
                    2,
                    f"--capacity {value} is not a number of records",
                    "create",
                    self.path("a.dh"),
                    f"--capacity={value}",
                )
                self.fails(
                    2,
                    f"--set shards={value} is not of the form name=number",
                    "create",
                    self.path("a.dh"),
                    f"--set=shards={value}",
                )


if __name__ == "__main__":
    unittest.main()
