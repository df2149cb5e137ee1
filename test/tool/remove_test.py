"""durahash remove: pools, and nothing else."""
import os
import unittest

from harness import ToolTest


class Remove(ToolTest):
    def test_pools_are_gone(self):
        first, second = self.create(), self.path("second.dh")
        self.succeeds("create", second)
        self.assertEqual(self.succeeds("remove", first, second).out.decode(), f"{first}: removed\n{second}: removed\n")
        self.assertFalse(os.path.exists(first) or os.path.exists(second))

    def test_it_stops_at_what_is_no_pool(self):
        text, pool = self.path("notes.txt"), self.create()
        with open(text, "w", encoding="utf-8") as file:
            file.write("mine")
        self.fails(3, "notes.txt", "remove", text, pool)
        self.assertTrue(os.path.exists(text) and os.path.exists(pool))


if __name__ == "__main__":
    unittest.main()
