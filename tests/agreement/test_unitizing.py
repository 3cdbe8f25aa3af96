"""αU against its published example, and against Krippendorff's definition written out segment by segment."""

import random
from fractions import Fraction
from itertools import permutations

import pytest

from quaver.agreement.unitizing import unit_disagreement


def _segments(units, length):
    """A rater's whole continuum: (begin, length, whether it is a unit)."""
    found, at = [], 0
    for start, end in sorted(units):
        if start > at:
            found.append((at, start - at, 0))
        found.append((start, end - start, 1))
        at = end
    return [*found, (at, length - at, 0)] if at < length else found


def _difference(one, other):
    """δ² of two segments (Krippendorff 1995, equation 2)."""
    (b, size, unit), (c, span, also) = one, other
    if unit and also and -size < b - c < span:
        return (b - c) ** 2 + (b + size - c - span) ** 2
    if unit and not also and span - size >= b - c >= 0:
        return size**2
    if also and not unit and size - span >= c - b >= 0:
        return span**2
    return 0


def by_definition(marked, length):
    """Observed and expected disagreement, in fractions."""
    raters = [_segments(units, length) for units in marked]
    m = len(raters)
    observed = sum(_difference(one, other) for a, b in permutations(raters, 2) for one in a for other in b)
    units = [size for rater in raters for _, size, unit in rater if unit]
    gaps = [size for rater in raters for _, size, unit in rater if not unit]
    above = Fraction(0)
    for size in units:
        above += Fraction((len(units) - 1) * (2 * size**3 - 3 * size**2 + size), 3)
        above += size**2 * sum(gap - size + 1 for gap in gaps if gap >= size)
    places = m * length * (m * length - 1) - sum(size * (size - 1) for size in units)
    return Fraction(observed, m * (m - 1) * length**2), Fraction(2, length) * above / places


def _continuum(seed):
    chance = random.Random(seed)
    length = chance.randint(20, 400)
    marked = []
    for _ in range(chance.randint(2, 6)):
        cuts = sorted(chance.sample(range(length + 1), 2 * chance.randint(0, 4)))
        marked.append(list(zip(cuts[::2], cuts[1::2], strict=True)))
    return marked, length


@pytest.mark.parametrize("seed", range(20))
def test_is_krippendorffs_definition(seed):
    marked, length = _continuum(seed)
    assert unit_disagreement(marked, length) == pytest.approx(by_definition(marked, length), abs=1e-9)


def test_is_the_published_example():
    """Krippendorff (2004), page 254: the categories c and k of two observers."""
    c = unit_disagreement([[(75, 145), (220, 250)], [(70, 150), (205, 225), (250, 270)]], 300)
    k = unit_disagreement([[(30, 90), (150, 200)], [(30, 90), (150, 200)]], 300)
    assert [round(one, 4) for one in (*c, *k)] == [0.0144, 0.0532, 0.0, 0.049]
    assert round(1 - c[0] / c[1], 4) == 0.7286
    assert round(1 - (c[0] + k[0]) / (c[1] + k[1]), 3) == 0.859
