"""``treatments``: six ways to ask for a choice among options, each with a last line ``FINAL: …``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pydantic import BaseModel, ConfigDict, Field

from quaver.core.records import Variant
from quaver.design.factors.factor_level import ORIGINAL, LevelOfFactor
from quaver.design.paraphrase.prompt_context import PromptContext
from quaver.errors import SpecError, UnknownName


class Treatment(BaseModel):
    """The text of a treatment, between the question and the request for the last line."""

    model_config = ConfigDict(extra="forbid", frozen=True, coerce_numbers_to_str=True)

    text: str | None = Field(None, description="Template of its text; empty for none.")
    max_tokens: int | None = Field(None, ge=1, description="The limit on an answer.")


_STEPS = "Think step by step: say of each option what speaks for it and what against it."
_CONSTRAINT = (
    "Use nothing but the background and the options that are given here, whatever else you may know. "
    "On the line before the last, quote the option that you choose, word for word."
)

TREATMENTS: Mapping[str, Treatment] = {
    "T1": Treatment(text="", max_tokens=96),
    "T2": Treatment(
        text="Give the final answer only: no reasoning, no explanation, nothing else.", max_tokens=16
    ),
    "T3": Treatment(text=_STEPS, max_tokens=320),
    "T4": Treatment(text=_CONSTRAINT, max_tokens=128),
    "T5": Treatment(text=f"{_STEPS} {_CONSTRAINT}", max_tokens=384),
    "T6": Treatment(
        text="Before you answer, check your choice in silence: does it answer the question, and does no "
        "other option do so better? Write nothing of this check.",
        max_tokens=96,
    ),
}
"""Plain; final answer only; step by step; given information only; both of these; silent check."""

FINAL = "Let your last line be FINAL: and the answer, one of {{ answers | join(', ') }}."


class Treatments:
    """The treatments of a multiple-choice study.

    ``T1`` plain, ``T2`` final answer only, ``T3`` step by step, ``T4`` only the given options and background,
    ``T5`` both (step by step, from what is given), ``T6`` silent self-check; T4 and T5 also ask for a line
    that quotes the chosen option. The instruction stays; the treatment's text and the request for the last
    line are the postfix. Use the evaluator ``final_line``.

    Args:
        treatments: Other texts or limits for these treatments, and further treatments.
        which: The names of the treatments to use, in this order; all if left out.
        final: Template of the request for the last line.
        original: Whether the untreated prompt is one of the levels.
    """

    factor = "treatment"

    def __init__(
        self,
        *,
        treatments: dict[str, Treatment] | None = None,
        which: list[str] | None = None,
        final: str = FINAL,
        original: bool = False,
    ) -> None:
        known = dict(TREATMENTS)
        for name, given in (treatments or {}).items():
            own = {key: value for key, value in given if value is not None}
            known[name] = known.get(name, Treatment()).model_copy(update=own)
            if known[name].text is None:
                raise SpecError(
                    f"the treatment {name!r} has no text",
                    where=f"treatments: {name}",
                    expected="text: …, or one of the names " + ", ".join(TREATMENTS),
                )
        for name in which or ():
            if name not in known:
                raise UnknownName("treatment", name, known, where="which")
        if "FINAL" not in final:
            raise SpecError(
                "the text does not ask for a last line",
                where="final",
                expected="a request for a last line FINAL: and the answer",
                found=final[:120],
            )
        self._treatments = {name: known[name] for name in (known if which is None else which)}
        self._given = set(treatments or ())
        self._final, self._original = final, original

    def levels(self, context: PromptContext) -> Sequence[LevelOfFactor]:
        """The treatments in their order, after the untreated prompt if it is included."""
        untreated = LevelOfFactor(ORIGINAL, lambda variant: variant, {"family": "treatments"}, turn=2)
        levels = [self._level(name, one) for name, one in self._treatments.items()]
        return [untreated, *levels] if self._original else levels

    def _level(self, name: str, treatment: Treatment) -> LevelOfFactor:
        postfix = "\n".join(part for part in (treatment.text, self._final) if part)

        def edit(variant: Variant) -> Variant:
            length = variant.max_tokens if treatment.max_tokens is None else treatment.max_tokens
            return replace(variant, postfix=postfix, max_tokens=length)

        by = "hand" if name in self._given else "built in"
        return LevelOfFactor(name, edit, {"family": "treatments", "by": by, "parent": ORIGINAL}, turn=2)
