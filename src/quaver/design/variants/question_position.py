"""``position``: the question after the item's text, or before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from quaver.core.records import Variant
from quaver.design.factors.factor_level import ORIGINAL, LevelOfFactor
from quaver.design.paraphrase.prompt_context import PromptContext
from quaver.design.variants.layout_parts import asks_first, question_moved
from quaver.errors import SpecError


class Position:
    """The question (instruction and postfix) ``after`` the text and ``before`` it.

    The lines with the question and the lines with the text swap places; all other lines stay. If the question
    is in the system message (``role``), nothing moves.
    """

    factor = "position"

    def levels(self, context: PromptContext) -> Sequence[LevelOfFactor]:
        """The prompt's own position of the question, then the other.

        Raises:
            SpecError: The layout has no question, or has it on the same lines as the text.
        """
        first = asks_first(context.prompt.layout)
        if first is None:
            raise SpecError(
                "the layout has no question to move",
                where="prompt.layout",
                expected="{{ question }} on lines of its own",
                found=context.prompt.layout[:120],
            )
        return [_level(before) for before in (first, not first)]


def _level(before: bool) -> LevelOfFactor:
    def edit(variant: Variant) -> Variant:
        if asks_first(variant.layout) in (before, None):
            return variant
        return replace(variant, layout=question_moved(variant.layout))

    origin = {"family": "position", "parent": ORIGINAL}
    return LevelOfFactor("before" if before else "after", edit, origin, turn=1)
