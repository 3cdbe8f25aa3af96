"""Factors crossed: ids, columns, and what levels say of themselves beside their names."""

from dataclasses import replace

import pytest

from quaver.core.records import Variant
from quaver.design.factor_levels import LevelOfFactor, columns_of, cross
from quaver.errors import SpecError

PROMPT = Variant("", {}, "", "{{ text }}", "{{ text }}", "Which?", "", {"a": "A", "b": "B"})


def level(name, columns=None):
    return LevelOfFactor(name, lambda variant: variant, columns=columns or {})


def test_a_level_s_columns_stand_beside_its_name():
    levels = [level("original"), level("w1", {"heat": "0.5"})]
    assert columns_of("paraphrase", levels) == ["paraphrase", "heat"]
    first, second = cross(PROMPT, {"paraphrase": levels})
    assert (first.id, first.factors) == ("paraphrase=original", {"paraphrase": "original"})
    assert (second.id, second.factors) == ("paraphrase=w1", {"paraphrase": "w1", "heat": "0.5"})


def test_without_a_factor_of_their_own_levels_are_their_columns():
    levels = [level("size=s,tone=t", {"size": "s", "tone": "t"}), level("size=l", {"size": "l"})]
    made = cross(PROMPT, {"": levels, "format": [level("digits")]})
    assert [one.id for one in made] == ["size=s,tone=t,format=digits", "size=l,format=digits"]
    assert [dict(one.factors) for one in made] == [
        {"size": "s", "tone": "t", "format": "digits"},
        {"size": "l", "format": "digits"},
    ]


def test_two_families_cannot_fill_one_column():
    with pytest.raises(SpecError, match="'heat'"):
        cross(PROMPT, {"paraphrase": [level("w", {"heat": "1"})], "heat": [level("h")]})


def test_covariates_are_no_factors():
    levels = [level("original"), replace(level("w1"), covariates={"distance": 0.25, "flagged": False})]
    assert columns_of("paraphrase", levels) == ["paraphrase", "distance", "flagged"]
    _, second = cross(PROMPT, {"paraphrase": levels})
    assert (second.factors, second.covariates) == ({"paraphrase": "w1"}, {"distance": 0.25, "flagged": False})
