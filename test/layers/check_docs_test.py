#!/usr/bin/env python3
"""scripts/check_docs.py names what leads nowhere in a few documents."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class CheckDocs(unittest.TestCase):
    def answer(self, **files):
        with tempfile.TemporaryDirectory() as made:
            for name, text in {"docs_a_md": "# A title\n\n## What it `is`\n", **files}.items():
                path = pathlib.Path(made, *name.rsplit("_", 1)[0].split("_")).with_suffix("." + name.rsplit("_", 1)[1])
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            command = [sys.executable, ROOT / "scripts/check_docs.py", made]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            return done.returncode, done.stdout + done.stderr

    def test_what_leads_somewhere(self):
        code, told = self.answer(README_md="[a](docs/a.md#what-it-is), `src/b.hpp`, https://x.org/docs/c.md", src_b_hpp="// docs/a.md\n")
        self.assertEqual((code, told), (0, "1 links and 2 names of files and tests lead somewhere\n"))

    def test_code_has_no_links(self):
        told = self.answer(README_md="```cpp\nstd::signal(SIGTERM, [](int) {});\n```\n[a](docs/a.md)")
        self.assertEqual(told, (0, "1 links and 0 names of files and tests lead somewhere\n"))

    def test_tests_that_documents_name(self):
        test = {"test_a_cpp": "TYPED_TEST(Suite, NameOfIt) {}"}
        for told, wrong in (("`Suite.NameOfIt` and `Suite.Name...`", ""), ("`Suite.Name`", "no test is called Suite.Name"),
                            ("`Suite.Other...`", "no test is called Suite.Other...")):
            with self.subTest(told=told):
                code, answer = self.answer(README_md=told, **test)
                self.assertEqual((code, answer if code else ""), (1, f"README.md: {wrong}\n") if wrong else (0, ""))

    def test_the_papers_sections_of_an_engine(self):
        head = "# e\n\n## The paper, section by section\n\n| paper | code | | why |\n|---|---|---|---|\n"
        for rows, wrong in (("| \u00a71 | `walk`, `e.hpp` | same | |\n", ""),
                            ("| \u00a71 | `gone` | same | |\n", "\u00a71: gone is not in src/"),
                            ("| \u00a71 | `walk` | departs | |\n", "\u00a71: departs, and no reason stands there"),
                            ("| \u00a71 | `walk` | open | |\n", '\u00a71: "open" is neither same nor departs'),
                            ("| \u00a71 | walk | same | |\n", "\u00a71: no code is named"),
                            ("| \u00a71 | `walk` |\n", "a row has not four cells: | \u00a71 | `walk` |"),
                            ("\n## More\n", 'it does not end with "The paper, section by section"')):
            with self.subTest(rows=rows):
                code, told = self.answer(**{"docs_explanation_engines_e_md": head + rows, "src_engine_e_hpp": "void walk();\n"})
                self.assertEqual((code, told if code else ""),
                                 (1, f"docs/explanation/engines/e.md: {wrong}\n") if wrong else (0, ""))

    def test_figures_are_those_recorded(self):
        table = "<!-- figures: f.json words -->\n| engine | hit |\n|---|---|\n| `e` | %d |\n"
        for figure, wrong in ((12, ""), (13, "README.md: e, hit: 13, and f.json has 12\n")):
            with self.subTest(figure=figure):
                code, told = self.answer(README_md=table % figure, f_json='{"words": {"e": {"hit": 12.4}}}')
                self.assertEqual((code, told if code else ""), (1, wrong) if wrong else (0, ""))

    def test_what_leads_nowhere(self):
        for text, wrong in (("[a](docs/b.md)", "README.md: the link docs/b.md leads nowhere"),
                            ("[a](docs/a.md#gone)", "README.md: docs/a.md#gone: no heading is called so"),
                            ("as GONE.md has it", "README.md: GONE.md is not in the repository"),
                            ("see `src/gone.hpp`", "README.md: src/gone.hpp is not in the repository")):
            with self.subTest(text=text):
                self.assertEqual(self.answer(README_md=text), (1, wrong + "\n"))


if __name__ == "__main__":
    unittest.main()
