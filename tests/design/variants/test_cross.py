"""Factors crossed: ids, columns, and what levels say of themselves beside their names."""

from dataclasses import replace

import pytest

from quaver.core.records import Variant
from quaver.design.factor_levels import ORIGINAL, LevelOfFactor, columns_of, cross
from quaver.errors import SpecError
from quaver.testing import prompts as testing
from quaver.testing.recipes import built, recipe_of

PROMPT = Variant("", {}, "", "{{ text }}", "{{ text }}", "Which?", "", {"a": "A", "b": "B"})


def level(name, columns=None):
    return LevelOfFactor(name, lambda variant: variant, columns=columns or {})


def test_without_a_factor_of_their_own_levels_are_their_columns():
    levels = [level("size=s,tone=t", {"size": "s", "tone": "t"}), level("size=l", {"size": "l"})]
    made = cross(PROMPT, {"": levels, "format": [level("digits")]})
    assert [one.id for one in made] == ["size=s,tone=t,format=digits", "size=l,format=digits"]
    assert [dict(one.factors) for one in made] == [
        {"size": "s", "tone": "t", "format": "digits"},
        {"size": "l", "format": "digits"},
    ]


def test_families_are_crossed_in_full_in_either_order():
    found = {
        name: built("variants", name, recipe_of("variants", name).options)
        for name in ("instructions", "prompts")
    }
    one = cross(testing.PROMPT, {f.func.factor: f(testing.context()) for f in found.values()})
    other = cross(testing.PROMPT, {f.func.factor: f(testing.context()) for f in reversed(found.values())})
    assert len(one) == len(other) == 12
    assert one[0].id == "paraphrase=original,version=original"
    assert one[-1].id == "paraphrase=polite,version=moved"

    def made(variants):
        return {(v.instruction, v.postfix, str(v.answers)) for v in variants}

    assert made(one) == made(other)
    (only,) = cross(PROMPT, {})
    assert (only.id, only.factors) == (ORIGINAL, {}), "nothing varied is one variant"


def test_two_families_cannot_fill_one_column():
    with pytest.raises(SpecError, match="'heat'"):
        cross(PROMPT, {"paraphrase": [level("w", {"heat": "1"})], "heat": [level("h")]})


def test_a_level_s_columns_stand_beside_its_name():
    levels = [level("original"), level("w1", {"heat": "0.5"})]
    assert columns_of("paraphrase", levels) == ["paraphrase", "heat"]
    first, second = cross(PROMPT, {"paraphrase": levels})
    assert (first.id, first.factors) == ("paraphrase=original", {"paraphrase": "original"})
    assert (second.id, second.factors) == ("paraphrase=w1", {"paraphrase": "w1", "heat": "0.5"})
    beside = [levels[0], replace(level("w1"), covariates={"distance": 0.25, "flagged": False})]
    assert columns_of("paraphrase", beside) == ["paraphrase", "distance", "flagged"]
    _, second = cross(PROMPT, {"paraphrase": beside})
    assert (second.factors, second.covariates) == ({"paraphrase": "w1"}, {"distance": 0.25, "flagged": False})
