"""What an engine needs, and what to do where something that came with it does not fit."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from quaver.errors import Unavailable
from quaver.models.local.extras import cores, require, spin_briefly, waiting


def test_an_engine_without_its_library_says_how_to_get_it():
    with pytest.raises(Unavailable) as caught:
        require("ray", "json", "no_such_module")
    assert caught.value.fix == 'pip install "quaver[ray]"'


@pytest.fixture
def environment(monkeypatch):
    for name in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY"):
        monkeypatch.setenv(name, "")  # so that whatever the test sets is taken back
        monkeypatch.delenv(name)
    return monkeypatch


@pytest.mark.parametrize(
    ("name", "value"), [("GOMP_SPINCOUNT", "5000"), ("GOMP_SPINCOUNT", "7"), ("OMP_WAIT_POLICY", "active")]
)
def test_threads_spin_for_a_moment_unless_the_user_says_otherwise(environment, name, value):
    if value != "5000":
        environment.setenv(name, value)
    spin_briefly()
    assert waiting() == f"{name}={value}"


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="only Linux says which cores are allowed")
def test_only_cores_that_may_be_used_count():
    count = "import os, sys; os.sched_setaffinity(0, {int(sys.argv[1])});"
    count += "from quaver.models.local.extras import cores; print(cores())"
    one = str(min(os.sched_getaffinity(0)))
    free = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    done = subprocess.run(
        [sys.executable, "-c", count, one], capture_output=True, text=True, check=True, env=free
    )
    assert done.stdout.strip() == "1"


@pytest.mark.parametrize("said", ["1", "3", "", "0", "4,2", "many"])
@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="only Linux says which cores are allowed")
def test_the_environment_may_say_how_many_in_a_number(environment, said):
    environment.setenv("OMP_NUM_THREADS", said)
    most = int(said) if said in ("1", "3") else len(os.sched_getaffinity(0))
    assert (most if said in ("1", "3") else 1) <= (cores() or 0) <= most


def test_the_engine_is_loaded_after_it_is_said_how_threads_wait():
    """It counts when libgomp is loaded; `tests/test_public.py` holds that nothing else loads it."""
    loading = [path.read_text(encoding="utf-8") for path in Path("src/quaver").rglob("*.py")]
    loading = [text for text in loading if "import xllamacpp" in text]
    assert loading
    assert all("spin_briefly()" in text.partition("import xllamacpp")[0] for text in loading)
