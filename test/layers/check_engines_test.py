#!/usr/bin/env python3
"""scripts/check_engines.py names what an engine lacks in a copy of the sources that was changed."""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "scripts"))
from engines import ENGINES  # noqa: E402

LISTED = "src/store/engine_list.hpp"


class CheckEngines(unittest.TestCase):
    def setUp(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.copy = pathlib.Path(made.name)
        for folder in ("src", "include", "tool", "explorer", "fuzz", "docs/reference", "docs/explanation",
                       "test/format", "test/store"):
            shutil.copytree(ROOT / folder, self.copy / folder, ignore=shutil.ignore_patterns("golden"))

    def change(self, file, old, new):
        text = (self.copy / file).read_text()
        self.assertIn(old, text)
        (self.copy / file).write_text(text.replace(old, new))

    def told(self):
        command = [sys.executable, ROOT / "scripts/check_engines.py", self.copy]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1 if done.stderr else 0)
        return done.stderr

    def test_the_sources_as_they_are(self):
        self.assertEqual(self.told(), "")

    def test_a_line_in_the_list_is_not_an_engine(self):
        self.change(LISTED, "each(gphash)", "each(gphash) each(btree)")
        told = self.told()
        self.assertEqual(told.count("the engine btree has not got"), 14, told)

    def test_each_part_that_is_forgotten(self):
        for file, old, new, what in (
                ("include/durahash/options.hpp", "level = 3", "lever = 3", "its number"),
                ("src/store/engine_level.cpp", "level_engine", "other_engine", "its instantiation"),
                ("explorer/level_subject.cpp", "level_subject()", "other()", "its explorer subject"),
                ("explorer/planted_bugs.cpp", "{engine_kind::level}", "every_engine", "a mutant of its own"),
                ("docs/explanation/engines/level.md", "\n## ", "\n# ", "its document"),
                ("docs/reference/format.md", "\n## Level\n", "\n## Other\n", "a section with its bytes"),
                ("docs/reference/cli.md", "`level`", "`other`", "its name"),
                ("docs/reference/options.md", "| level |", "| other |", "its settings"),
                ("test/format/read_pool.py", "LEVEL: ", "OTHER: ", "a reader of its bytes")):
            with self.subTest(file=file):
                as_it_was = (self.copy / file).read_text()
                self.change(file, old, new)
                self.assertIn(f"{file}: the engine level has not got {what} there\n", self.told())
                (self.copy / file).write_text(as_it_was)

    def test_a_table_that_does_everything(self):
        self.change("src/engine/level/table.hpp", "\n private:\n", "\n private:\n" + "  void one_more();\n" * 10)
        self.assertRegex(self.told(), r"src/engine/level/table.hpp: 15\d lines of code, 150 at most")

    def test_another_list(self):
        kinds = [f"engine_kind::{name}" for name in ENGINES]
        for added in (str(ENGINES), ",\n    ".join(kinds), ", ".join(ENGINES[:-1]) + " or " + ENGINES[-1]):
            with self.subTest(added=added):
                file = self.copy / "test/store/planted.cpp"
                file.write_text(added)
                self.assertEqual(self.told(), f"test/store/planted.cpp:1 lists the engines once more: {LISTED} is "
                                              "the one list\n")


if __name__ == "__main__":
    unittest.main()
