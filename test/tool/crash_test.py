"""`durahash crash`: what its report says, what it refuses, and that what it finds is found again."""

import json
import os
import shlex
import shutil
import subprocess
import unittest

from harness import TOOL, ToolTest, run

SMALL = ("--quick", "--rounds", "1", "--schedules", "20")
FIGURES = ("cuts", "images", "unique_images", "recoveries", "nested", "facts_checked")


class Report(ToolTest):
    def report(self, code, *arguments):
        answer = run("crash", *arguments, "--json", "-")
        self.assertEqual(answer.code, code, f"{arguments}: {answer}")
        return json.loads(answer.out)

    def test_the_report_has_the_fields_that_others_read(self):
        told = self.report(0, *SMALL, "--seed", "3", "--ops", "10", "--no-elisions", "--only", "u64")
        self.assertEqual(told["engine"], "turbo")
        self.assertEqual(told["seed"], 3)
        self.assertGreater(told["seconds"], 0)
        self.assertEqual(told["violations"], [])
        self.assertEqual(told["elisions"], {"planted": 0, "caught": 0, "equivalent": 0})
        for name in (*FIGURES, "programs", "threaded", "schedules", "traces", "gone_on", "killed"):
            self.assertIsInstance(told[name], int, name)
            self.assertGreater(told[name], 0, name)
        self.assertEqual(told["unique_images"], told["recoveries"] + told["pruned"])
        self.assertLessEqual(told["unique_images"], told["images"])
        self.assertLessEqual(told["exhausted"], told["threaded"])
        self.assertLessEqual(told["traces"], told["schedules"])
        for place in told["commit_points"]:
            self.assertGreater(place["kept"] + place["lost"], 0, place)

    def test_the_same_seed_gives_the_same_figures_in_text_and_in_a_file(self):
        arguments = ("--quick", "--rounds", "1", "--schedules", "4", "--ops", "6", "--no-elisions", "--only", "bytes/power")
        once = self.report(0, *arguments, "--seed", "3")
        answer = self.succeeds("crash", *arguments, "--seed", "3", "--json", self.path("report.json"))
        with open(self.path("report.json"), encoding="utf-8") as file:
            again = json.load(file)
        for name in FIGURES:
            self.assertIn(f"{once[name]:,}", answer.out.decode(), name)
        del once["seconds"], again["seconds"]
        self.assertEqual(once, again)
        other = self.report(0, *arguments, "--seed", "4")
        self.assertNotEqual([once[name] for name in FIGURES], [other[name] for name in FIGURES])

    def found_without(self, left_out):
        """The violation of a run without that, and its name; nothing where the run does not show any."""
        answer = run("crash", *SMALL, "--ops", "40", "--threads", "1", "--only", "turbo/u64/power", "--without", left_out, "--json", "-")
        violations = json.loads(answer.out)["violations"]
        self.assertEqual(answer.code, 1 if violations else 0, answer)
        return (violations[0], left_out) if violations else None

    def test_what_is_left_out_is_listed_and_what_it_loses_is_found_again(self):
        answer = run("crash", *SMALL, "--ops", "40", "--threads", "1", "--only", "turbo/u64/power", "--json", "-")
        told = json.loads(answer.out)
        matrix, count = told["elision_matrix"], told["elisions"]
        self.assertEqual(told["violations"], [])
        self.assertGreater(count["planted"], 10)
        self.assertEqual(count["planted"], len(matrix))
        self.assertEqual(count["caught"], sum(line["caught"] for line in matrix))
        noticed = count["caught"] + count["equivalent"] == count["planted"]
        self.assertEqual(answer.code, 0 if noticed else 1, "what nobody noticed is a failure")
        for kind in ("the flush of turbo.", "the fence of turbo."):
            tried = (line["left_out"] for line in matrix if line["caught"] and line["left_out"].startswith(kind))
            found = (self.found_without(left_out) for left_out in tried)  # what several rounds show, the first may not
            lost, left_out = next(answer for answer in found if answer)
            with self.subTest(left_out=left_out):
                self.assertIn("the crash: after event", lost["report"])
                replay = shlex.split(lost["replay"])
                self.assertEqual(replay[:2], ["durahash", "crash"])
                self.assertIn("--keep", replay, "the program was made smaller")
                self.assertEqual(self.report(1, *replay[2:])["violations"][0], lost)
                whole = [word for word in replay[2:] if word not in ("--without", left_out)]
                self.assertEqual(self.report(0, *whole)["violations"], [], "it was what was left out")

    def test_each_planted_bug_is_found_and_its_witness_is_the_exploration_that_found_it(self):
        told = self.report(0, "--mutants", "--quick", "--seed", "90210")
        self.assertGreater(told["mutants"]["planted"], 10)
        self.assertEqual(told["mutants"]["planted"], told["mutants"]["caught"])
        planted = {line["planted"]: line for line in told["mutation_matrix"]}
        bug = planted["the-mirror-before-the-medium"]
        self.assertRegex(bug["witness"], r"^turbo/u64/power/.*threads#\d+\.\d+$")
        lost = self.report(1, *SMALL, "--plant", "a-key-that-means-empty", "--only", "turbo/u64/power", "--threads", "1")
        first = lost["violations"][0]
        replay = shlex.split(first["replay"])
        self.assertIn("--plant", replay)
        self.assertEqual(self.report(1, *replay[2:])["violations"][0], first)


