#!/usr/bin/env python3
"""durahash metrics: what Prometheus reads. Its --server is tested by test/server."""
import re
import socket
import threading
import unittest

from harness import ToolTest, run


class Metrics(ToolTest):
    def test_each_pool_has_its_figures(self):
        for name, records in ("a.dh", 3), ('b "c".dh', 1):
            pool = self.path(name)
            self.succeeds("create", pool)
            for i in range(records):
                self.succeeds("put", pool, str(i), "x")
        text = self.succeeds("metrics", self.path("a.dh"), self.path('b "c".dh')).out.decode()
        for line in text.splitlines():
            self.assertRegex(line, r'^(# TYPE durahash_\w+ gauge|durahash_\w+\{pool="(\\.|[^"\\])*"\} '
                                   r'[0-9.e+-]+)$')
        self.assertEqual(len(re.findall("^# TYPE durahash_pool_records gauge$", text, re.M)), 1)
        self.assertEqual(re.findall(r'^durahash_pool_records\{pool=".*"\} (\d+)$', text, re.M),
                         ["3", "1"])
        self.assertIn('b \\"c\\".dh"', text)

    def test_nothing_named_and_nothing_there(self):
        self.assertEqual(run("metrics").code, 2)
        self.assertEqual(run("metrics", self.path("none.dh")).code, 3)
        self.assertEqual(run("metrics", "--server", "localhost").code, 2)

    def test_a_server_that_says_something_else(self):
        for said in b"-NOAUTH Authentication required.\r\n", b"$5\r\nab:c\r\r\n", b"":
            with socket.socket() as listening:
                listening.bind(("127.0.0.1", 0))
                listening.listen()

                def answer():
                    client, _ = listening.accept()
                    with client:
                        client.recv(100)
                        client.sendall(said)

                serving = threading.Thread(target=answer)
                serving.start()
                where = f"127.0.0.1:{listening.getsockname()[1]}"
                self.assertEqual(run("metrics", "--server", where).code, 3)
                serving.join()


if __name__ == "__main__":
    unittest.main()
