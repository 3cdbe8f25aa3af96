"""What Quaver's measures can make of an answer without a label is what docs/evaluators.md says."""

import re
from pathlib import Path

import pytest

from quaver.core import registry

PAGE = (Path(__file__).parents[2] / "docs" / "evaluators.md").read_text(encoding="utf-8")
TABLE = PAGE.partition("| measures | `missing` |\n")[2].partition("\n\n")[0]
CODE = re.compile(r"`(\w+)`")
TREATMENTS = {"drop", "wrong", "category"}
DOCUMENTED = {
    name: () if how.startswith("always") else tuple(one for one in CODE.findall(how) if one in TREATMENTS)
    for names, how in (row.strip("| ").split(" | ", 1) for row in TABLE.splitlines()[1:])
    for name in CODE.findall(names)
}


def test_the_table_is_read():
    assert len(DOCUMENTED) > 25


@pytest.mark.parametrize("name", registry.names("measures"))
def test_the_treatments_that_are_declared(name):
    """A measure that declares none need not be in the table."""
    assert DOCUMENTED.get(name, ()) == tuple(registry.load("measures", name).missing)


def test_every_name_in_the_table_is_a_measure():
    assert set(DOCUMENTED) <= set(registry.names("measures"))
