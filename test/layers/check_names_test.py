#!/usr/bin/env python3
"""scripts/check_names.py names what is wrong in a copy of the sources that was changed."""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class CheckNames(unittest.TestCase):
    def answer(self, file="src/table/turbo/write.hpp", old="", new=""):
        with tempfile.TemporaryDirectory() as made:
            copy = pathlib.Path(made)
            for folder in ("src", "crash"):
                shutil.copytree(ROOT / folder, copy / folder)
            text = (copy / file).read_text()
            self.assertIn(old, text)
            (copy / file).write_text(text.replace(old, new, 1) if old else text)
            command = [sys.executable, ROOT / "scripts/check_names.py", copy]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            return done.returncode, done.stderr

    def test_the_sources_as_they_are(self):
        self.assertEqual(self.answer(), (0, ""))

    def test_a_flush_without_a_name(self):
        code, told = self.answer(old=', "turbo.write.slot")', new=")")
        self.assertEqual(code, 1)
        self.assertRegex(told, r"src/table/turbo/write\.hpp:\d+: this flush has no name")

    def test_a_name_that_is_given_twice(self):
        code, told = self.answer(old='"turbo.group.done"', new='"turbo.update.done"')
        self.assertEqual(code, 1)
        self.assertRegex(told, "(?m)^the fence of turbo.update.done stands at .*, src/")

    def test_an_argument_about_a_place_that_is_gone(self):
        code, told = self.answer("crash/level_subject.cpp", "the fence of level.log.undone", "the fence of level.log.gone")
        self.assertEqual((code, told), (1, "crash/level_subject.cpp speaks of the fence of level.log.gone, which no source has\n"))

    def test_a_mutant_that_nobody_tells_of_and_a_bug_without_a_mutant(self):
        code, told = self.answer(old='"no-slot-kept-empty"', new='"no-slot-is-empty"')
        self.assertEqual(code, 1)
        self.assertIn("crash/planted_bugs.cpp does not tell of no-slot-is-empty\n", told)
        self.assertIn("crash/planted_bugs.cpp tells of no-slot-kept-empty, which no source has\n", told)


if __name__ == "__main__":
    unittest.main()
