"""Help that teaches, and arguments that make no sense."""

import os
import unittest

from harness import ToolTest

COMMANDS = ["create", "put", "get", "erase", "load", "dump", "info", "metrics", "check", "inspect", "compact", "convert", "backup", "remove", "bench", "demo"]


class Help(ToolTest):
    def test_the_version(self):
        self.assertRegex(self.succeeds("--version").out.decode(), r"^durahash \d+\.\d+\.\d+\n$")

    def test_help_names_every_command_and_the_exit_codes(self):
        text = self.succeeds("--help").out.decode()
        for command in COMMANDS:
            self.assertRegex(text, rf"\n  {command} +[A-Z]")
        self.assertIn("Exit codes: 0 done; 1 not found", text)

    def test_each_command_explains_itself_with_an_example(self):
        for command in COMMANDS:
            text = self.succeeds(command, "--help").out.decode()
            self.assertRegex(text, rf"Usage: durahash {command}")
            self.assertRegex(text, rf"Examples?:\n +.*durahash {command}")

    def test_no_arguments_at_all(self):
        self.fails(2, "Commands:.*create", *[])


class Usage(ToolTest):
    def wrong(self, sentence, *arguments):
        answer = self.fails(2, sentence, *arguments)
        self.assertLessEqual(answer.err.count(b"\n"), 2, answer)

    def test_unknown_words(self):
        self.wrong("there is no command 'crate'", "crate", "a.dh")
        self.wrong("--forse is not an option of this command", "create", "a.dh", "--forse")
        self.wrong("not expected: b.dh", "create", "a.dh", "b.dh")
        self.wrong("--engine: btree not in {turbo", "create", "a.dh", "--engine", "btree")
        for option in ("--key", "--value", "--durability"):
            self.wrong(f"{option}: no not in", "create", "a.dh", option, "no")
        self.wrong("--format: xml not in", "dump", "a.dh", "--format", "xml")
        self.wrong("there is no command ''", "")

    def test_missing_arguments(self):
        for command, missing in [("create", "POOL"), ("put a.dh k", "VALUE"), ("get a.dh", "KEY"), ("erase a.dh", "KEY"),
                                 ("load a.dh", "FILE"), ("dump", "POOL"), ("info", "POOL"), ("check", "POOL"), ("inspect", "POOL"), ("compact", "POOL"), ("backup a.dh", "FILE"), ("remove", "POOL")]:
            self.wrong(f"{missing} is required", *command.split())

    def test_numbers_that_are_none(self):
        for text in ("many", "-1", "1.5", "10MB", "99999999999G"):
            self.wrong("--capacity.*not a number of records", "create", self.path("a.dh"), f"--capacity={text}")
        for text in ("name", "=1", "name=", "name=x", "="):
            self.wrong("--set.*name=number", "create", self.path("a.dh"), f"--set={text}")
        self.wrong("--set x is given twice", "create", self.path("a.dh"), "--set", "x=1", "--set", "x=2")
        for text in ("0", "100000", "x"):
            self.wrong("--batch", "load", "a.dh", "-", "--batch", text)
        for text in ("0", "1000000001", "-1", "1.5", "x", ""):
            self.wrong("--sync", "load", "a.dh", "-", f"--sync={text}")
        self.wrong("--seconds", "demo", "--seconds", "0")

    def test_a_pool_without_a_name(self):
        """An unset variable of a script."""
        for command in (
            ("create", ""),
            ("put", "", "k", "v"),
            ("get", "", "k"),
            ("erase", "", "k"),
            ("load", "", "/dev/null"),
            ("dump", ""),
            ("info", ""),
            ("check", ""),
            ("inspect", ""),
            ("compact", ""),
        ):
            self.wrong("the name of the pool is empty", *command)

    def test_bench_never_overwrites(self):
        pool = self.create()
        self.fails(
            3,
            "cannot create .*it exists",
            "bench",
            "--medium",
            "file",
            "--path",
            pool,
            "--keys",
            "10",
        )

    def test_a_setting_that_the_engine_does_not_have(self):
        self.fails(2, "colour", "create", self.path("a.dh"), "--set", "colour=1")

    def test_options_that_exclude_each_other(self):
        self.wrong("exclude", "put", "--if-absent", "--if-present", "a.dh", "k", "v")

    def test_a_key_that_looks_like_an_option(self):
        pool = self.create()
        self.wrong("write -- before a key", "put", pool, "-key", "v")
        self.succeeds("put", pool, "--", "-key", "v")

    def test_durability_that_a_plain_file_cannot_give_is_refused(self):
        self.fails(3, "power|DAX", "create", self.path("a.dh"), "--durability", "power")

    def test_a_demo_of_nothing(self):
        self.fails(2, "no files under", "demo", "--dir", self.folder, "--pool", self.path("a.dh"))
        self.assertFalse(os.path.exists(self.path("a.dh")))
        self.fails(2, "is not a directory", "demo", "--dir", self.path("nowhere"))


if __name__ == "__main__":
    unittest.main()
