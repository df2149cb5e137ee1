"""What makes the tool pleasant: help, suggestions, several keys, parts of a dump, completion, colours."""

import json
import os
import pty
import shutil
import subprocess
import unittest

from harness import ENGINES, TOOL, ToolTest, run


class Words(ToolTest):
    def test_help_is_a_command_too(self):
        self.assertEqual(self.succeeds("help").out, self.succeeds("--help").out)
        self.assertEqual(self.succeeds("help", "load").out, self.succeeds("load", "--help").out)
        self.fails(2, "there is no command 'lode'", "help", "lode")

    def test_the_version_has_a_short_name(self):
        self.assertEqual(self.succeeds("-V").out, self.succeeds("--version").out)

    def test_a_near_miss_is_named(self):
        for wrong, right in [("crate", "create"), ("gte", "get"), ("dmup", "dump"), ("ereas", "erase"), ("infos", "info")]:
            self.fails(2, f"no command '{wrong}': did you mean '{right}'", wrong, "a.dh")
        for wrong in ("xyzzy", "p", ""):
            self.assertNotIn(b"did you mean", self.fails(2, "no command", wrong, "a.dh").err)
        self.fails(2, "--forse is not an option", "create", "a.dh", "--forse")
        self.fails(2, "--fromat=csv is not an option of this command: did you mean --format", "dump", "a.dh", "--fromat=csv")
        self.fails(2, "--engin is.*did you mean --engine", "create", "a.dh", "--engin")


class SeveralKeys(ToolTest):
    def test_each_stands_with_its_value(self):
        pool = self.create()
        self.load(pool, {b"a": b"1", b"b": b"two\tparts", b"c": b"3"})
        self.assertEqual(self.succeeds("get", pool, "c", "a").out, b"c\t3\na\t1\n")
        self.assertEqual(self.succeeds("get", pool, "b", "b").out, b"b\ttwo\\tparts\n" * 2)
        self.assertEqual(self.succeeds("get", pool, "--raw", "a", "b", "c").out, b"1two\tparts3")
        self.assertEqual(self.succeeds("get", pool, "b").out, b"two\tparts\n")

    def test_brackets_are_no_lists(self):
        pool = self.create()
        keys = [b"[a,b]", b"[", b"]", b"[]", b"\x01[a]", b"\x01]", b"\x01\x01[]", b"[[x]]"]
        self.load(pool, {key: b"v" + key for key in keys})
        for key in keys:
            self.assertEqual(self.succeeds("get", pool, "--", key).out, b"v" + key + b"\n")
        self.assertEqual(self.succeeds("get", pool, "--raw", "--", *keys).out, b"".join(b"v" + key for key in keys))

    def test_an_absent_one_is_told_and_the_others_are_there(self):
        pool = self.create("ids.dh", "--key", "u64", "--value", "u64")
        self.load(pool, [(1, 10), (3, 30)])
        answer = run("get", pool, "1", "2", "3")
        self.assertEqual((answer.code, answer.out), (1, b"1\t10\n3\t30\n"))
        self.assertRegex(answer.err.decode(), r"^durahash get: the key 2: .*not in the table\n$")
        self.fails(2, "key 'x' is not a 64-bit number", "get", pool, "x", "1")


class PartsOfADump(ToolTest):
    def setUp(self):
        super().setUp()
        self.pool = self.create()
        self.records = {b"%s/%d" % (kind, i): b"v%d" % i for kind in (b"user", b"session") for i in range(500)}
        self.load(self.pool, self.records)

    def lines(self, *arguments):
        return self.succeeds("dump", self.pool, *arguments).out.splitlines()

    def test_limit(self):
        whole = set(self.lines())
        for limit in (0, 1, 255, 256, 257, 1000, 5000):
            some = self.lines("--limit", limit)
            self.assertEqual(len(some), min(limit, 1000))
            self.assertLessEqual(set(some), whole)
        self.fails(2, "--limit", "dump", self.pool, "--limit", "few")

    def test_prefix(self):
        users = self.lines("--prefix", "user/")
        self.assertEqual(sorted(users), sorted(k + b"\t" + v for k, v in self.records.items() if k.startswith(b"user/")))
        self.assertEqual(len(self.lines("--prefix", "user/49")), 11)
        self.assertEqual(len(self.lines("--prefix", "user/49", "--limit", "7")), 7)
        self.assertEqual(self.lines("--prefix", "nobody"), [])
        words = self.create("ids.dh", "--key", "u64", "--value", "u64")
        self.fails(2, "--prefix: the keys of this pool are 64-bit numbers", "dump", words, "--prefix", "1")

    def test_keys_alone_can_be_erased(self):
        for form in ("tsv", "csv", "jsonl"):
            keys = self.succeeds("dump", self.pool, "--keys-only", "--prefix", "session/", "--format", form).out
            self.assertEqual(keys.count(b"\n"), 500)
            self.assertNotIn(b"v1", keys)
        self.assertEqual(self.lines("--keys-only", "--header")[0], b"key")
        self.succeeds("load", self.pool, "-", "--format", "jsonl", "--erase", stdin=keys)
        self.assertEqual(self.info(self.pool)["records"], 500)


