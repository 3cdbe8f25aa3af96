"""What every registered way to vary a prompt keeps to."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from quaver.core import registry
from quaver.core.records import Item, Label, LabelSet, Variant
from quaver.design.factors.factor_level import ORIGINAL, cross
from quaver.design.paraphrase.ground import Ground
from quaver.design.spec.study_file import Source, bind
from quaver.design.variants.variant_family import VariantFamily

LABELS = LabelSet(
    (Label("pos", "positive", "It likes it.", ("good",)), Label("neg", "negative", "Not.", ("bad",)))
)
SAMPLE = [Item(name, {"text": f"Text {name}."}, None) for name in "abc"]
SPARE = [Item(str(n), {"text": f"Text {n}."}, ("pos", "neg")[n % 2]) for n in range(8)]
PROMPT = Variant(
    id="",
    factors={},
    system="You code texts.",
    layout="{{ text }}\n{{ instruction }}\n{{ postfix }}",
    text="{{ text }}",
    instruction="Is it positive or negative?",
    postfix="Answer with one of: {{ answers | join(', ') }}.",
    answers={"pos": "positive", "neg": "negative"},
)

FAMILIES: dict[str, dict[str, Any]] = {
    "factors": {
        "parts": {
            "task": {"concise": "Positive or negative?"},
            "label": {"tokens": None},
            "definitions": "Positive means praise, negative blame.",
        },
        "factors": {"definition": ["no", "yes"], "output": ["label", "score"]},
    },
    "formats": {
        "formats": {"digits": {"postfix": "0 or 1?", "answers": {"pos": "1", "neg": "0"}}},
        "original": True,
    },
    "descriptions": {"definitions": {"longer": {"neg": "It does not like it."}}},
    "frame": {},
    "json_answers": {"forms": {"bare": {"definitions": False}, "reasoned": {"before": {"why": "Say why."}}}},
    "label_names": {"names": ["name", "code", "letter", "number", "synonym"]},
    "label_order": {"orders": "rotations"},
    "option_order": {},
    "paraphrases": {"engine": "surface", "k": 2},
    "perturbations": {"paraphrase": "Good or bad?"},
    "position": {},
    "role": {},
    "shots": {"k": [0, 1, 2]},
    "strategies": {},
    "treatments": {"original": True},
    "instructions": {"texts": {"plain": "Good or bad?", "polite": "Would you say good or bad?"}},
}
"""Options for one family each, such that the original is one of the levels."""

PROMPTS = {"option_order": replace(PROMPT, answers={"pos": "A", "neg": "B"})}
"""The prompt to be varied, where a family asks for another."""

FIRST = {
    "frame": "chat",
    "label_names": "name",
    "position": "after",
    "role": "user",
    "shots": "0-shot",
    "strategies": "simple",
}
"""What the prompt as it stands is called, where that says more than ``original``."""

COLUMNS = {"factors": {"definition": "no", "output": "label"}}
"""The factors of the prompt as it stands, where a family fills several columns."""

LENGTHS = {"factors", "perturbations"}
"""Families that say how long an answer may be to the prompt as it stands, too."""

BUILDS = {"factors", "perturbations"}
"""Families that make a prompt anew, instruction and format alike."""

REWORDS = {"paraphrases"}
"""Families that change what is asked, never the format of the answer."""

PARTS = [
    name for name in Variant.__dataclass_fields__ if name not in ("id", "factors", "covariates", "origin")
]


def ground(seed: int = 1, prompt: Variant = PROMPT) -> Ground:
    return Ground(prompt, LABELS, seed, SPARE, sample=SAMPLE)


def test_every_registered_family_is_here() -> None:
    assert sorted(FAMILIES) == registry.names("variants")


def family(name: str) -> VariantFamily:
    plugin = registry.load("variants", name)
    made: VariantFamily = plugin(**bind(plugin, FAMILIES[name], Source(None, {}), ("variants", 0)))
    return made


def variants(name: str, seed: int = 1) -> list[Variant]:
    made = family(name)
    prompt = PROMPTS.get(name, PROMPT)
    return cross(prompt, {made.factor: made.levels(ground(seed, prompt))})


@pytest.mark.parametrize("name", FAMILIES)
class TestFamily:
    def test_the_original_comes_first_and_is_the_prompt_as_it_stands(self, name: str) -> None:
        first = variants(name)[0]
        assert first.factors == COLUMNS.get(name, {family(name).factor: FIRST.get(name, ORIGINAL)})
        for part in set(PARTS) - ({"max_tokens"} if name in LENGTHS else set()):
            assert getattr(first, part) == getattr(PROMPTS.get(name, PROMPT), part)

    def test_levels_have_names_of_their_own(self, name: str) -> None:
        names = [level.name for level in family(name).levels(ground())]
        assert len(names) > 1
        assert len(set(names)) == len(names)
        assert all(names)

    def test_levels_differ_in_what_they_make(self, name: str) -> None:
        made = {str([getattr(variant, part) for part in PARTS]) for variant in variants(name)}
        assert len(made) == len(variants(name))

    def test_the_same_seed_gives_the_same_levels(self, name: str) -> None:
        assert variants(name, 7) == variants(name, 7)

    def test_an_edit_is_pure(self, name: str) -> None:
        prompt = PROMPTS.get(name, PROMPT)
        before = repr(prompt)
        for level in family(name).levels(ground(prompt=prompt)):
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
            if name in REWORDS:
                assert (variant.postfix, variant.answers) == (PROMPT.postfix, PROMPT.answers)
            elif name not in BUILDS:
                assert variant.instruction.startswith(PROMPT.instruction)


def test_families_are_crossed_in_full_in_either_order() -> None:
    found = {name: family(name) for name in ("paraphrases", "formats")}
    one = cross(PROMPT, {f.factor: f.levels(ground()) for f in found.values()})
    other = cross(PROMPT, {f.factor: f.levels(ground()) for f in reversed(found.values())})
    assert len(one) == len(other) == 6
    assert one[0].id == "paraphrase=original,format=original"
    assert one[-1].id == "paraphrase=polite,format=digits"

    def made(variants: list[Variant]) -> set[tuple[str, str, str]]:
        return {(v.instruction, v.postfix, str(v.answers)) for v in variants}

    assert made(one) == made(other)


def test_nothing_varied_is_one_variant() -> None:
    (only,) = cross(PROMPT, {})
    assert (only.id, only.factors) == (ORIGINAL, {})
