"""Some simulated histories on a cluster; ``python -m tests.simulation.worker_run`` lives through more."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from tests.simulation.worker_history import WorkerHistory
from tests.simulation.worker_run import lived

# A worker that dies leaves coroutines behind.
pytestmark = [
    pytest.mark.long,
    pytest.mark.filterwarnings("ignore:coroutine:RuntimeWarning", "ignore::ResourceWarning"),
]

_TOGETHER = 10


@pytest.mark.parametrize("first", range(0, 30, _TOGETHER))
def test_whatever_happens_to_workers_each_answer_is_stored_once(first: int) -> None:
    wrong = [told for seed in range(first, first + _TOGETHER) if (told := lived(seed))]
    assert not wrong, f"once more: python -m tests.simulation.worker_run --seed N\n{wrong[0]}"


def test_follow_ups_go_to_the_worker_that_has_read_the_prompt(tmp_path: Path) -> None:
    counts = Counter[str]()
    for seed in range(6):
        (home := tmp_path / str(seed)).mkdir()
        history = WorkerHistory(seed, home)
        history.spec |= {"follow_ups": ["verbal_decimal"], "variants": [], "repeats": 2}
        history.spec.pop("until", None)
        history.cluster.rate, history.server.faults = 0.0, 0.0
        history.where = {"on": "ray", "workers": 3}
        with history.world.entered(), history._alive():
            assert history._opened().run().ended == "finished"
        counts["all"] += history.cluster.follow_ups
        counts["at home"] += history.cluster.at_home
    assert counts["all"] >= 20
    assert counts["at home"] >= 0.7 * counts["all"], (
        counts
    )  # the rest was taken by workers with nothing to do


def test_a_seed_decides_everything(tmp_path: Path) -> None:
    def trace(seed: int, home: Path) -> tuple[str, list[object]]:
        home.mkdir()
        history = WorkerHistory(seed, home)
        history.go()
        return str(history).replace(str(home), ""), list(history.server.attempts)

    for seed in range(3):
        assert trace(seed, tmp_path / f"{seed}") == trace(seed, tmp_path / f"{seed} again"), seed
