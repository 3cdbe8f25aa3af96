"""What holds for every test: properties are tried on the same examples each time, at any speed.

Tests that run side by side share out the cores. Otherwise the embedded model of each, polars and the browser
would all run a thread on every core and wait for each other, which costs twice the time.

What collecting made, ten thousand tests and every library, stays until the end. Python's collector leaves it
aside from then on, where each of its rounds would otherwise go through all of it.

What tests write lies in memory where there is room: a study syncs dozens of times, each of which takes a disk
some milliseconds. Whoever wants a disk says where: ``TMPDIR=/tmp``.
"""

import gc
import os
import shutil
import tempfile

import pytest
from hypothesis import settings
from tests.samples import SEED

settings.register_profile("quaver", deadline=None, derandomize=True)
settings.load_profile("quaver")

_MEMORY = "/dev/shm"
if "TMPDIR" not in os.environ and os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > 2**31:
    os.environ["TMPDIR"] = tempfile.tempdir = _MEMORY

_ALL = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
_WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
_WORKERS = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
if len(_ALL) >= _WORKERS > 1:
    os.sched_setaffinity(0, sorted(_ALL)[_WORKER::_WORKERS])


_LONGEST = ("test_whole_path", "test_pages", "test_kinds", "test_recipes_of_papers", "test_mixed_effects")
"""Files that take more than a minute, by their names."""


def pytest_collection_modifyitems(items):
    """Begin with the files that take longest, then those with a long test: none is left for the end."""
    long = {item.path for item in items if item.get_closest_marker("long")}
    items.sort(key=lambda item: (item.path.stem not in _LONGEST, item.path not in long))


def pytest_report_header():
    """Say what draws the shares of the sweeps."""
    return f"QUAVER_SEED={SEED}"


def pytest_collection_finish():
    """Have rounds of the collector look only at what tests make."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def all_cores():
    """How many cores there are; a test that needs several may use them all."""
    if not _ALL:
        yield os.cpu_count() or 1
        return
    share = os.sched_getaffinity(0)
    os.sched_setaffinity(0, _ALL)
    try:
        yield len(_ALL)
    finally:
        os.sched_setaffinity(0, share)