class Witnesses(ToolTest):
    def test_every_elision_is_caught_at_a_seed_that_no_witness_was_found_with(self):
        answer = run("crash", "--engine", "all", "--witnesses", "--quick", "--seed", "90210", "--json", "-")
        self.assertEqual(answer.code, 0, answer)
        for told in json.loads(answer.out):
            with self.subTest(engine=told["engine"]):
                self.assertEqual(told["seed"], 90210)
                self.assertEqual(told["programs"], 0, "no program but the witnesses was explored")
                self.assertGreater(told["elisions"]["planted"], 20)
                noticed = told["elisions"]["caught"] + told["elisions"]["equivalent"]
                self.assertEqual(noticed, told["elisions"]["planted"])
                for line in told["elision_matrix"]:
                    self.assertTrue(line["caught"] or line["argument"], line)

    def test_every_planted_bug_is_caught_at_a_seed_that_no_witness_was_found_with(self):
        answer = run("crash", "--engine", "all", "--mutants", "--witnesses", "--quick", "--seed", "90210", "--json", "-")
        for told in json.loads(answer.out):
            with self.subTest(engine=told["engine"]):
                stale = [line["planted"] for line in told["mutation_matrix"] if not line["caught"]]
                self.assertEqual(stale, [], "their witnesses do not show them any more")
                self.assertGreater(told["mutants"]["planted"], 10)
        self.assertEqual(answer.code, 0, answer)


class Started(ToolTest):
    def test_a_tool_without_its_explorer_says_how_to_build_it(self):
        alone = self.path("durahash")
        shutil.copy(TOOL, alone)
        for arguments in ((), ("--help",), ("--engine", "turbo")):
            done = subprocess.run([alone, "crash", *arguments], capture_output=True, check=False)
            self.assertEqual((done.returncode, done.stdout), (3, b""))
            self.assertIn(b"durahash-crash is not there", done.stderr)
            self.assertIn(b"`make explorer` builds it", done.stderr)

    def test_the_explorer_started_by_itself_takes_the_same_arguments(self):
        explorer = os.path.join(os.path.dirname(TOOL), "durahash-crash")
        done = subprocess.run([explorer, "--help"], capture_output=True, check=False)
        self.assertEqual(done.stdout, self.succeeds("crash", "--help").out)


class Refused(ToolTest):
    def test_arguments_that_cannot_be_meant(self):
        for option, low, high in (("--ops", "0", "501"), ("--threads", "0", "5"), ("--rounds", "0", "1000001"), ("--schedules", "0", "100000001"),
                                  ("--images", "-1", "2T"), ("--seed", "-1", "18446744073709551616"), ("--job", "-1", "1000001")):
            for value in (low, high, "many", "1.5"):
                with self.subTest(option=option, value=value):
                    self.fails(2, f"^durahash crash: {option} {value} is not a whole number from ", "crash", f"{option}={value}")
        self.fails(2, "^durahash crash: the engine hash is not in this build's explorer", "crash", "--engine", "hash")
        self.fails(2, "^durahash crash: --only trees: no kind of table has that in its name", "crash", "--only", "trees")
        self.fails(2, "--quick.*--deep|--deep.*--quick", "crash", "--quick", "--deep")

    def test_what_is_to_be_left_out_has_a_name_of_the_matrix(self):
        self.fails(2, '^durahash crash: --without a flush: the elision matrix names such things as "the flush of ', "crash", "--without", "a flush")
        self.fails(2, "--without the flush of turbo.step.1: nothing that the programs did is called so",
                   "crash", *SMALL, "--ops", "2", "--only", "turbo/u64/power", "--no-elisions", "--without", "the flush of turbo.step.1")

    def test_operations_are_kept_of_one_program_of_one_thread(self):
        self.fails(2, "--keep tells operations of one job's program: it needs --job", "crash", "--keep", "1")
        self.fails(2, "--keep: this job's programs are of several threads", "crash", "--only", "threads", "--job", "0", "--keep", "1")

    def test_a_report_that_cannot_be_written(self):
        missing = self.path("no/such/folder/report.json")
        self.fails(2, "cannot write .*report.json", "crash", *SMALL, "--only", "turbo/u64/power", "--no-elisions", "--ops", "2", "--json", missing)
        self.assertFalse(os.path.exists(missing))


if __name__ == "__main__":
    unittest.main()
