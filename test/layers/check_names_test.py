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
    def answer(self, file="src/engine/turbo/write.hpp", old="", new=""):
        with tempfile.TemporaryDirectory() as made:
            copy = pathlib.Path(made)
            for folder in ("src", "explorer", "docs"):
                shutil.copytree(ROOT / folder, copy / folder)
            text = (copy / file).read_text()
            self.assertIn(old, text)
            (copy / file).write_text(text.replace(old, new, 1) if old else text + new)
            command = [sys.executable, ROOT / "scripts/check_names.py", copy]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            return done.returncode, done.stderr

    def test_the_sources_as_they_are(self):
        self.assertEqual(self.answer(), (0, ""))

    def test_a_flush_without_a_name(self):
        code, told = self.answer(old=', "turbo.write.slot")', new=")")
        self.assertEqual(code, 1)
        self.assertRegex(told, r"src/engine/turbo/write\.hpp:\d+: this flush_in_line has no name")

    def test_a_name_that_is_given_twice(self):
        code, told = self.answer("src/engine/turbo/table.hpp", '"turbo.write.done"', '"turbo.write.payload"')
        self.assertEqual(code, 1)
        self.assertRegex(told, "(?m)^the fence of turbo.write.payload stands at .*, src/")

    def test_an_argument_about_a_place_that_is_gone(self):
        code, told = self.answer("explorer/level_subject.cpp", "the fence of level.log.undone", "the fence of level.log.gone")
        self.assertEqual((code, told), (1, "explorer/level_subject.cpp speaks of the fence of level.log.gone, which no source has\n"))

    def test_a_mutant_that_nobody_tells_of_and_a_bug_without_a_mutant(self):
        code, told = self.answer(old='"no-slot-kept-empty"', new='"no-slot-is-empty"')
        self.assertEqual(code, 1)
        self.assertIn("explorer/planted_bugs.cpp does not tell of no-slot-is-empty\n", told)
        self.assertIn("explorer/planted_bugs.cpp tells of no-slot-kept-empty, which no source has\n", told)

    def test_a_planted_bug_that_the_catalogue_does_not_tell_of(self):
        catalogue = "docs/explanation/crash-catalogue.md"
        told = self.answer(catalogue, "`cceh-a-claimed-slot`", "`the fence of cceh.write.done`")
        self.assertEqual(told, (1, f"{catalogue}: CCEH 13 does not tell of cceh-a-claimed-slot\n"))
        told = self.answer(catalogue, "| `gpu-a-copy-is-not-told` | B2 of", "| `gpu-a-copy-is-not-told` | B3 of")
        self.assertEqual(told, (1, f"{catalogue} does not tell of gpu-a-copy-is-not-told among the invariants, under B2\n"))
        told = self.answer(catalogue, "### CCEH 13\n", "### CCEH 12a\n")
        self.assertEqual(told[0], 1)
        self.assertIn(f"explorer/planted_bugs.cpp: cceh-a-claimed-slot: {catalogue} has no hole CCEH 13\n", told[1])

    def test_a_catalogue_that_speaks_of_what_no_source_has(self):
        catalogue = "docs/explanation/crash-catalogue.md"
        told = self.answer(catalogue, "`the fence of cceh.group.full`", "`the fence of cceh.group.fuller`")
        self.assertEqual(told, (1, f"{catalogue} speaks of the fence of cceh.group.fuller, which no source has\n"))

    def test_references_to_holes(self):
        self.assertEqual(self.answer(new="// holes CCEH 1,\n// CCEH 2 and GPHash 3; hole\n// X5\n"), (0, ""))
        self.assertEqual(self.answer(new="// hole CCEH 17\n"),
                         (1, "src/engine/turbo/write.hpp: docs/explanation/crash-catalogue.md has no hole CCEH 17\n"))
        self.assertEqual(self.answer(new="// as in X3\n"),
                         (1, 'src/engine/turbo/write.hpp: X3 has no "hole" in front of it\n'))


if __name__ == "__main__":
    unittest.main()
