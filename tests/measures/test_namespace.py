"""The measures by name."""

import inspect

import pytest

import quaver.measures
from quaver.core import registry
from quaver.measures import FUNCTIONS


@pytest.mark.parametrize("name", registry.names("measures"))
def test_every_registered_measure_is_there_by_its_name(name):
    assert getattr(quaver.measures, name) is registry.load("measures", name)
    assert "annotations" in inspect.signature(getattr(quaver.measures, name)).parameters


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_functions_beside_them_are_there_too(name):
    assert inspect.isroutine(getattr(quaver.measures, name))
    assert name not in registry.names("measures")


def test_another_name_is_not():
    with pytest.raises(AttributeError, match="acuracy"):
        _ = quaver.measures.acuracy
    assert set(dir(quaver.measures)) == {*registry.names("measures"), *FUNCTIONS}
