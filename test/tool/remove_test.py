"""durahash remove: pools, and nothing else."""
import os
import subprocess
import unittest

from harness import TOOL, ToolTest, run


class Remove(ToolTest):
    def test_pools_are_gone(self):
        first, second = self.create(), self.path("second.dh")
        self.succeeds("create", second)
        self.assertEqual(self.succeeds("remove", first, second).out.decode(), f"{first}: removed\n{second}: removed\n")
        self.assertFalse(os.path.exists(first) or os.path.exists(second))

    def test_what_cannot_be_removed_does_not_keep_the_others(self):
        text, link, none = self.path("notes.txt"), self.path("link.dh"), self.path("none.dh")
        first, held, last = self.create(), self.path("held.dh"), self.path("last.dh")
        self.succeeds("create", held)
        self.succeeds("create", last)
        with open(text, "w", encoding="utf-8") as file:
            file.write("mine")
        os.symlink(first, link)
        with subprocess.Popen([TOOL, "load", held, "-", "--acks"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL) as holder:
            holder.stdin.write(b"k\tv\n")
            holder.stdin.flush()
            self.assertEqual(holder.stdout.readline(), b"k\n")  # it has the pool open
            answer = run("remove", text, none, link, first, held, last)
            holder.stdin.close()
            self.assertEqual(holder.wait(timeout=30), 0)
        self.assertEqual(answer.code, 3)
        self.assertEqual(answer.out.decode(), f"{first}: removed\n{last}: removed\n")
        told = answer.err.decode().splitlines()
        self.assertEqual(len(told), 4, answer.err)
        for line, words in zip(told, ("notes.txt", "none.dh", "is a link", "held.dh: it is locked")):
            self.assertTrue(line.startswith("durahash remove: "), line)
            self.assertIn(words, line)
        self.assertTrue(os.path.exists(text) and os.path.exists(held))
        self.assertFalse(os.path.exists(first) or os.path.exists(last))

    def test_a_name_that_is_empty_is_told_before_anything_goes(self):
        pool = self.create()
        self.fails(2, "empty", "remove", pool, "")
        self.assertTrue(os.path.exists(pool))


if __name__ == "__main__":
    unittest.main()
