"""Files that are no pools, pools that cannot be used, and what the tool says of them."""

import contextlib
import ctypes
import os
import random
import resource
import signal
import struct
import subprocess
import unittest

from harness import ENGINES, TOOL, ToolTest, run

NOBODY = 65534


def commands(pool):
    """Every command that opens a pool, with what it needs."""
    return [("put", pool, "k", "v"), ("get", pool, "k"), ("erase", pool, "k"), ("load", pool, os.devnull), ("dump", pool),
            ("info", pool), ("info", pool, "--json"), ("check", pool), ("check", pool, "--json"), ("compact", pool)]


def writers(pool):
    return [c for c in commands(pool) if c[0] in ("put", "erase", "load", "compact")]


def xxh3(data):
    """XXH3-64 as the pool's format uses it; None where the machine has no libxxhash."""
    for name in ("libxxhash.so.0", "libxxhash.so"):
        with contextlib.suppress(OSError):
            library = ctypes.CDLL(name)
            library.XXH3_64bits.restype = ctypes.c_uint64
            library.XXH3_64bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
            return library.XXH3_64bits(data, len(data))
    return None


class NotAPool(ToolTest):
    def refused_by_all(self, path, sentence, some=commands):
        for command in some(path):
            with self.subTest(command=command[0]):
                answer = self.fails(3, f"^durahash {command[0]}: .*{sentence}", *command)
                self.assertLess(answer.err.count(b"\n"), 4, answer)

    def write(self, name, content):
        with open(self.path(name), "wb") as file:
            file.write(content)
        return self.path(name)

    def test_a_file_that_is_not_there_is_not_made(self):
        self.refused_by_all(self.path("nowhere.dh"), "nowhere.dh.*no such file.*durahash create makes a pool")
        self.assertEqual(os.listdir(self.folder), [])

    def test_a_directory(self):
        self.refused_by_all(self.folder, "directory|neither a file")

    def test_a_path_that_cannot_be_looked_at(self):
        """All of these were "no such file", whatever the system had said."""
        self.write("file", b"text")
        os.symlink("loop", self.path("loop"))
        for name, why in [
            ("n" * 300, "File name too long"),
            ("d/" * 3000, "File name too long"),
            ("loop", "Too many levels of symbolic links"),
            ("file/pool", "Not a directory"),
        ]:
            with self.subTest(why=why):
                self.refused_by_all(self.path(name), f"cannot open .*{name}: {why}")
                self.fails(
                    3,
                    f"cannot create .*{name}: {why}|cannot create .*: (it|File) exists",
                    "create",
                    self.path(name),
                )
        os.symlink("nothing", self.path("dangling"))
        self.refused_by_all(self.path("dangling"), "dangling: there is no such file")

    def test_a_folder_that_may_not_be_entered(self):
        pool = self.create("pool.dh")
        os.chmod(self.folder, 0o600)
        as_other = {"user": NOBODY, "group": NOBODY} if os.geteuid() == 0 else {}
        try:
            run("--version", **as_other)
        except PermissionError:
            self.skipTest("the tool lies where others cannot run it")
        try:
            for command in commands(pool):
                self.fails(3, "cannot open .*pool.dh: Permission denied$", *command, **as_other)
        finally:
            os.chmod(self.folder, 0o700)

    def test_messages_give_the_file_s_own_size(self):
        """They gave it in whole pages: a file of 1,221 bytes was empty."""
        self.refused_by_all(
            self.write("small", b"x" * 1221), "it has 1221 bytes, and the smallest pool has more"
        )
        self.refused_by_all(self.write("empty", b""), "it is empty \\(0 bytes\\)")
        pool = self.create()
        with open(pool, "rb") as file:
            content = file.read()
        for length in (16385, 20_001, len(content) - 1):
            self.refused_by_all(
                self.write("cut", content[:length]), f"the file has {length} bytes, and .*cut off"
            )

    def test_a_device_and_a_pipe(self):
        self.refused_by_all("/dev/null", "/dev/null: it is a character device")
        self.refused_by_all(self.folder, "Is a directory|it is a directory")
        os.mkfifo(self.path("pipe"))
        for command in commands(self.path("pipe")):
            self.fails(3, "pipe", *command, timeout=5)

    def test_an_empty_file(self):
        path = self.write("empty.dh", b"")
        self.refused_by_all(path, "empty")
        self.assertEqual(os.stat(path).st_size, 0)

    def test_another_program_s_file_is_left_as_it_was(self):
        for name, content in [("letter.txt", b"dear all,\n"), ("image", bytes(200_000)), ("noise", random.Random(1).randbytes(100_000))]:
            path = self.write(name, content)
            self.refused_by_all(path, name)
            with open(path, "rb") as file:
                self.assertEqual(file.read(), content)

    def test_a_pool_that_was_cut_off(self):
        for engine in ENGINES:
            pool = self.create(f"{engine}.dh", "--engine", engine)
            self.load(pool, {b"k%d" % i: b"v" * 100 for i in range(10_000)})
            with open(pool, "rb") as file:
                content = file.read()
            for length in (1, 8, 100, 4095, 4096, 8192, 16384, len(content) // 2, len(content) - 4096, len(content) - 1):
                with self.subTest(engine=engine, length=length):
                    self.refused_by_all(self.write("cut.dh", content[:length]), "cut.dh")

    def test_a_newer_format_is_named(self):
        pool = self.create()
        with open(pool, "r+b") as file:
            for offset in (0, 4096):  # both superblocks: docs/reference/format.md
                file.seek(offset)
                block = bytearray(file.read(184))
                self.assertEqual(block[:8], b"DURAHASH")
                if xxh3(b"") is None:
                    self.skipTest("no libxxhash to seal a superblock with")
                self.assertEqual(struct.unpack_from("<Q", block, 176)[0], xxh3(bytes(block[:176])))
                struct.pack_into("<I", block, 8, 2)
                struct.pack_into("<Q", block, 176, xxh3(bytes(block[:176])))
                file.seek(offset)
                file.write(block)
        self.refused_by_all(pool, "version is 2.*newer")

    def test_flipped_bytes_end_in_a_sentence(self):
        for engine in ENGINES:
            pool = self.create(f"{engine}.dh", "--engine", engine)
            self.load(pool, {b"key %d" % i: b"value %d" % i for i in range(300)})
            with open(pool, "rb") as file:
                content = file.read()
            chance = random.Random(7)
            root = [at for at in range(16384, 18432) if content[at]]  # the engine's
            interesting = list(range(0, 184, 8)) + list(range(8192, 9216, 64))
            for offset in chance.sample(interesting, 15) + chance.choices(root, k=5) + [chance.randrange(len(content)) for _ in range(45)]:
                damaged = bytearray(content)
                damaged[offset] ^= 1 << chance.randrange(8)
                path = self.write("flipped.dh", damaged)
                for command in (("check", path), ("dump", path), ("put", path, "k", "v")):
                    answer = run(*command)
                    self.assertIn(answer.code, (0, 1, 3), f"{engine}, byte {offset}: {command}: {answer}")
                    if answer.code == 3:
                        self.assertIn(b"durahash", answer.err)

class InUse(ToolTest):
    def test_a_pool_that_another_process_writes_is_read_and_not_written(self):
        pool = self.create()
        with subprocess.Popen([TOOL, "load", pool, "-", "--acks"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL) as holder:
            holder.stdin.write(b"k\tv\n")
            holder.stdin.flush()
            self.assertEqual(holder.stdout.readline(), b"k\n")
            reads = {"get", "dump", "info", "check"}
            for command in commands(pool):
                if command[0] in reads and "--salvage" not in command:
                    self.succeeds(*command)
                else:
                    self.fails(3, "lock|in use|another process", *command)
            holder.stdin.close()
            self.assertEqual(holder.wait(timeout=30), 0)
        self.assertEqual(self.dump(pool), {b"k": b"v"})

    def test_a_file_that_may_only_be_read_is_read(self):
        pool = self.create()
        self.succeeds("put", pool, "k", "v")
        os.chmod(self.folder, 0o755)
        os.chmod(pool, 0o444)
        as_other = {}
        if os.geteuid() == 0:  # nothing is read-only to root
            as_other = {"user": NOBODY, "group": NOBODY}
            try:
                run("--version", **as_other)
            except PermissionError:
                self.skipTest("the tool lies where others cannot run it")
        for command in writers(pool):
            self.fails(3, "read-only|[Pp]ermission denied", *command, **as_other)
        self.assertEqual(self.succeeds("get", pool, "k", **as_other).out, b"v\n")
        for command in ("dump", "info", "check"):
            self.succeeds(command, pool, **as_other)

    def test_a_folder_that_takes_no_pool(self):
        self.fails(3, "No such file", "create", self.path("no/such/folder/a.dh"))
        self.fails(3, "create", "create", "/proc/a.dh")

    def test_a_killed_process_leaves_a_pool_that_says_so_and_holds_everything(self):
        pool = self.create()
        with subprocess.Popen([TOOL, "load", pool, "-", "--acks"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL) as holder:
            holder.stdin.write(b"k\tv\n")
            holder.stdin.flush()
            self.assertEqual(holder.stdout.readline(), b"k\n")
            holder.kill()
            holder.wait()
        self.assertIs(self.info(pool)["clean"], False)
        self.assertEqual(self.succeeds("get", pool, "k").out, b"v\n")
        self.succeeds("check", pool)
        self.succeeds("put", pool, "k2", "v")
        self.assertIs(self.info(pool)["clean"], True)
        self.assertEqual(self.dump(pool), {b"k": b"v", b"k2": b"v"})

    def test_a_full_disk_loses_nothing(self):
        """A limit on file sizes stands in for the disk: growing fails, as it does there."""
        pool = self.create()
        limit = os.stat(pool).st_size + (8 << 20)

        def limit_files():
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

        lines = b"".join(b"k%d\t%s\n" % (i, b"v" * 1000) for i in range(50_000))
        done = subprocess.run([TOOL, "load", pool, "-", "--acks"], input=lines, capture_output=True, preexec_fn=limit_files, timeout=120)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertRegex(done.stderr.decode(), r"standard input:\d+: .*(room|space)")
        acknowledged = done.stdout.split()
        self.assertGreater(len(acknowledged), 1000)
        self.assertLess(len(acknowledged), 20_000)
        kept = self.dump(pool)
        self.assertEqual({k: b"v" * 1000 for k in acknowledged}, kept)
        self.succeeds("check", pool)
        # Still full: reading and erasing go on.
        done = subprocess.run([TOOL, "load", pool, "-", "--erase"], input=b"".join(k + b"\n" for k in acknowledged), capture_output=True, preexec_fn=limit_files, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.dump(pool), {})
        self.succeeds("check", pool)


if __name__ == "__main__":
    unittest.main()
