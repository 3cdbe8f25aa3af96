"""Building an engine costs nothing: weights are loaded when they are first needed."""

import pytest

from quaver.testing.recipes import built, plugins, recipe_of


@pytest.mark.parametrize("name", plugins("models"))
def test_building_one_loads_nothing(name):
    made = built("models", name, recipe_of("models", name).options, checked=False)
    made.prepare(4)
    for weights in ("_server", "_causal", "_library"):  # of the engines in this process
        assert getattr(made, weights, None) is None
    made.close()
