"""The gate's errors, simulated: ``benchmarks/gate.py`` has the whole table."""

import pytest
from benchmarks.gate import share


def test_a_planted_loss_fails():
    # Three points of 1,000 paired items, 3% discordant: at least 95% are asked for.
    assert share(20, 1000, 0.03, 0.0) >= 0.95


@pytest.mark.parametrize(("items", "discordant"), [(100, 0.04), (100, 0.2)])
def test_no_loss_seldom_fails(items, discordant):
    # At most 5% are asked for. Of 100 runs more than 11 fail with probability 0.004, were it 5%.
    assert share(100, items, discordant / 2, discordant / 2) <= 0.11
