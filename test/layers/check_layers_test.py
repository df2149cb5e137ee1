"""The layering check finds what it is there to find: each test plants one include in a small tree of its own."""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "check_layers.py"

SOUND_TREE = {
    "include/durahash/table.hpp": '#include <vector>\n#include "durahash/status.hpp"\n',
    "include/durahash/status.hpp": "#include <cstdint>\n",
    "src/base/bits.hpp": "#include <xxhash.h>\n",
    "src/media/mapping.cpp": '#include <libpmem2.h>\n#include "base/bits.hpp"\n',
    "src/persist/pool.hpp": '#include "media/mapping.hpp"\n#include "base/bits.hpp"\n',
    "src/media/mapping.hpp": "#include <sys/mman.h>\n",
    "src/engine/concept.hpp": '#include "durahash/status.hpp"\n',
    "src/engine/turbo/find.hpp": '#include "engine/concept.hpp"\n#include "persist/pool.hpp"\n',
    "src/engine/cceh/find.hpp": '#include "engine/concept.hpp"\n',
    "src/store/open.cpp": '#include "engine/turbo/find.hpp"\n#include "durahash/table.hpp"\n',
    "bench/clock.hpp": "#include <fmt/format.h>\n",
    "tool/get.cpp": '#include <CLI/CLI.hpp>\n#include "bench/clock.hpp"\n#include <durahash/table.hpp>\n',
    "examples/embed/main.cpp": "#include <durahash/table.hpp>\n",
    "test/store/open_test.cpp": '#include <gtest/gtest.h>\n#include "persist/pool.hpp"\n#include "store/open.cpp"\n',
}


class CheckLayers(unittest.TestCase):
    def check(self, planted):
        """Runs the check over the sound tree plus `planted` ({file: text}); returns exit code and output."""
        with tempfile.TemporaryDirectory() as root:
            for name, text in {**SOUND_TREE, **planted}.items():
                path = Path(root) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            done = subprocess.run([sys.executable, str(SCRIPT), root], capture_output=True, text=True)
            return done.returncode, done.stdout + done.stderr

    def refuse(self, file, include, reason):
        code, output = self.check({file: f"// planted\n{include}\n"})
        self.assertEqual(code, 1, output)
        self.assertIn(f"{file}:2: ", output)
        self.assertIn(reason, output)
        self.assertIn(" 1 not allowed", output)

    def test_a_sound_tree_passes(self):
        code, output = self.check({})
        self.assertEqual(code, 0, output)
        self.assertIn("0 not allowed", output)

    def test_each_layer_may_not_look_up(self):
        self.refuse("src/base/planted.hpp", '#include "media/mapping.hpp"', "base may not include src/media/mapping.hpp")
        self.refuse("src/media/planted.hpp", '#include "persist/pool.hpp"', "media may not include src/persist/pool.hpp")
        self.refuse("src/persist/planted.hpp", '#include "engine/concept.hpp"', "persist may not include src/engine")
        self.refuse("src/engine/planted.hpp", '#include "engine/turbo/find.hpp"', "engine may not include src/engine/turbo")
        self.refuse("src/engine/turbo/planted.hpp", '#include "store/open.cpp"', "engine/turbo may not include src/store")

    def test_engines_never_include_a_sibling(self):
        self.refuse("src/engine/cceh/planted.hpp", '#include "engine/turbo/find.hpp"', "engine/cceh may not include")
        self.refuse("src/engine/turbo/planted.hpp", '#include "../cceh/find.hpp"', "engine/turbo may not include")

    def test_users_see_public_headers_alone(self):
        for folder in ("tool", "bench", "examples/embed", "bindings/c"):
            self.refuse(f"{folder}/planted.cpp", '#include "base/bits.hpp"', "may not include src/base/bits.hpp")
        self.refuse("tool/planted.cpp", '#include "../src/store/open.cpp"', "tool may not include src/store/open.cpp")
        self.refuse("bench/planted.cpp", '#include "tool/get.cpp"', "bench may not include tool/get.cpp")

    def test_public_headers_include_the_standard_library_alone(self):
        self.refuse("include/durahash/planted.hpp", '#include "base/bits.hpp"', "api may not include src/base/bits.hpp")
        self.refuse("include/durahash/planted.hpp", "#include <sys/mman.h>", "only the standard library")
        self.refuse("include/durahash/planted.hpp", "#include <fmt/format.h>", "may not use this library")

    def test_libraries_stay_where_they_belong(self):
        self.refuse("src/persist/planted.hpp", "#include <libpmem2.h>", "only media")
        self.refuse("src/engine/turbo/planted.hpp", "  #  include <libpmem2.h>", "only media")
        self.refuse("src/store/planted.cpp", "#include <nlohmann/json.hpp>", "only bench, tool")

    def test_an_include_that_names_no_file_is_refused(self):
        self.refuse("src/store/planted.cpp", '#include "engine/trubo/find.hpp"', "no such file")

    def test_an_unknown_folder_is_refused(self):
        code, output = self.check({"src/utilities/planted.hpp": "#include <vector>\n"})
        self.assertEqual(code, 1, output)
        self.assertIn("no layer", output)

    def test_an_empty_tree_is_no_success(self):
        with tempfile.TemporaryDirectory() as root:
            done = subprocess.run([sys.executable, str(SCRIPT), root], capture_output=True, text=True)
            self.assertEqual(done.returncode, 2)


if __name__ == "__main__":
    unittest.main()
