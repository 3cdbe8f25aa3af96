"""Some simulated histories of batches; ``python -m tests.simulation.batch_run`` lives through more."""

import pytest
from tests.batches.cases import CASES
from tests.simulation.batch_history import BatchHistory
from tests.simulation.batch_run import lived

pytestmark = pytest.mark.long

_FEW = 5


@pytest.mark.parametrize("first", range(0, 20, _FEW))
def test_no_answer_is_lost_or_paid_twice(first):
    wrong = [report for seed in range(first, first + _FEW) if (report := lived(seed))]
    assert not wrong, f"once more: python -m tests.simulation.batch_run --seed N\n{wrong[0]}"


@pytest.mark.parametrize("name", CASES)
def test_a_process_may_die_at_every_step(name, tmp_path):
    history = BatchHistory(3, tmp_path, name)
    history.wire = history.odd = 0.0
    history.farm.behaviour.credit = history.farm.behaviour.queue = None
    assert history.every_step() > 10
