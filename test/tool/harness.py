"""What the tests of the command line share: running the tool, pools in a folder of their own, hostile bytes."""

import base64
import csv
import io
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts"))
from engines import ENGINES  # noqa: E402, F401

TOOL = os.environ.get("DURAHASH", "durahash")
WORD_MAX = 2**64 - 1
KEY_BYTES_MAX = 64 * 1024
csv.field_size_limit(2**31 - 1)


def scratch_root():
    """Memory if there is some: the tests make many small files."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


class Answer:
    """How a run of the tool ended."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def __repr__(self):
        out = b"elsewhere" if self.out is None else self.out
        return f"exit code {self.code}\nstdout: {out[:2000]!r}\nstderr: {self.err[:2000]!r}"


def run(*arguments, stdin=b"", timeout=400, stdout=subprocess.PIPE, **popen):
    arguments = [a if isinstance(a, bytes) else str(a) for a in arguments]
    done = subprocess.run([TOOL, *arguments], input=stdin, stdout=stdout, stderr=subprocess.PIPE, timeout=timeout, **popen)
    return Answer(done.returncode, done.stdout, done.stderr)


class ToolTest(unittest.TestCase):
    """A test with a folder of its own and the assertions that all of them need."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="durahash-test-", dir=scratch_root())
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def create(self, name="pool.dh", *flags):
        self.succeeds("create", self.path(name), *flags)
        return self.path(name)

    def succeeds(self, *arguments, **options):
        answer = run(*arguments, **options)
        self.assertEqual(answer.code, 0, f"{arguments}: {answer}")
        return answer

    def fails(self, code, sentence, *arguments, **options):
        """The run ends with this exit code, and says on stderr what the regular expression `sentence` asks for."""
        answer = run(*arguments, **options)
        self.assertEqual(answer.code, code, f"{arguments}: {answer}")
        self.assertRegex(answer.err.decode(), re.compile(sentence, re.DOTALL), f"{arguments}")
        self.assertEqual(answer.out, b"", f"{arguments}: a failure prints nothing on stdout")
        return answer

    def load(self, pool, records, form="jsonl", *flags):
        return self.succeeds("load", pool, "-", "--format", form, *flags, stdin=encode(records, form))

    def dump(self, pool, form="jsonl"):
        text = self.succeeds("dump", pool, "--format", form).out
        records = decode(text, form)
        self.assertEqual(len(records), len(dict(records)), "a key is dumped twice")
        return dict(records)

    def info(self, pool):
        return json.loads(self.succeeds("info", pool, "--json").out)


# The three formats once more, written from their description and not from the tool's source.

TSV_ESCAPES = {ord("t"): b"\t", ord("n"): b"\n", ord("r"): b"\r", ord("\\"): b"\\", ord("&"): b""}


def tsv_unescape(field):
    def one(match):
        text = match.group(1)
        return bytes([int(text[1:], 16)]) if text[:1] == b"x" else TSV_ESCAPES[text[0]]

    return re.sub(rb"\\(x[0-9a-f]{2}|.)", one, field)


def tsv_escape(field):
    return field.replace(b"\\", b"\\\\").replace(b"\t", b"\\t").replace(b"\n", b"\\n").replace(b"\r", b"\\r")


def json_field(name, value):
    if isinstance(value, int):
        return {name: value}
    try:
        return {name: value.decode("utf-8")}
    except UnicodeDecodeError:
        return {name + "_base64": base64.b64encode(value).decode()}


def json_value(line, name):
    if name + "_base64" in line:
        return base64.b64decode(line[name + "_base64"], validate=True)
    value = line[name]
    return value if isinstance(value, int) else value.encode("utf-8")


def as_bytes(field):
    return str(field).encode() if isinstance(field, int) else field


def encode(records, form):
    """Pairs of bytes or ints as a file."""
    records = records.items() if isinstance(records, dict) else records
    if form == "csv":
        text = io.StringIO(newline="")
        writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL)
        writer.writerows([as_bytes(f).decode("latin-1") for f in record] for record in records)
        return text.getvalue().encode("latin-1")
    if form == "tsv":
        return b"".join(b"\t".join(tsv_escape(as_bytes(f)) for f in record) + b"\n" for record in records)
    return b"".join(
        json.dumps({**json_field("key", key), **json_field("value", value)}).encode() + b"\n" for key, value in records
    )


def decode(text, form):
    """What encode was given, with words as bytes of their digits in csv and tsv."""
    if form == "csv":
        return [tuple(f.encode("latin-1") for f in row) for row in csv.reader(io.StringIO(text.decode("latin-1"), newline=""))]
    if form == "tsv":
        return [tuple(tsv_unescape(f) for f in line.split(b"\t")) for line in text.split(b"\n")[:-1]]
    return [(json_value(line, "key"), json_value(line, "value")) for line in map(json.loads, text.splitlines())]


def hostile_strings(seed, count=300):
    """Bytes that break careless formats: separators, quotes, escapes, line ends, controls, broken UTF-8, nothing."""
    pieces = [b"", b" ", b",", b'"', b'""', b"\t", b"\n", b"\r", b"\r\n", b"\\", b"\\t", b"\\x41", b"\\&", b"\0", b"\x7f", b"\xff",
              b"\xc3", b"\xc3\xa9", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xf0\x9f\x98\x80", b"\xef\xbb\xbf", b"\xe2\x80\xa8",
              b"key", b"key_base64", b"null", b"{", b"}", b"a,b", b"#", b"'", b"=1+1", b"0x10", b"-1", b"\x1b[31m", b"%s"]
    chance = random.Random(seed)
    strings = set(pieces)
    while len(strings) < count:
        length = chance.choice([1, 2, 3, 8, 9, 100])
        strings.add(b"".join(chance.choice(pieces) for _ in range(length)))
        strings.add(chance.randbytes(chance.choice([1, 7, 8, 9, 64, 1000])))
    return sorted(strings)
