"""The protocol of a family of prompt variants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from quaver.design.factors.factor_level import LevelOfFactor
from quaver.design.paraphrase.prompt_context import PromptContext


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
