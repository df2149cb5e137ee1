"""load and dump: three formats, any bytes, and lines that are no records."""

import json
import os
import shutil
import socket
import subprocess
import unittest

from harness import TOOL, WORD_MAX, ToolTest, decode, encode, hostile_strings

FORMS = ["csv", "tsv", "jsonl"]


class RoundTrip(ToolTest):
    def test_hostile_bytes_survive_every_format(self):
        strings = hostile_strings(2)
        records = dict(zip(strings, reversed(strings)))
        first = self.create("first.dh")
        self.load(first, records)
        for form in FORMS:
            with self.subTest(form=form):
                dumped = self.succeeds("dump", first, "--format", form).out
                self.assertEqual(dict(decode(dumped, form)), records)
                second = self.create(form + ".dh")
                self.succeeds("load", second, "-", "--format", form, stdin=dumped)
                again = self.succeeds("dump", second, "--format", form).out
                self.assertEqual(sorted(decode(again, form)), sorted(records.items()))
                # Byte for byte: the same text for the same record.
                self.assertEqual(sorted(frames(again, form)), sorted(frames(dumped, form)))

    def test_what_others_write_is_read(self):
        """The encoders of the test quote and escape in their own way."""
        strings = hostile_strings(3)
        records = dict(zip(strings, strings[5:] + strings[:5]))
        for form in FORMS:
            with self.subTest(form=form):
                pool = self.create(form + ".dh")
                self.load(pool, records, form)
                self.assertEqual(self.dump(pool), records)

    def test_words(self):
        records = {0: WORD_MAX, WORD_MAX: 0, 1: 1, 2**53 + 1: 2**63}
        for form in FORMS:
            with self.subTest(form=form):
                pool = self.create(form + ".dh", "--key", "u64")
                self.load(pool, records, form)
                self.assertEqual(self.dump(pool), records)
                dumped = self.succeeds("dump", pool, "--format", form).out
                other = self.create(form + "2.dh", "--key", "u64")
                self.succeeds("load", other, "-", "--format", form, stdin=dumped)
                self.assertEqual(self.dump(other), records)

    def test_a_mixed_pool(self):
        pool = self.create("mixed.dh", "--key", "bytes", "--value", "u64")
        records = {key: i for i, key in enumerate(hostile_strings(4))}
        self.load(pool, records)
        for form in FORMS:
            other = self.create(form + ".dh", "--key", "bytes", "--value", "u64")
            self.succeeds("load", other, "-", "--format", form, stdin=self.succeeds("dump", pool, "--format", form).out)
            self.assertEqual(self.dump(other), records)

    def test_large_values_and_many_records(self):
        pool = self.create()
        records = {b"big": b'",\n' * 1_000_000, b"": b"x" * 300_000}
        records.update((b"k%d" % i, b"v%d" % i) for i in range(30_000))
        for form in FORMS:
            self.load(pool, records, form)
            self.assertEqual(dict(decode(self.succeeds("dump", pool, "--format", form).out, form)), records)

    def test_tsv_is_text_whatever_the_bytes(self):
        pool = self.create()
        self.load(pool, {s: s for s in hostile_strings(5)})
        for form in ("tsv", "jsonl"):
            text = self.succeeds("dump", pool, "--format", form).out.decode("utf-8")
            self.assertFalse([c for c in text if ord(c) < 0x20 and c not in "\t\n" or c == "\x7f" and form == "tsv"])

    def test_the_format_follows_the_file_s_name(self):
        pool = self.create()
        for form in FORMS:
            with open(self.path("records." + form), "wb") as file:
                file.write(encode([(b"a\tb,c", form.encode())], form))
            self.succeeds("load", pool, self.path("records." + form))
            self.assertEqual(self.dump(pool), {b"a\tb,c": form.encode()})

    def test_headers(self):
        pool = self.create()
        self.succeeds("put", pool, "a", "1")
        self.assertEqual(self.succeeds("dump", pool, "--format", "csv", "--header").out, b"key,value\na,1\n")
        other = self.create("other.dh")
        self.succeeds("load", other, "-", "--header", stdin=self.succeeds("dump", pool, "--header").out)
        self.assertEqual(self.dump(other), {b"a": b"1"})

    def test_line_ends_empty_lines_and_byte_order_marks_of_other_systems(self):
        for form, text in [("csv", b'\xef\xbb\xbfa,1\r\n\r\n"b","2"\r\nc,3\n'), ("tsv", b"\xef\xbb\xbfa\t1\r\n\n\nb\t2\r\nc\t3\r\n"),
                           ("jsonl", b'\xef\xbb\xbf{"key":"a","value":"1"}\r\n\n{"value":"2","key":"b"}\n {"key":"c", "value":"3"}')]:
            with self.subTest(form=form):
                pool = self.create(form + ".dh")
                self.succeeds("load", pool, "-", "--format", form, stdin=text)
                self.assertEqual(self.dump(pool), {b"a": b"1", b"b": b"2", b"c": b"3"})

    def test_a_byte_order_mark_before_a_quoted_field_of_two_lines(self):
        pool = self.create()
        self.succeeds("load", pool, "-", "--format", "csv", stdin=b'\xef\xbb\xbf"a\nb",1\r\n"c",2\r\n')
        self.assertEqual(self.dump(pool), {b"a\nb": b"1", b"c": b"2"})

    def test_utf16_is_refused_and_not_taken_for_records(self):
        pool = self.create()
        for form, text in [("csv", "a,1\r\nb,2\r\n"), ("tsv", "a\t1\r\nb\t2\r\n"), ("jsonl", '{"key":"a","value":"1"}\r\n')]:
            for order in ("utf-16-le", "utf-16-be"):
                with self.subTest(form=form, order=order):
                    self.fails(2, "UTF-16.*iconv.*nothing was written", "load", pool, "-", "--format", form, stdin=("\ufeff" + text).encode(order))
        self.assertEqual(self.dump(pool), {})

    def test_keys_that_begin_as_marks_of_files_do_are_dumped_as_keys(self):
        for mark in (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"):
            for form in FORMS:
                with self.subTest(mark=mark, form=form):
                    pool = self.create(f"{mark.hex()}{form}.dh")
                    self.load(pool, {mark + b"k": b"v"})
                    other = self.create(f"{mark.hex()}{form}2.dh")
                    self.succeeds("load", other, "-", "--format", form, stdin=self.succeeds("dump", pool, "--format", form).out)
                    self.assertEqual(self.dump(other), {mark + b"k": b"v"})

    def test_a_carriage_return_that_is_of_a_record_stays(self):
        records = {b"k\r": b"v\r", b"k": b"\r\n", b"\r": b""}
        pool = self.create()
        self.load(pool, records)
        for form in FORMS:
            with self.subTest(form=form):
                other = self.create(form + ".dh")
                self.succeeds("load", other, "-", "--format", form, stdin=self.succeeds("dump", pool, "--format", form).out)
                self.assertEqual(self.dump(other), records)

    def test_the_last_of_several_records_of_a_key_stays(self):
        pool = self.create()
        self.load(pool, [(b"k", b"%d" % i) for i in range(1000)], "tsv")
        self.assertEqual(self.dump(pool), {b"k": b"999"})
        self.assertEqual(self.info(pool)["records"], 1)

    def test_an_empty_file_and_an_empty_pool(self):
        pool = self.create()
        for form in FORMS:
            self.assertRegex(self.succeeds("load", pool, "-", "--format", form).err.decode(), "0 records written")
            self.assertEqual(self.succeeds("dump", pool, "--format", form).out, b"")


class Erasing(ToolTest):
    def test_load_erase_takes_keys_or_whole_records(self):
        strings = hostile_strings(6, 100)
        for form in FORMS:
            with self.subTest(form=form):
                pool = self.create(form + ".dh")
                self.load(pool, {s: s for s in strings}, form)
                acks = self.succeeds("load", pool, "-", "--format", form, "--acks", stdin=encode([(s, s) for s in strings[:40]], form)).out
                answer = self.succeeds("load", pool, "-", "--format", form, "--erase", stdin=acks)
                self.assertRegex(answer.err.decode(), "40 erased, 0 were not there")
                answer = self.succeeds("load", pool, "-", "--format", form, "--erase", stdin=encode([(s, s) for s in strings[30:50]], form))
                self.assertRegex(answer.err.decode(), "10 erased, 10 were not there")
                self.assertEqual(self.dump(pool), {s: s for s in strings[50:]})

    def test_jsonl_mixes_writes_and_erasures_in_order(self):
        pool = self.create()
        lines = []
        for i in range(200):
            lines.append({"key": "k", "value": str(i)})
            lines.append({"key": "k", "erase": True})
            lines.append({"key": f"k{i}", "value": "v"})
        lines.append({"key": "k", "value": "last", "erase": False})
        self.succeeds("load", pool, "-", "--format", "jsonl", stdin="\n".join(map(json.dumps, lines)).encode())
        self.assertEqual(self.dump(pool), {b"k": b"last", **{b"k%d" % i: b"v" for i in range(200)}})


class Acknowledgements(ToolTest):
    def test_each_key_is_printed_in_the_file_s_order(self):
        strings = hostile_strings(7)
        for form in FORMS:
            pool = self.create(form + ".dh")
            out = self.load(pool, [(s, b"v") for s in strings], form, "--acks", "--batch", "7").out
            if form == "csv":
                self.assertEqual([row[0] for row in decode(out, form)], strings)
            elif form == "tsv":
                self.assertEqual([row[0] for row in decode(out, form)], strings)
            else:
                whole = b"".join(line[:-1] + b',"value":""}\n' for line in out.splitlines())
                self.assertEqual([row[0] for row in decode(whole, form)], strings)

    def test_acknowledgements_come_while_the_producer_waits(self):
        pool = self.create()
        with subprocess.Popen([TOOL, "load", pool, "-", "--acks"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL) as loading:
            for i in range(50):
                loading.stdin.write(b"k%d\tv\n" % i)
                loading.stdin.flush()
                self.assertEqual(loading.stdout.readline(), b"k%d\n" % i)
            loading.stdin.close()
            self.assertEqual(loading.wait(timeout=30), 0)

    def test_without_acks_nothing_goes_to_stdout(self):
        pool = self.create()
        self.assertEqual(self.load(pool, {b"k": b"v"}).out, b"")


class Syncing(ToolTest):
    """load --sync. A pool's state is on the medium as in the file, so a copy of the file shows what a power cut would find."""

    def test_a_pool_is_clean_whenever_the_loader_waits_and_only_with_sync(self):
        for flags in (["--sync", "1"], ["--sync", "10", "--batch", "3"], ["--sync", "1000000"], []):
            with self.subTest(flags=flags):
                pool = self.create(f"pool{len(flags)}{flags[1:2]}.dh")
                with subprocess.Popen([TOOL, "load", pool, "-", "--acks", *flags], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      stderr=subprocess.DEVNULL) as loading:
                    for count, first in [(1, 0), (25, 1), (10, 26)]:
                        loading.stdin.write(b"".join(b"k%d\tv\n" % i for i in range(first, first + count)))
                        loading.stdin.flush()
                        self.assertEqual([loading.stdout.readline() for _ in range(count)], [b"k%d\n" % i for i in range(first, first + count)])
                        copy = shutil.copy(pool, self.path("copy.dh"))
                        if not flags:
                            self.fails(3, "a copy of a pool that was open and not synced", "info", copy, "--json")
                            continue
                        facts = self.info(copy)
                        self.assertEqual((facts["clean"], facts["records"]), (True, first + count))
                    loading.stdin.close()
                    self.assertEqual(loading.wait(timeout=30), 0)
                self.assertEqual(self.dump(pool), {b"k%d" % i: b"v" for i in range(36)})

    def acknowledged_together(self, records, *flags):
        """How many keys each write to standard output held; and all of them."""
        pool = self.create(f"{len(os.listdir(self.folder))}.dh")
        with open(self.path("records.tsv"), "wb") as file:
            file.write(encode(records, "tsv"))
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)  # keeps writes apart
        with ours, subprocess.Popen([TOOL, "load", pool, self.path("records.tsv"), "--acks", *flags], stdout=theirs, stderr=subprocess.DEVNULL) as loading:
            theirs.close()
            packets = list(iter(lambda: ours.recv(1 << 20), b""))
            self.assertEqual(loading.wait(timeout=60), 0)
        return [packet.count(b"\n") for packet in packets], b"".join(packets)

    def test_keys_are_acknowledged_sync_by_sync(self):
        records = [(b"k%d" % i, b"v") for i in range(1050)]
        keys = b"".join(key + b"\n" for key, _ in records)
        self.assertEqual(self.acknowledged_together(records, "--sync", "100", "--batch", "7"), ([100] * 10 + [50], keys))
        self.assertEqual(self.acknowledged_together(records, "--sync", "100", "--batch", "1000"), ([100] * 10 + [50], keys))
        self.assertEqual(self.acknowledged_together(records, "--sync", "1050"), ([1050], keys))
        self.assertEqual(self.acknowledged_together(records, "--sync", "5000"), ([1050], keys))
        self.assertEqual(self.acknowledged_together(records, "--batch", "500"), ([500, 500, 50], keys))

    def test_a_file_is_not_waited_for(self):
        records = [(b"k%d" % i, b"v" * 200) for i in range(5000)]  # larger than what is read at once
        self.assertEqual(self.acknowledged_together(records, "--sync", "4000")[0], [4000, 1000])

    def test_before_a_bad_line_and_among_erasures(self):
        pool = self.create()
        done = subprocess.run([TOOL, "load", pool, "-", "--acks", "--sync", "1000"], input=b"a\t1\nb\t2\nbad\nc\t3\n", capture_output=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout), (2, b"a\nb\n"))
        lines = [{"key": "a", "erase": True}, {"key": "x", "value": "1"}, {"key": "nobody", "erase": True}]
        answer = self.succeeds("load", pool, "-", "--format", "jsonl", "--acks", "--sync", "2", stdin="\n".join(map(json.dumps, lines)).encode())
        self.assertEqual([json.loads(line)["key"] for line in answer.out.splitlines()], ["a", "x", "nobody"])
        self.assertEqual(self.dump(pool), {b"b": b"2", b"x": b"1"})


