"""Some simulated histories of shards; ``python -m tests.simulation.shard_run`` lives through more."""

from __future__ import annotations

import pytest
from tests.simulation.shard_run import lived

pytestmark = pytest.mark.long

_TOGETHER = 10


@pytest.mark.parametrize("first", range(0, 30, _TOGETHER))
def test_whatever_happens_to_shards_and_merges_each_answer_is_merged_once(first: int) -> None:
    wrong = [told for seed in range(first, first + _TOGETHER) if (told := lived(seed))]
    assert not wrong, f"once more: python -m tests.simulation.shard_run --seed N\n{wrong[0]}"
