#!/usr/bin/env python3
"""scripts/check_prose.py names sentences that are too long, and no others."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LONG = " ".join(["Word"] + ["word"] * 29)  # with one more it is too long


class CheckProse(unittest.TestCase):
    def answer(self, text):
        with tempfile.TemporaryDirectory() as made:
            pathlib.Path(made, "a.md").write_text(text)
            command = [sys.executable, ROOT / "scripts/check_prose.py", made]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            return done.returncode, done.stdout + done.stderr

    def test_what_is_short_enough(self):
        for text in (f"{LONG}.\n", f"{LONG}.\n{LONG}. `{LONG} {LONG}` {LONG[:-5]}.\n", f"- {LONG}\n- {LONG}\n",
                     f"| {LONG} | {LONG} |\n", f"# {LONG} {LONG}\n", f"```\n{LONG} {LONG}\n```\n",
                     f"    {LONG} {LONG}\n", f"{LONG}\n\n{LONG}\n", f"[a](b) `c d` {LONG[:-10]}\n"):
            with self.subTest(text=text):
                self.assertEqual(self.answer(text)[0], 0)

    def test_what_is_too_long(self):
        for text in (f"{LONG} more.\n", f"One.\n{LONG}\nmore\n", f"- One.\n- {LONG};\n  more\n", f"| a | {LONG} more |\n",
                     f"{LONG}: `{LONG}`\n", f"{LONG} (e.g. More)\n"):
            with self.subTest(text=text):
                code, told = self.answer(text)
                self.assertEqual(code, 1)
                self.assertRegex(told, r"^a\.md:\d: 3[1-3] words: Word word word word word word word word \.\.\.\n$")


if __name__ == "__main__":
    unittest.main()
