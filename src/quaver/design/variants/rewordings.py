"""``instructions`` and ``paraphrases``: the instruction in other words, written by hand or by an engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from quaver.core import registry
from quaver.design.factor_levels import ORIGINAL, LevelOfFactor, family, level
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
    """A family of prompt variants, registered under ``quaver.variants``: a function, declared by `family`.

    The options beside its name in the study file are its keyword arguments, with annotated types.
    """

    factor: str
    rewords: bool

    def __call__(self, context: PromptContext, **options: Any) -> Sequence[LevelOfFactor]:
        """The levels, in order."""
        ...


@family("paraphrase", rewords=True)
def instructions(context: PromptContext, *, texts: dict[str, str]) -> Sequence[LevelOfFactor]:
    """The original instruction, then others that are written by hand.

    Args:
        context: The prompt.
        texts: Instruction templates by name. The prompt's own instruction is the level ``original``.
    """
    named = [(ORIGINAL, context.prompt.instruction), *texts.items()]
    return [level(name, {"instruction": text}, -1, family="instructions", by="hand") for name, text in named]


@family("paraphrase", rewords=True)
def paraphrases(
    context: PromptContext, *, engine: str, each: list[str] | None = None, **options: Any
) -> Sequence[LevelOfFactor]:
    """The original prompt, then the paraphrases that an engine makes of its instruction.

    Args:
        context: The prompt.
        engine: A registered engine: llm, pegasus, surface, file.
        each: Models of the study that reword for themselves, for the engine ``llm``: each is asked the
            original and its own paraphrases.
        **options: The engine's own options.

    Raises:
        SpecError: The engine cannot make them, or must not make them now.
        ModelError: A model gave too few.
    """
    plugin = registry.load("paraphrasers", engine)
    if each is not None and ("model" in options or not each or len(set(each)) < len(each)):
        raise SpecError(
            "models that write their own paraphrases are each named once, instead of `model`",
            where="each",
            expected="names of the study's models",
            found=str(list(each)),
            fix="remove `model`, or what is named twice",
        )
    levels = [LevelOfFactor(ORIGINAL, lambda variant: variant, {"family": "paraphrases", "by": "study file"})]
    beside = ("use", "engine", "each", "factor")
    engines = []
    for model in each or [""]:
        given = {**options, "model": model} if model else options
        engines.append((model, plugin(**bind(plugin, given, Positions(None, {}), (), beside=beside))))
    for model, made in engines:
        for paraphrase in _made(engine, made, context):
            levels.append(
                level(
                    f"{model} {paraphrase.name}" if model else paraphrase.name,
                    {"instruction": paraphrase.text},
                    -1,
                    {**paraphrase.covariates, **({REPHRASER: model} if model else {})},
                    family="paraphrases",
                    engine=engine,
                    **paraphrase.origin,
                )
            )
    return levels


def _made(name: str, engine: Paraphraser, context: PromptContext) -> Sequence[Paraphrase]:
    """An engine's paraphrases, made now or kept; in a plan, what stands in for those yet to make."""
    original = context.prompt.instruction
    asked = {"engine": name, **engine.asked(), "original": original, "seed": context.seed}
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
