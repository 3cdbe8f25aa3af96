import numpy as np
import pytest
from scipy import stats

from quaver.core.records import Estimate
from quaver.errors import MeasureError
from quaver.estimation.rank_correlation import covariate_correlation


def correlated(x, y, **how):
    """The correlation of two lists of numbers."""
    names = [f"m{place}" for place in range(len(x))]
    cells = [Estimate("spread", value, cell={"model": name}) for name, value in zip(names, y, strict=True)]
    return covariate_correlation(cells, dict(zip(names, x, strict=True)), **how)


@pytest.mark.parametrize("n", [5, 8, 12, 40])
def test_agrees_with_scipy(n):
    rng = np.random.default_rng(n)
    x, y = rng.integers(0, 9, n).tolist(), rng.normal(size=n).tolist()
    expected = stats.spearmanr(x, y)
    found = correlated(x, y)
    assert found.value == pytest.approx(expected.statistic)
    assert found.details["p"] == pytest.approx(expected.pvalue, abs=0.08)
    assert found.low < found.value < found.high
    assert correlated(x, y, seed=1).value == found.value


def test_exact_permutations_of_three():
    # of 6 orders, two have |ρ| = 1
    found = correlated([1, 2, 3], [10, 20, 30])
    assert (found.value, found.details["p"], found.low) == (1, pytest.approx(1 / 3), None)


@pytest.mark.parametrize(
    ("x", "y", "reason"), [([1, 2], [1, 2], "fewer than three pairs"), ([1, 2, 3], [4, 4, 4], "no variation")]
)
def test_undefined_with_the_reason(x, y, reason):
    assert correlated(x, y).reason == reason


def test_cells_without_a_value_or_a_covariate_are_counted():
    values = {"m": 0.1, "n": 0.3, "o": 0.2, "p": 0.4}
    cells = [Estimate("spread", value, cell={"model": name}) for name, value in values.items()]
    cells.append(Estimate("spread", None, cell={"model": "q"}, reason="no answers"))
    found = covariate_correlation(cells, {"m": 1, "n": 2, "o": 3, "q": 9})
    assert found.value == pytest.approx(0.5)
    assert found.excluded == {"model": 2}
    assert found.unit == "model"
    with pytest.raises(MeasureError, match="for each value"):
        covariate_correlation([*cells, cells[0]], {})
