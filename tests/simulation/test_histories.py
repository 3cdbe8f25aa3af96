"""Thirty simulated histories, others each day; ``make simulate SEEDS=10000`` lives through more."""

import pytest
from tests.samples import SEED
from tests.simulation.history import History
from tests.simulation.run import lived

# A kill leaves coroutines behind.
pytestmark = [
    pytest.mark.long,
    pytest.mark.filterwarnings("ignore:coroutine:RuntimeWarning", "ignore::ResourceWarning"),
]

_MANY, _TOGETHER = 30, 15
_FIRST = SEED % 1000 * _MANY


@pytest.mark.parametrize("first", range(_FIRST, _FIRST + _MANY, _TOGETHER))
def test_whatever_happens_each_answer_is_stored_once_and_the_end_is_the_same(first):
    wrong = [told for seed in range(first, first + _TOGETHER) if (told := lived(seed))]
    assert not wrong, f"once more: python -m tests.simulation.run --seed N\n{wrong[0]}"


def test_a_seed_decides_everything(tmp_path):
    def trace(seed, home):
        home.mkdir()
        history = History(seed, home)
        history.go()
        return str(history).replace(str(home), ""), list(history.server.attempts)

    for seed in range(10):
        assert trace(seed, tmp_path / f"{seed}") == trace(seed, tmp_path / f"{seed} again"), seed
