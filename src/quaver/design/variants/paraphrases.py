"""``paraphrases``: the instruction, reworded by a paraphraser; the postfix never changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from quaver.core import registry
from quaver.core.records import Variant
from quaver.design.factors.factor_level import ORIGINAL, LevelOfFactor
from quaver.design.paraphrase.paraphrase_draft import Draft, Paraphrase, Work
from quaver.design.paraphrase.paraphrase_keeper import NOTHING_KEPT, NotMade, NoWork
from quaver.design.paraphrase.paraphraser import Foreseen, Paraphraser
from quaver.design.paraphrase.prompt_context import PromptContext
from quaver.design.spec.study_file import Positions, bind


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
