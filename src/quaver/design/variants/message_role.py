"""``role``: the question in the user message, or in the system message."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from quaver.core.records import Variant
from quaver.design.factors.factor_level import ORIGINAL, LevelOfFactor
from quaver.design.paraphrase.prompt_context import PromptContext
from quaver.design.variants.layout_parts import without_question
from quaver.errors import SpecError


class Role:
    """The question (instruction and postfix) in the ``user`` message, and in the ``system`` message.

    For the latter, the layout's lines with the question move to the end of the system message.
    """

    factor = "role"

    def levels(self, context: PromptContext) -> Sequence[LevelOfFactor]:
        """The unchanged prompt, then the prompt with its question in the system message.

        Raises:
            SpecError: The layout has no question, or has it on the same lines as the text.
        """
        if not without_question(context.prompt.layout)[1]:
            raise SpecError(
                "the layout has no question to move to the system message",
                where="prompt.layout",
                expected="{{ question }} on lines of its own",
                found=context.prompt.layout[:120],
            )
        origin = {"family": "role", "parent": ORIGINAL}
        return [
            LevelOfFactor("user", lambda variant: variant, origin, turn=1),
            LevelOfFactor("system", _moved, origin, turn=1),
        ]


def _moved(variant: Variant) -> Variant:
    layout, question = without_question(variant.layout)
    system = "\n\n".join(part for part in (variant.system, question) if part)
    return replace(variant, layout=layout, system=system)