class BadLines(ToolTest):
    GOOD = {"csv": b"a,1\nb,2\n", "tsv": b"a\t1\nb\t2\n", "jsonl": b'{"key":"a","value":"1"}\n{"key":"b","value":"2"}\n'}
    BAD = {
        "csv": {b"c,3,4": "more than two fields", b"c": "key without a value", b'c"d,3': "quote inside a field",
                b'"c"d,3': "text between", b'"c,3': "never ends"},
        "tsv": {b"c\t3\t4": "more than two fields", b"c": "key without a value", b"c\t3\\": "backslash at the end",
                b"c\\q\t3": r"escape \\q has no meaning", b"c\\x4\t3": "two hexadecimal digits"},
        "jsonl": {b"c,3": "not a JSON object", b'{"key":"c"}': "key without a value", b'{"value":"3"}': 'no "key"',
                  b'{"key":"c","value":3}': "not a string", b'{"key":"c","vlaue":"3"}': '"vlaue" has no meaning',
                  b'{"key_base64":"?","value":"3"}': "not base64", b'{"key_base64":"YR==","value":"3"}': "not base64",
                  b'{"key":"c","key_base64":"Yw==","value":"3"}': "both", b'{"key":"c\xff","value":"3"}': "not a JSON object",
                  b'{"key":"c","value":"3","erase":true}': "together with a value",
                  b'{"key":"c","erase":"yes"}': '"erase" is "yes", and neither true nor false',
                  b'{"key":"c","key":"d","value":"3"}': 'the member "key" stands there twice',
                  b'{"key":"c","value":"3","value":"4"}': 'the member "value" stands there twice', b'["c","3"]': "not a JSON object",
                  b'{"key":"c","value":"3"': "not a JSON object"},
    }

    def test_a_bad_line_is_named_and_what_stood_before_it_is_kept(self):
        for form, lines in self.BAD.items():
            for number, (line, complaint) in enumerate(lines.items()):
                with self.subTest(line=line):
                    pool = self.create(f"{form}{number}.dh")
                    self.fails(2, rf"standard input:3: .*{complaint}.*2 records written, and kept", "load", pool, "-", "--format", form,
                               stdin=self.GOOD[form] + line + b"\n" + self.GOOD[form].replace(b"a", b"z"))
                    self.assertEqual(self.dump(pool), {b"a": b"1", b"b": b"2"})

    def test_lines_are_counted_as_an_editor_counts_them(self):
        pool = self.create()
        with open(self.path("r.csv"), "wb") as file:
            file.write(b'a,"1\n\n2"\n\n\nb,2\nbad\n')
        self.fails(2, "r.csv:7: ", "load", pool, self.path("r.csv"))
        self.assertEqual(self.dump(pool), {b"a": b"1\n\n2", b"b": b"2"})

    def test_what_is_no_word(self):
        for number, text in enumerate(["", " 1", "1 ", "+1", "-1", "1.0", "1e3", "0x", "0xg", "18446744073709551616", "0x10000000000000000", "x"]):
            with self.subTest(text=text):
                pool = self.create(f"{number}.dh", "--key", "u64")
                self.fails(2, ":2: .*not a 64-bit number", "load", pool, "-", "--format", "csv", stdin=f"1,1\n2,\"{text}\"\n".encode())
                self.fails(2, "key '.*' is not a 64-bit number", "put", pool, "--", text, "1")
                self.assertEqual(self.dump(pool), {1: 1})
        pool = self.create("none.dh", "--key", "u64")
        for number in (b"-1", b"1.5", b"18446744073709551616", b"null", b"true", b"[1]"):
            self.fails(2, ":1: .*not a 64-bit number.*nothing was written", "load", pool, "-", "--format", "jsonl", stdin=b'{"key":1,"value":%s}' % number)

    def test_a_key_that_is_too_long(self):
        pool = self.create()
        self.fails(2, ":2: the key is 70,000 bytes long; the longest key is 65,536.*1 record written", "load", pool, "-",
                   stdin=b"a\t1\n" + b"k" * 70_000 + b"\t2\n")
        self.assertEqual(self.dump(pool), {b"a": b"1"})

    def test_what_is_no_text_is_refused_before_it_fills_the_memory(self):
        pool = self.create()
        for form, lacks in (("csv", "comma"), ("tsv", "tab"), ("jsonl", "JSON object")):
            self.fails(
                2,
                f"/dev/zero:1: no record: its first mebibyte has no {lacks}.*nothing was written",
                "load",
                pool,
                "/dev/zero",
                "--format",
                form,
                timeout=20,
            )
        text = {
            "csv": b'"' + b"k" * 1000 + b'",' + b"v" * (3 << 20),
            "tsv": b"k" * 1000 + b"\t" + b"v" * (3 << 20),
            "jsonl": b'\xef\xbb\xbf {"key":"'
            + b"k" * 1000
            + b'","value":"'
            + b"v" * (3 << 20)
            + b'"}',
        }
        for form in FORMS:
            self.succeeds("load", pool, "-", "--format", form, stdin=text[form] + b"\n")
            self.assertEqual(self.dump(pool), {b"k" * 1000: b"v" * (3 << 20)})

    def test_the_sentence_fits_the_format(self):
        pool, ids = self.create(), self.create("ids.dh", "--key", "u64")
        self.fails(
            2,
            "a key without a value: tsv is key<TAB>value .--format tells",
            "load",
            pool,
            "-",
            stdin=b"a,1\n",
        )
        self.fails(
            2,
            "a key without a value: csv is key,value ",
            "load",
            pool,
            "-",
            "--format",
            "csv",
            stdin=b"a\t1\n",
        )
        for form, names in (("csv", b"key,value\n"), ("tsv", b"key\tvalue\n")):
            self.fails(
                2,
                "is not a 64-bit number .*--header skips a line of column names.; nothing",
                "load",
                ids,
                "-",
                "--format",
                form,
                stdin=names,
            )

    def test_a_refused_record_and_what_is_behind_it(self):
        pool = self.create("fixed.dh", "--engine", "gphash", "--set", "key_bytes=8")
        refused = "the pool does not take such a key or value: its keys have 8 bytes"
        for command in (("put", pool, "short", "v"), ("get", pool, "short"), ("erase", pool, "short")):
            self.fails(2, refused, *command)
        self.fails(2, f":1: the key 'short': {refused}\n", "load", pool, "-", stdin=b"short\tv\n")
        self.fails(
            2,
            f":2: the key 'short': {refused}; some of the 2 records behind it may have been written",
            "load",
            pool,
            "-",
            stdin=b"8 bytes.\tv\nshort\tv\n8 bytes:\tv\n8 bytes!\tv\n",
        )
        answer = self.succeeds("load", pool, "-", "--erase", stdin=b"8 bytes?\n")
        self.assertRegex(answer.err.decode(), "^0 erased, 1 was not there")

    def test_files_that_cannot_be_read(self):
        pool = self.create()
        self.fails(2, "cannot read .*nowhere.csv: No such file", "load", pool, self.path("nowhere.csv"))
        self.fails(2, "cannot read .*: Is a directory", "load", pool, self.folder)

    def test_acknowledged_is_what_was_written_before_a_bad_line(self):
        pool = self.create()
        done = subprocess.run([TOOL, "load", pool, "-", "--acks"], input=b"a\t1\nb\t2\nbad\nc\t3\n", capture_output=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout), (2, b"a\nb\n"))


def frames(text, form):
    """The records of a dump as text."""
    if form != "csv":
        return text.splitlines(keepends=True) if form == "jsonl" else text.split(b"\n")
    found, at, quoted = [], 0, False
    for i, byte in enumerate(text):
        if byte == ord('"'):
            quoted = not quoted
        elif byte == ord("\n") and not quoted:
            found.append(text[at : i + 1])
            at = i + 1
    return found


if __name__ == "__main__":
    unittest.main()
