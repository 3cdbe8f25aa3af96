"""Some hundreds of simulated histories; ``make simulate SEEDS=10000`` lives through more of them."""

import pytest
from tests.simulation.history import History
from tests.simulation.run import lived

# A kill leaves coroutines behind.
pytestmark = [
    pytest.mark.long,
    pytest.mark.filterwarnings("ignore:coroutine:RuntimeWarning", "ignore::ResourceWarning"),
]

_TOGETHER = 25


@pytest.mark.parametrize("first", range(0, 250, _TOGETHER))
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
