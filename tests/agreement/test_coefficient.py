"""What all coefficients of agreement have in common."""

import inspect

import pytest

import quaver.agreement
from quaver.agreement.ratings import Coefficient
from quaver.errors import UnknownName

RATINGS = [["1", "1"], ["1", "2"], ["2", "2"], ["2", "2"]]
COEFFICIENTS = [getattr(quaver.agreement, name) for name in quaver.agreement.__all__]
SHARED = [
    name for name in inspect.signature(Coefficient.__call__).parameters if name not in ("self", "options")
]


@pytest.mark.parametrize("one", COEFFICIENTS, ids=lambda one: one.name)
def test_each_takes_and_documents_the_shared_arguments(one):
    own = inspect.signature(one).parameters
    assert [name for name in own if name in SHARED] == SHARED
    assert all(f"\n    {name}: " in inspect.getdoc(one) for name in own)
    found = one(RATINGS, "interval", resamples=20, keep_draws=True)
    assert found.reference in inspect.getdoc(one)
    assert found.draws.jackknife.left.shape == (found.n,)


def test_an_option_of_another_coefficient_is_unknown():
    with pytest.raises(UnknownName) as raised:
        quaver.agreement.cohen_kappa(RATINGS, resample="rows")
    assert (raised.value.where, raised.value.found) == ("cohen_kappa", "resample")
