"""``instructions`` and ``paraphrases``: the instruction in other words, written by hand or by an engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

from quaver.core import registry
from quaver.design.factor_levels import ORIGINAL, LevelOfFactor, Options, level
from quaver.design.paraphrase.paraphraser import (
    REPHRASER,
    Draft,
    NotMade,
    NoWork,
    Paraphrase,
    Paraphraser,
    PromptContext,
    Work,
)
from quaver.design.spec.study_file import Positions, bind
from quaver.errors import SpecError


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


class Instructions(Options):
    """Instructions written by hand.

    Args:
        texts: Instruction templates by name. The prompt's own instruction is the level ``original``.
    """

    factor: ClassVar[str] = "paraphrase"
    rewords: ClassVar[bool] = True
    texts: dict[str, str]

    def levels(self, context: PromptContext) -> Sequence[LevelOfFactor]:
        """The original instruction, then the others in their order."""
        texts = [(ORIGINAL, context.prompt.instruction), *self.texts.items()]
        return [
            level(name, {"instruction": text}, -1, family="instructions", by="hand") for name, text in texts
        ]


class Paraphrases:
    """Paraphrases that an engine makes; the original prompt is the level ``original``.

    Args:
        engine: A registered engine: llm, pegasus, surface, file.
        each: Models of the study that reword for themselves, for the engine ``llm``: each is asked the
            original and its own paraphrases.
        **options: The engine's own options.
    """

    def __init__(self, *, engine: str, each: list[str] | None = None, **options: Any) -> None:
        plugin = registry.load("paraphrasers", engine)
        self._name = engine
        self._engines: dict[str, Paraphraser] = {}
        if each is not None and ("model" in options or not each or len(set(each)) < len(each)):
            raise SpecError(
                "models that write their own paraphrases are each named once, instead of `model`",
                where="each",
                expected="names of the study's models",
                found=str(list(each)),
                fix="remove `model`, or what is named twice",
            )
        for model in each or [""]:
            given = {**options, "model": model} if model else options
            beside = ("use", "engine", "each", "factor")
            self._engines[model] = plugin(**bind(plugin, given, Positions(None, {}), (), beside=beside))
        first = next(iter(self._engines.values()))
        self.factor = first.factor
        self.rewords = first.part == "instruction"

    def levels(self, context: PromptContext) -> Sequence[LevelOfFactor]:
        """The original prompt, then the engine's paraphrases.

        Raises:
            SpecError: The engine cannot make them, or must not make them now.
            ModelError: A model gave too few.
        """
        first = LevelOfFactor(
            ORIGINAL, lambda variant: variant, {"family": "paraphrases", "by": "study file"}
        )
        levels = [first]
        for model, engine in self._engines.items():
            levels += [self._level(paraphrase, model) for paraphrase in self._paraphrases(engine, context)]
        return levels

    def _paraphrases(self, engine: Paraphraser, context: PromptContext) -> Sequence[Paraphrase]:
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
        keeper, foreseen = context.keeper, getattr(engine, "foreseen", None)
        if keeper is None or not engine.kept:
            return fill(blank, NoWork())
        try:
            return keeper.paraphrases(asked, blank, fill)
        except NotMade:
            if foreseen is None or not keeper.stands_in:
                raise
            if left := engine.to_ask(drafts[-1]):  # type: ignore[attr-defined]
                keeper.foresee(left)
            return foreseen(original)  # type: ignore[no-any-return]

    def _level(self, paraphrase: Paraphrase, model: str) -> LevelOfFactor:
        return level(
            f"{model} {paraphrase.name}" if model else paraphrase.name,
            {"instruction" if self.rewords else "layout": paraphrase.text},
            -1 if self.rewords else 0,
            {**paraphrase.covariates, **({REPHRASER: model} if model else {})},
            family="paraphrases",
            engine=self._name,
            **paraphrase.origin,
        )
