"""``frame``: messages in a chat template, or one plain text that a base model continues."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from quaver.core.records import Variant
from quaver.design.factors.factor_level import ORIGINAL, LevelOfFactor
from quaver.design.paraphrase.prompt_context import PromptContext


class Frame:
    """The prompt as ``chat`` and ``plain``.

    In a plain text, system message, examples and layout are paragraphs; an answer follows each example.

    Args:
        layout: The layout of the plain text, which should end where the answer begins (``Answer:``); the
            prompt's own if left out.
    """

    factor = "frame"

    def __init__(self, *, layout: str | None = None) -> None:
        self._layout = layout

    def levels(self, context: PromptContext) -> Sequence[LevelOfFactor]:
        """The prompt as it stands, then in the other frame."""
        own: Literal["chat", "plain"] = context.prompt.frame
        return [self._level(own, own), self._level("plain" if own == "chat" else "chat", own)]

    def _level(self, frame: Literal["chat", "plain"], own: str) -> LevelOfFactor:
        def edit(variant: Variant) -> Variant:
            layout = self._layout if self._layout and frame == "plain" else variant.layout
            return variant if frame == own else replace(variant, frame=frame, layout=layout)

        return LevelOfFactor(frame, edit, {"family": "frame", "parent": ORIGINAL})
