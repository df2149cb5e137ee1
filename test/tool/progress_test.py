"""Progress is for people: on a terminal it moves, anywhere else there is nothing."""

import os
import pty
import subprocess
import time
import unittest

from harness import TOOL, ToolTest


class Progress(ToolTest):
    def load_slowly(self, stderr):
        pool = self.create(f"{stderr}.dh")
        with subprocess.Popen([TOOL, "load", pool, "-"], stdin=subprocess.PIPE, stderr=stderr) as loading:
            for i in range(12):
                loading.stdin.write(b"k%d\tv\n" % i)
                loading.stdin.flush()
                time.sleep(0.05)
            said = loading.communicate(timeout=30)[1]
            self.assertEqual(loading.returncode, 0)
        self.assertEqual(len(self.dump(pool)), 12)
        return said

    def test_on_a_terminal_it_is_shown_and_taken_away(self):
        terminal, its_other_end = pty.openpty()
        self.load_slowly(its_other_end)
        os.close(its_other_end)
        shown = b""
        try:
            while chunk := os.read(terminal, 65536):
                shown += chunk
        except OSError:  # how the end of a terminal's output reads
            pass
        os.close(terminal)
        self.assertRegex(shown, rb"\r\x1b\[Kloading +\d+ records +\d+ records/s")
        self.assertRegex(shown, rb"\r\x1b\[K12 records written in [^\x1b]*\r\n$")

    def test_in_a_pipe_there_is_only_the_result(self):
        said = self.load_slowly(subprocess.PIPE)
        self.assertRegex(said, rb"^12 records written in [^\r\x1b]*\n$")


if __name__ == "__main__":
    unittest.main()
