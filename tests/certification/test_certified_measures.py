"""What is certified: every registered measure, another package's with the options of its recipe."""

from types import SimpleNamespace

import pytest
from tools.certifying import certified_measures as module
from tools.certifying.certified_measures import certified_measures
from tools.certifying.population import GROUP, Population, study

from quaver.core import registry
from quaver.measures import accuracy
from quaver.testing.recipes import MeasureRecipe


def test_every_registered_measure_is_certified() -> None:
    assert set(registry.names("measures")) <= set(certified_measures())


def test_another_packages_measure_is_certified_with_its_recipe(monkeypatch: pytest.MonkeyPatch) -> None:
    recipes = {"measures": {"theirs": MeasureRecipe({"missing": "drop"})}}
    entry = SimpleNamespace(value="their_package.recipes:RECIPES", load=lambda: recipes)
    theirs = SimpleNamespace(__module__="their_package.theirs")
    monkeypatch.setattr(module.registry, "names", lambda kind: ["theirs"])
    monkeypatch.setattr(module.registry, "load", lambda kind, name: theirs)
    monkeypatch.setattr(module, "entry_points", lambda group: [entry])
    assert certified_measures()["theirs"].options == {"missing": "drop"}


def test_groups_are_declared_where_there_are_some() -> None:
    measure = certified_measures()["accuracy"]
    population = Population(items=20, variants=2, group_size=5)
    frame = study(population, population.prompts(1), 1)
    assert measure.taken(frame, population, resamples=50)[0].unit.startswith(GROUP)
    assert measure.function is accuracy


@pytest.mark.parametrize("name", [name for name, one in certified_measures().items() if one.sampled])
def test_a_measure_of_a_gold_sample_gets_one(name: str) -> None:
    population = Population(items=40, variants=2)
    frame = study(population, population.prompts(1), 1)
    found = certified_measures()[name].taken(frame, population, resamples=0)
    assert found
    assert not any("drawn by design" in (one.reason or "") for one in found)
