"""``constrained``: the label that a follow-up had the model end its answer with."""

from __future__ import annotations

from typing import ClassVar

from quaver.score.evaluators.exact import Exact


class Constrained(Exact):
    """The follow-up ``constrained`` is read, in which the model could write nothing but a label.

    The answer so far was given back to the model with a marker behind it, and a label had to follow.
    What followed is read as ``exact`` reads it: the whole of it is one of the variant's answers.
    Every answer that is not an error gets a label so, also one that declined or said nothing: this
    shows what the model leans to, not what it said.
    """

    of: ClassVar[str] = "constrained"
