"""``instructions``: paraphrases of the instruction that a person wrote; the postfix never changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from quaver.core.records import Variant
from quaver.design.factors.factor_level import ORIGINAL, LevelOfFactor
from quaver.design.paraphrase.prompt_context import PromptContext


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
