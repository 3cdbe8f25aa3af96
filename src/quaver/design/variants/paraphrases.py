"""Families of rewordings: given instructions, and paraphrases that are drawn or asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

from quaver.core import registry
from quaver.core.records import Variant
from quaver.design.factors.prompt_edits import ORIGINAL, LevelOfFactor
from quaver.design.paraphrase.paraphrase_draft import (
    NOTHING_KEPT,
    Draft,
    NotMade,
    NoWork,
    Paraphrase,
    PromptContext,
    Work,
)
from quaver.design.paraphrase.paraphraser import Foreseen, Paraphraser
from quaver.design.spec.study_file import Positions, bind


class VariantFamily(Protocol):
    """A family of prompt variants, registered under ``quaver.variants``.

    Its constructor takes the options beside its name in the study file, as keyword arguments with annotated
    types. A family may also have a method ``notes(context)``: sentences for the lock file, the plan and the
    report on how its levels were chosen. A family that rewords the instruction has ``rewords = True``: the
    meaning of its levels is then compared with the original's.
    """

    factor: str
    """The column of the annotation frame for its level, unless the study names another.

    Empty if the levels' own columns say everything: their names then consist of these.
    """

    def levels(self, context: PromptContext) -> Sequence[LevelOfFactor]:
        """The levels, in order."""
        ...


class Instructions:
    """Instructions written by hand.

    Args:
        texts: Instruction templates by name. The prompt's own instruction is the level ``original``.
    """

    factor = "paraphrase"
    rewords = True

    def __init__(self, *, texts: dict[str, str]) -> None:
        self._texts = texts

    def levels(self, context: PromptContext) -> Sequence[LevelOfFactor]:
        """The original instruction, then the others in their order."""
        texts = [(ORIGINAL, context.prompt.instruction), *self._texts.items()]
        return [_level(name, text) for name, text in texts]


def _level(name: str, text: str) -> LevelOfFactor:
    def edit(variant: Variant) -> Variant:
        return replace(variant, instruction=text)

    return LevelOfFactor(name, edit, {"family": "instructions", "by": "hand", "parent": ORIGINAL}, turn=-1)


class Paraphrases:
    """Paraphrases that an engine makes; the original prompt is the level ``original``.

    Args:
        engine: A registered engine: llm, pegasus, surface, format, file.
        **options: The engine's own options.
    """

    def __init__(self, *, engine: str, **options: Any) -> None:
        plugin = registry.load("paraphrasers", engine)
        self._name = engine
        bound = bind(plugin, options, Positions(None, {}), (), beside=("use", "engine", "factor", "only"))
        self._engine: Paraphraser = plugin(**bound)
        self.factor = self._engine.factor
        self.rewords = self._engine.part == "instruction"

    def levels(self, context: PromptContext) -> Sequence[LevelOfFactor]:
        """The original prompt, then the engine's paraphrases.

        Raises:
            SpecError: The engine cannot make them, or must not make them now.
            ModelError: A model gave too few.
        """
        engine = self._engine
        original = getattr(context.prompt, engine.part)
        asked = {
            "engine": self._name,
            **engine.asked(),
            "original": original,
            "seed": context.seed,
        }

        drafts: list[Draft] = []

        def fill(draft: Draft, work: Work) -> Sequence[Paraphrase]:
            drafts.append(draft)
            return engine.reword(context, draft, work)

        blank = Draft(original, engine.exact)
        keeper = context.keeper or NOTHING_KEPT
        try:
            paraphrases = keeper.paraphrases(asked, blank, fill) if engine.kept else fill(blank, NoWork())
        except NotMade:
            if not (keeper.stands_in and isinstance(engine, Foreseen)):
                raise
            paraphrases = engine.foreseen(original)
            if (left := engine.to_ask(drafts[-1])) is not None:
                keeper.foresee(left)
        first = LevelOfFactor(
            ORIGINAL, lambda variant: variant, {"family": "paraphrases", "by": "study file"}
        )
        return [first, *(self._level(one) for one in paraphrases)]

    def _level(self, paraphrase: Paraphrase) -> LevelOfFactor:
        def edit(variant: Variant) -> Variant:
            if self.rewords:
                return replace(variant, instruction=paraphrase.text)
            return replace(variant, layout=paraphrase.text)

        origin = {"family": "paraphrases", "engine": self._name, "parent": ORIGINAL, **paraphrase.origin}
        turn = -1 if self.rewords else 0
        return LevelOfFactor(paraphrase.name, edit, origin, turn=turn, covariates=paraphrase.covariates)
