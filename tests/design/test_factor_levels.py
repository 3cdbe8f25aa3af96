"""Factors are crossed in full, in whichever order they are named."""

from quaver.design.factor_levels import ORIGINAL, cross
from quaver.testing.prompts import PROMPT, context
from quaver.testing.recipes import built, recipe_of


def family(name):
    return built("variants", name, recipe_of("variants", name).options)


def test_families_are_crossed_in_full_in_either_order():
    found = {name: family(name) for name in ("instructions", "prompts")}
    one = cross(PROMPT, {f.func.factor: f(context()) for f in found.values()})
    other = cross(PROMPT, {f.func.factor: f(context()) for f in reversed(found.values())})
    assert len(one) == len(other) == 12
    assert one[0].id == "paraphrase=original,version=original"
    assert one[-1].id == "paraphrase=polite,version=moved"

    def made(variants):
        return {(v.instruction, v.postfix, str(v.answers)) for v in variants}

    assert made(one) == made(other)


def test_nothing_varied_is_one_variant():
    (only,) = cross(PROMPT, {})
    assert (only.id, only.factors) == (ORIGINAL, {})
