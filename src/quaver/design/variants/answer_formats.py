"""``formats``: other formats of the answer (codes, names, letters, swapped letters)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pydantic import BaseModel, ConfigDict, Field

from quaver.core.records import Variant
from quaver.design.factors.factor_level import ORIGINAL, LevelOfFactor
from quaver.design.paraphrase.prompt_context import PromptContext
from quaver.errors import UnknownName


class Format(BaseModel):
    """One format: the postfix that asks for it, the answer for each label, and the limit on the answer."""

    model_config = ConfigDict(extra="forbid", frozen=True, coerce_numbers_to_str=True)

    postfix: str
    answers: dict[str, str] = {}
    max_tokens: int | None = Field(None, ge=1, description="The limit on the answer.")


class Formats:
    """Answer formats written by hand.

    Args:
        formats: By name, the postfix template, the answer for each label code (the prompt's own for a label
            that is left out), and ``max_tokens`` if it differs from the decoding's.
        original: Whether the prompt's own format is one of the levels.
    """

    factor = "format"

    def __init__(self, *, formats: dict[str, Format], original: bool = False) -> None:
        self._formats = formats
        self._original = original

    def levels(self, context: PromptContext) -> Sequence[LevelOfFactor]:
        """The formats in their order, after the prompt's own if it is included.

        Raises:
            UnknownName: A format gives an answer for a label that does not exist.
        """
        for name, form in self._formats.items():
            for code in form.answers:
                if code not in context.labels.codes:
                    raise UnknownName("label", code, context.labels.codes, where=f"format {name}: answers")
        formats = list(self._formats.items())
        if self._original:
            formats.insert(0, (ORIGINAL, Format(postfix=context.prompt.postfix)))
        return [_level(name, form) for name, form in formats]


def _level(name: str, form: Format) -> LevelOfFactor:
    def edit(variant: Variant) -> Variant:
        length = form.max_tokens or variant.max_tokens
        answers = {**variant.answers, **form.answers}
        return replace(variant, postfix=form.postfix, answers=answers, max_tokens=length)

    return LevelOfFactor(name, edit, {"family": "formats", "by": "hand", "parent": ORIGINAL})
