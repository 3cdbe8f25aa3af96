"""What every registered family of prompt variants keeps to."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from quaver.core import registry
from quaver.core.records import Variant
from quaver.design.factor_levels import ORIGINAL, LevelOfFactor, cross
from quaver.design.variants.rewordings import VariantFamily
from quaver.testing.prompts import LABELS, PROMPT, context
from quaver.testing.recipes import Recipe, built, plugins, recipe_of

PARTS = {
    name for name in Variant.__dataclass_fields__ if name not in ("id", "factors", "covariates", "origin")
}


def recipe(name: str) -> Recipe:
    return recipe_of("variants", name)


def prompt_of(name: str) -> Variant:
    return recipe(name).prompt or PROMPT


def family(name: str) -> VariantFamily:
    found: VariantFamily = registry.load("variants", name)
    return found


def levels(name: str, seed: int = 1) -> Sequence[LevelOfFactor]:
    made: Sequence[LevelOfFactor] = built("variants", name, recipe(name).options)(
        context(seed, prompt_of(name))
    )
    return made


def variants(name: str, seed: int = 1) -> list[Variant]:
    return cross(prompt_of(name), {family(name).factor: levels(name, seed)})


@pytest.mark.parametrize("name", plugins("variants"))
class TestFamily:
    def test_the_original_comes_first_and_is_the_prompt_as_it_stands(self, name: str) -> None:
        first = variants(name)[0]
        assert first.factors == (recipe(name).original or {family(name).factor: ORIGINAL})
        for part in PARTS - ({"max_tokens"} if recipe(name).sets_length else set()):
            assert getattr(first, part) == getattr(prompt_of(name), part)

    def test_levels_have_names_of_their_own(self, name: str) -> None:
        names = [level.name for level in levels(name)]
        assert len(names) > 1
        assert len(set(names)) == len(names)
        assert all(names)

    def test_levels_differ_in_what_they_make(self, name: str) -> None:
        made = {str([getattr(variant, part) for part in PARTS]) for variant in variants(name)}
        assert len(made) == len(variants(name))

    def test_the_same_seed_gives_the_same_levels(self, name: str) -> None:
        assert variants(name, 7) == variants(name, 7)

    def test_an_edit_is_pure(self, name: str) -> None:
        prompt = prompt_of(name)
        before = repr(prompt)
        for level in levels(name):
            assert level.edit(prompt) == level.edit(prompt)
        assert repr(prompt) == before

    def test_every_label_keeps_an_answer(self, name: str) -> None:
        for variant in variants(name):
            assert set(variant.answers) == set(LABELS.codes)
            assert len(set(variant.answers.values())) == len(LABELS.codes)

    def test_every_level_says_where_it_came_from(self, name: str) -> None:
        for variant in variants(name):
            assert variant.origin[family(name).factor or name]["family"] == name

    def test_a_rewording_leaves_the_format_alone(self, name: str) -> None:
        for variant in variants(name):
            if family(name).rewords:
                assert (variant.postfix, variant.answers) == (PROMPT.postfix, PROMPT.answers)
            elif not recipe(name).rebuilds:
                assert variant.instruction.startswith(PROMPT.instruction)
