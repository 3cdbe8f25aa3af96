"""What is certified: every registered measure, another package's with the options of its recipe."""

from types import SimpleNamespace

import pytest
from tools.certifying import certified_measures as module
from tools.certifying.certified_measures import certified_measures
from tools.certifying.population import GROUP, Population, study

from quaver.core import registry
from quaver.measures import accuracy
from quaver.testing.recipes import Recipe


def test_what_no_line_judges_takes_no_time():
    unjudged = [one for one in certified_measures().values() if one.why_not]
    assert {"corrected_share", "inter_pss_subsamples"} <= {one.name for one in unjudged}
    assert all(one.every >= 50 for one in unjudged)


def test_every_registered_measure_is_certified():
    assert set(registry.names("measures")) <= set(certified_measures())


def test_another_packages_measure_is_certified_with_its_recipe(monkeypatch):
    recipes = {"measures": {"theirs": Recipe({"missing": "drop"})}}
    entry = SimpleNamespace(value="their_package.recipes:RECIPES", load=lambda: recipes)
    theirs = SimpleNamespace(__module__="their_package.theirs")
    monkeypatch.setattr(module.registry, "names", lambda kind: ["theirs"])
    monkeypatch.setattr(module.registry, "load", lambda kind, name: theirs)
    monkeypatch.setattr(module, "entry_points", lambda group: [entry])
    assert certified_measures()["theirs"].options == {"missing": "drop"}


def test_groups_are_declared_where_there_are_some():
    measure = certified_measures()["accuracy"]
    population = Population(items=20, variants=2, group_size=5)
    frame = study(population, population.prompts(1), 1)
    assert measure.taken(frame, population, resamples=50)[0].unit.startswith(GROUP)
    assert measure.function is accuracy


@pytest.mark.parametrize("name", [name for name, one in certified_measures().items() if one.sampled])
def test_a_measure_of_a_gold_sample_gets_one(name):
    population = Population(items=40, variants=2)
    frame = study(population, population.prompts(1), 1)
    found = certified_measures()[name].taken(frame, population, resamples=0)
    assert found
    assert not any("drawn by design" in (one.reason or "") for one in found)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("accuracy, sets", {"accuracy", "accuracy_hamming"}),
        ("accuracy, numbers", {"accuracy_mean_error", "accuracy_bias", "accuracy_lower_limit"}),
        ("accuracy, numbers", {"accuracy_upper_limit", "accuracy_correlation", "accuracy_intraclass"}),
        ("f1, sets", {"f1_micro", "f1_macro", "f1_label", "f1_sample"}),
        ("inter_pss, jaccard", {"inter_pss"}),
        ("inter_pss, masi", {"inter_pss"}),
        ("inter_pss, interval", {"inter_pss"}),
        ("inter_pss, ratio", {"inter_pss"}),
    ],
)
def test_sets_and_numbers_have_lines_in_rare_and_clustered_populations(name, said):
    population = Population(items=60, variants=3, shares=(0.1, 0.9), group_size=4, icc=0.2)
    frame = study(population, population.prompts(1), 1)
    found = {one.measure: one for one in certified_measures()[name].taken(frame, population, resamples=50)}
    assert said <= set(found)
    assert all(found[one].low < found[one].high for one in said)
    assert all(found[one].unit.startswith(GROUP) for one in said)