class Output(ToolTest):
    def test_counts_are_integers_in_json(self):
        pool = self.create()
        self.load(pool, {b"%d" % i: b"v" for i in range(1000)})
        text = self.succeeds("info", pool, "--json", "--stats").out.decode()
        stats = json.loads(text)["stats"]
        self.assertTrue(any(isinstance(figure, int) for figure in stats.values()), stats)
        self.assertNotRegex(text, r"\d\.0[,\n]")

    def on_a_terminal(self, *arguments, **environment):
        ours, theirs = pty.openpty()
        done = subprocess.run([TOOL, *arguments], stdout=theirs, stderr=subprocess.PIPE, env={**os.environ, "TERM": "xterm", **environment})
        os.close(theirs)
        text = b""
        try:
            while piece := os.read(ours, 4096):
                text += piece
        except OSError:  # its end
            pass
        os.close(ours)
        self.assertEqual(done.returncode, 0, done.stderr)
        return text

    def test_colours_are_for_terminals(self):
        pool = self.create()
        self.assertIn(b"\x1b[32mok\x1b[0m", self.on_a_terminal("check", pool))
        self.assertNotIn(b"\x1b", self.on_a_terminal("check", pool, NO_COLOR="1"))
        self.assertNotIn(b"\x1b", self.on_a_terminal("check", pool, TERM="dumb"))
        self.assertNotIn(b"\x1b", self.succeeds("check", pool).out)


class Completion(ToolTest):
    def complete(self, *words):
        """What bash offers for the last of the words."""
        script = self.path("completion.bash")
        with open(script, "wb") as file:
            file.write(self.succeeds("completion", "bash").out)
        line = " ".join(f"'{word}'" for word in ("durahash", *words))
        done = subprocess.run(["bash", "-c", f"source {script}; COMP_WORDS=({line}); COMP_CWORD={len(words)}; _durahash; printf '%s\\n' \"${{COMPREPLY[@]}}\""],
                              capture_output=True, text=True, cwd=self.folder, check=True)
        self.assertEqual(done.stderr, "")
        return done.stdout.split()

    def test_bash(self):
        self.assertIn("create", self.complete("cr"))
        self.assertTrue(all(word.startswith("cr") for word in self.complete("cr")))
        self.assertIn("dump", self.complete(""))
        self.assertEqual(self.complete("dump", "a.dh", "--k"), ["--keys-only"])
        self.assertEqual(sorted(self.complete("create", "--engine", "")), sorted(ENGINES))
        self.assertEqual(self.complete("create", "--engine", "cc"), ["cceh"])
        self.assertEqual(self.complete("create", "--capacity", "1"), [])
        self.assertEqual(self.complete("help", "lo"), ["load"])
        self.assertEqual(self.complete("completion", "z"), ["zsh"])
        self.create("some-pool.dh")
        self.assertEqual(self.complete("get", "some"), ["some-pool.dh"])

    def test_each_shell_takes_its_script(self):
        self.fails(2, "neither bash nor zsh nor fish", "completion", "tcsh")
        for shell in ("bash", "zsh", "fish"):
            text = self.succeeds("completion", shell).out
            for word in (b"create", b"keys-only", b"salvage"):
                self.assertIn(word, text)
            if shutil.which(shell) is None:
                print(f"completion: no {shell} here, its script was not tried")
                continue
            done = subprocess.run([shell, "-n"], input=text, capture_output=True)
            self.assertEqual((done.returncode, done.stderr), (0, b""))


if __name__ == "__main__":
    unittest.main()
