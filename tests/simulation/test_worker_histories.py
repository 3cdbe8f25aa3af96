"""Some simulated histories on a cluster; ``python -m tests.simulation.worker_run`` lives through more."""

from __future__ import annotations

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


def test_a_seed_decides_everything(tmp_path: Path) -> None:
    def trace(seed: int, home: Path) -> tuple[str, list[object]]:
        home.mkdir()
        history = WorkerHistory(seed, home)
        history.go()
        return str(history).replace(str(home), ""), list(history.server.attempts)

    for seed in range(3):
        assert trace(seed, tmp_path / f"{seed}") == trace(seed, tmp_path / f"{seed} again"), seed
