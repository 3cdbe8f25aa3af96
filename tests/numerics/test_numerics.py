"""Point values have the digits of other software, of NIST's certified values, and of what is printed."""

import math
from decimal import Decimal

import pytest
from tests.numerics.agreement_of_numbers import digits
from tests.numerics.nist import certified, designs, exact
from tests.numerics.run import PAGE, PUBLISHED, rows, stored


def least(name):
    """How many digits a quantity must share with R's: an optimum fewer than a formula."""
    if not name.startswith("mixed_effects"):
        return 12.0
    return 3.0 if " se " in name else 5.0


@pytest.fixture(scope="module")
def compared():
    return rows(stored())


def test_they_agree_with_other_software(compared):
    short = [(name, shared) for name, shared, *_ in compared if shared < least(name)]
    assert short == []
    assert len(compared) > 65


def test_they_agree_with_printed_values(compared):
    own = {name: value for name, _, value, *_ in compared}
    for name, (value, _) in PUBLISHED.items():
        places = -int(Decimal(str(value)).as_tuple().exponent)
        assert round(own[name], places) == value, name


LEAST = {"Filip": 6.5, "Wampler1": 8.0, "Wampler3": 8.0, "Wampler4": 7.0, "Wampler5": 5.0}


def test_they_agree_with_certified_values():
    short = [(one.name, digits(one.quaver, one.value)) for one in certified()]
    assert [one for one in short if one[1] < LEAST.get(one[0].split()[0], 10.0)] == []


def test_certified_coefficients_are_those_of_fractions():
    for name, (matrix, y, values) in designs().items():
        for found, value in zip(exact(matrix, y), values, strict=True):
            assert digits(float(found), value) > 14 - 0.1 * (name == "Filip"), name


def test_the_page_names_every_quantity(compared):
    text = PAGE.read_text(encoding="utf-8")
    assert [name for name, *_ in compared if f"| {name} |" not in text] == []
    assert [one.name for one in certified() if f"| {one.name} |" not in text] == []


@pytest.mark.parametrize(
    ("found", "expected", "shared"), [(0.0, 0.0, 15.0), (1e-9, 0.0, 9.0), (-1.0, 1.0, 0.0)]
)
def test_digits(found, expected, shared):
    assert digits(found, expected) == shared
    assert digits(math.nan, 1.0) == 0.0
