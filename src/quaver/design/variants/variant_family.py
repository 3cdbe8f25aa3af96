"""The protocol of a variant family: a way to vary the prompt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from quaver.design.factors.factor_level import LevelOfFactor
from quaver.design.paraphrase.prompt_context import PromptContext

__all__ = ["VariantFamily"]


class VariantFamily(Protocol):
    """A way to vary the prompt, registered under ``quaver.variants``.

    Its constructor takes the options that stand beside its name in the study file, as keyword
    arguments with annotated types. A family may have a method ``notes(context)`` too: sentences for the
    lock file, the plan and the report on how its levels were chosen. A family that puts the instruction
    into other words says so by ``rewords = True``: its levels' meaning is then compared with the original's.
    """

    factor: str
    """Column of the annotation frame that holds its level, where the study names no other.

    Empty where the levels' own columns say all there is to say: their names are then made of these.
    """

    def levels(self, context: PromptContext) -> Sequence[LevelOfFactor]:
        """The levels, in order."""
        ...
