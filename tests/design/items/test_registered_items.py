"""What every registered set of items keeps to."""

import pytest

from quaver.testing.recipes import built, plugins, recipe_of


@pytest.mark.parametrize("name", plugins("items"))
def test_rows_are_mappings_with_the_same_columns_and_the_same_each_time(name):
    options = recipe_of("items", name).options
    found = built("items", name, options)
    assert found
    assert found == built("items", name, options)
    assert len({tuple(row) for row in found}) == 1
    assert all(isinstance(column, str) for column in found[0])
