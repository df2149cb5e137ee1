import os
import random
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from running import Server, programs  # noqa: E402

PROGRAMS = programs()


def pytest_report_header():
    return f"servers: {', '.join(PROGRAMS) or 'none: all tests are skipped'}"


@pytest.fixture(params=["redis", "valkey"])
def program(request):
    """The path of redis-server, and of valkey-server, where they are."""
    if request.param not in PROGRAMS:
        pytest.skip(f"no {request.param}-server here")
    return PROGRAMS[request.param]


@pytest.fixture
def server(program):
    with Server(program) as running:
        yield running


@pytest.fixture
def make_server(program):
    """Makes servers that end with the test."""
    made = []

    def make(*settings, **how):
        made.append(Server(program, *settings, **how))
        return made[-1].start()

    yield make
    for one in made:
        one.end()


@pytest.fixture
def chance(request):
    """Random numbers; DURAHASH_SEED repeats them."""
    seed = int(os.environ.get("DURAHASH_SEED", time.time_ns() % 1_000_000_007))
    print(f"seed {seed}")
    return random.Random(seed)
