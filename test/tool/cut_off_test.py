"""Input of durahash load that ends within a record."""

import os
import subprocess
import sys
import unittest

from harness import TOOL, ToolTest, run


class CutOff(ToolTest):
    """Input that ends within its last record: what is loaded and acknowledged is whole."""

    WHOLE = {
        "csv": b'a,1\n"b","2""3"\n',
        "tsv": b"a\t1\nb\t2\\t3\n",
        "jsonl": b'{"key":"a","value":"1"}\n{"key":"b","value":"2\\t3"}\n',
    }
    VALUE = {"csv": b'2"3', "tsv": b"2\t3", "jsonl": b"2\t3"}

    def test_cut_anywhere_the_last_record_is_whole_or_refused(self):
        for form, text in self.WHOLE.items():
            first = text.index(b"\n") + 1
            for length in range(first + 1, len(text)):
                with self.subTest(form=form, text=text[:length]):
                    pool = self.create(f"{form}{length}.dh")
                    cut = {"stdin": text[:length]}
                    command = ("load", pool, "-", "--format", form, "--acks")
                    if form == "jsonl" and length == len(text) - 1:
                        self.succeeds(*command, **cut)
                        self.assertEqual(self.dump(pool), {b"a": b"1", b"b": self.VALUE[form]})
                        continue
                    answer = run(*command, **cut)
                    self.assertEqual(answer.code, 2, answer)
                    self.assertEqual(answer.out.count(b"\n"), 1, answer)
                    self.assertRegex(
                        answer.err.decode(), "standard input:2: .*\n.*1 record written, and kept"
                    )
                    self.assertEqual(self.dump(pool), {b"a": b"1"})

    def test_the_sentence_names_the_way_out(self):
        for form, text in (
            ("csv", b"a,1\nb,2"),
            ("csv", b'a,1\nb,"2"'),
            ("csv", b"a,1\nb,2\r"),
            ("tsv", b"a\t1\nb\t2"),
        ):
            with self.subTest(text=text):
                pool = self.create(f"{form}{len(os.listdir(self.folder))}.dh")
                self.fails(
                    2,
                    "standard input:2: the last line has no line end, so its record may be cut off .--allow-unterm",
                    "load",
                    pool,
                    "-",
                    "--format",
                    form,
                    stdin=text,
                )
                self.succeeds(
                    "load", pool, "-", "--format", form, "--allow-unterminated", stdin=text
                )
                self.assertEqual(self.dump(pool), {b"a": b"1", b"b": b"2"})
                self.succeeds("load", pool, "-", "--format", form, stdin=text + b"\n")

    def test_what_is_surely_cut_off_is_refused_with_the_option_too(self):
        for form, text, why in (
            ("csv", b'a,1\nb,"2', "never ends"),
            ("csv", b"a,1\nb", "key without a value"),
            ("tsv", b"a\t1\nb", "key without a value"),
            ("tsv", b"a\t1\nb\t2\\", "backslash at the end"),
            ("jsonl", b'{"key":"a","value":"1"}\n{"key":"b","value":"2"', "not a JSON object"),
        ):
            with self.subTest(text=text):
                pool = self.create(f"{form}{len(os.listdir(self.folder))}.dh")
                self.fails(
                    2,
                    f"standard input:2: .*{why}",
                    "load",
                    pool,
                    "-",
                    "--format",
                    form,
                    "--allow-unterminated",
                    stdin=text,
                )
                self.assertEqual(self.dump(pool), {b"a": b"1"})

    def test_a_key_that_is_cut_off_erases_nothing(self):
        pool = self.create()
        self.load(pool, {b"user1": b"v", b"user17": b"v"})
        self.fails(
            2,
            "standard input:1: the last line has no line end",
            "load",
            pool,
            "-",
            "--erase",
            stdin=b"user1",
        )
        self.assertEqual(self.dump(pool), {b"user1": b"v", b"user17": b"v"})

    def test_a_producer_that_dies(self):
        """What it had not finished is not guessed at."""
        pool = self.create()
        producer = "import os, signal; os.write(1, b'a\\t1\\nb\\t22'); os.kill(os.getpid(), signal.SIGKILL)"
        done = subprocess.run(
            ["bash", "-c", f'{sys.executable} -c "{producer}" | {TOOL} load {pool} - --acks'],
            capture_output=True,
            timeout=60,
        )
        self.assertEqual((done.returncode, done.stdout), (2, b"a\n"), done.stderr)
        self.assertEqual(self.dump(pool), {b"a": b"1"})


if __name__ == "__main__":
    unittest.main()
