"""What every registered paraphraser keeps to."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from quaver.core import registry
from quaver.core.calls import Prompt, Response
from quaver.core.records import Decoding, Label, LabelSet, Variant
from quaver.design.paraphrase.paraphraser import Draft, Paraphrase, Paraphraser, PromptContext
from quaver.design.prompts.templates import check
from quaver.design.spec.study_file import Positions, bind
from quaver.errors import QuaverError
from quaver.testing.recipes import Recipe, built, plugins, recipe_of

LABELS = LabelSet((Label("pos", "positive"), Label("neg", "negative")))
PROMPT = Variant(
    id="",
    factors={},
    system="You code texts.",
    layout="Text: {{ text }}\nQuestion: {{ question }}\nAnswer:",
    text="{{ text }}",
    instruction="Is the opinion in this text positive or negative? It is one of these 2, do not guess.",
    postfix="Answer with one of: {{ answers | join(', ') }}.",
    answers={"pos": "positive", "neg": "negative"},
)
SAID = [
    "1. Does this text hold a positive or a negative opinion, of the 2?",
    '"Of the 2, positive or negative: which is it?"',
    "Is the opinion in this text positive or negative? It is one of these 2, do not guess.",
]


class Said:
    """Work that may be done, by a model that says the same three things again and again."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self._at = 0

    def begin(self, what: str) -> None:
        self.begun.append(what)

    def ask(
        self, model: str | Mapping[str, Any], prompt: Prompt, decoding: Decoding, seed: int, count: int
    ) -> list[Response]:
        self._at += count
        return [Response(SAID[n % len(SAID)]) for n in range(self._at - count, self._at)]


def recipe(name: str) -> Recipe:
    return recipe_of("paraphrasers", name)


@pytest.fixture
def context(name: str, tmp_path: Path) -> PromptContext:
    if recipe(name).needs_weights:
        pytest.skip("its weights are not here; tests of its own make some")
    for file, text in recipe(name).files.items():
        (tmp_path / file).write_text(text, encoding="utf-8")
    return PromptContext(PROMPT, LABELS, 7, home=tmp_path)


def engine(name: str) -> Paraphraser:
    paraphraser: Paraphraser = built("paraphrasers", name, recipe(name).options)
    return paraphraser


def made(name: str, context: PromptContext) -> Sequence[Paraphrase]:
    paraphraser = engine(name)
    return paraphraser.reword(context, Draft(PROMPT.instruction, paraphraser.exact), Said())


@pytest.mark.parametrize("name", plugins("paraphrasers"))
class TestEngine:
    def test_paraphrases_differ_from_the_original_and_from_each_other(
        self, name: str, context: PromptContext
    ) -> None:
        texts = [paraphrase.text for paraphrase in made(name, context)]
        assert len(texts) > 1
        assert len({*texts, PROMPT.instruction}) == len(texts) + 1
        assert all(text.strip() for text in texts)

    def test_names_are_their_own_and_fit_an_id(self, name: str, context: PromptContext) -> None:
        names = [paraphrase.name for paraphrase in made(name, context)]
        assert len(set(names)) == len(names)
        assert not any(sign in one for one in names for sign in ",=")

    def test_the_same_seed_gives_the_same(self, name: str, context: PromptContext) -> None:
        assert made(name, context) == made(name, context)

    def test_paraphrases_are_templates(self, name: str, context: PromptContext) -> None:
        for paraphrase in made(name, context):
            check(paraphrase.text, ["labels", "answers", "item"], where=paraphrase.name)

    def test_only_what_is_kept_may_cost_anything(self, name: str, context: PromptContext) -> None:
        paraphraser = engine(name)
        draft = Draft(PROMPT.instruction, paraphraser.exact)
        work, later = Said(), Said()
        first = paraphraser.reword(context, draft, work)
        assert bool(work.begun) == paraphraser.kept
        if paraphraser.kept:  # it finds what is there, and adds nothing
            assert paraphraser.reword(context, draft, later) == first
            assert later.begun == []

    def test_what_is_asked_for_can_be_kept(self, name: str, context: PromptContext) -> None:
        assert json.loads(json.dumps(engine(name).asked())) == engine(name).asked()


@pytest.mark.parametrize("name", plugins("paraphrasers"))
def test_an_unknown_option_is_one_error(name: str) -> None:
    options = recipe(name).options
    given = {**(options() if callable(options) else options), "kk": 1}
    with pytest.raises(QuaverError, match="unknown key 'kk'"):
        bind(registry.load("paraphrasers", name), given, Positions(None, {}), ())
