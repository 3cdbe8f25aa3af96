"""Every pair of levels meets, in few rows."""

from itertools import combinations

from quaver.certification.covering_array import covering_array
from quaver.certification.gate import FACTORS


def test_every_pair_of_the_grid_meets_in_few_rows() -> None:
    rows = covering_array(FACTORS)
    for (one, levels), (other, others) in combinations(FACTORS.items(), 2):
        met = {(row[one], row[other]) for row in rows}
        assert met == {(a, b) for a in levels for b in others}
    assert 12 <= len(rows) <= 18


def test_the_rows_are_the_same_every_time() -> None:
    assert covering_array(FACTORS) == covering_array(FACTORS)
