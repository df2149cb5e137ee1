"""Errors that a simpler module makes: each is found by a test of this folder."""
import os
import subprocess
import sys
from pathlib import Path

import pytest

from running import FAULTY, programs

HERE = Path(__file__).parent
# An error, and the test that finds it.
ANSWERED = "test_answered.py::test_what_was_answered_before_a_kill_is_there_behind_it[redis-%s]"
FAULTS = {
    "names-stay-as-they-were": ANSWERED % "rename",
    "expiries-are-not-kept": ANSWERED % "expire",
    "deleted-tables-keep-their-rows": ANSWERED % "delete",
    "unlink-removes-the-pool": ANSWERED % "rename",
    "flushes-are-not-told": ANSWERED % "flushall",
    "swaps-are-not-told": ANSWERED % "swapdb",
    "tables-come-before-files":
        "test_restart.py::test_tables_are_newer_than_the_files_of_the_server[redis-rdb]",
    "a-start-is-complete-at-once": "test_restart.py::"
        "test_a_kill_while_files_are_taken_over_leaves_them_to_the_next_start[redis]",
    "the-aof-has-commands": "test_restart.py::test_the_aof_has_no_command_of_a_table[redis]",
    "increments-go-out-as-such":
        "test_replication.py::test_a_synchronisation_beside_growth_and_deletes[redis]",
    "a-sync-flushes-at-once":
        "test_replication.py::test_a_replica_that_is_killed_in_the_middle_has_what_it_had[redis]",
    "power-is-answered-at-once":
        "test_durable.py::test_a_loss_of_power_loses_nothing_that_was_acknowledged[redis]",
    "names-are-answered-at-once":
        "test_durable.py::test_names_that_were_answered_survive_a_loss_of_power[redis]",
    "names-hold-up-all": "test_durable.py::test_nobody_but_its_client_waits_for_a_name[valkey]",
    "tables-are-made-when-they-are-asked-for":
        "test_durable.py::test_nobody_waits_while_a_table_is_made[redis-power]",
    "a-client-is-blocked-twice":
        "test_durable.py::test_who_writes_in_the_place_of_an_expired_table_is_answered[valkey]",
    "contents-have-the-old-version":
        "test_migrate.py::test_a_module_that_does_not_know_of_half_tables_is_sent_none[redis]",
    "half-a-table-is-a-file":
        "test_replication.py::test_a_child_that_gets_half_a_table_gives_up[redis]",
}

# A disk that has nothing of this before the power goes.
SLOW_MS = {"names-are-answered-at-once": "50"}


@pytest.fixture
def faulty():
    if "redis" not in programs():
        pytest.skip("no redis-server here")
    if not Path(FAULTY).exists():
        pytest.skip(f"{FAULTY} was not built")
    return FAULTY


def run(tests, fault, module):
    command = [sys.executable, "-B", "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider",
               *(str(HERE / test) for test in tests)]
    environment = dict(os.environ, DURAHASH_MODULE=module, DURAHASH_FAULT=fault,
                       DURAHASH_SEED="1", DURAHASH_POWER_CUT_SLOW_MS=SLOW_MS.get(fault, "0"))
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
    return done.returncode, done.stdout[-3000:]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_error_is_found(faulty, fault):
    if "[valkey]" in FAULTS[fault] and "valkey" not in programs():
        pytest.skip("no valkey-server here")
    code, said = run([FAULTS[fault]], fault, faulty)
    assert code == 1, f"the test ends with {code}, and not with a failure:\n{said}"


def test_without_an_error_the_same_tests_pass(faulty):
    # those of these two files have this module anyway
    others = {t for t in FAULTS.values() if not t.startswith(("test_durable", "test_migrate"))}
    code, said = run(sorted(others), "none", faulty)
    assert code == 0, said
