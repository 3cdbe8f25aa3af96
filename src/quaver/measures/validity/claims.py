"""What is claimed of a regression: ``educ > 0``, ``party[Rep] < party[Dem]``, ``Intercept + educ > 0.5``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from quaver.errors import MeasureError
from quaver.estimation.arrangement import UnknownColumn
from quaver.estimation.bootstrap import Floats

Verdict = Literal["holds", "reverses", "not distinguishable"]

_NUMBER = re.compile(r"\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+")
_TERM = re.compile(r"[^\W\d]\w*(?:\[[^\]]*\])?(?::[^\W\d]\w*(?:\[[^\]]*\])?)*")


@dataclass(frozen=True, slots=True, eq=False)
class Effect:
    """A claim: that Σ_j contrast_j b_j of a regression's coefficients b is above, or below, a number.

    Attributes:
        text: As it was written.
        contrast: What each coefficient counts, shape (columns,).
        threshold: The number.
        above: Whether it is claimed to be above it.
    """

    text: str
    contrast: Floats
    threshold: float
    above: bool

    def verdict(self, low: float | None, high: float | None) -> Verdict:
        """What an interval says of it: it holds or reverses where the whole interval does."""
        if low is None or high is None or low <= self.threshold <= high:
            return "not distinguishable"
        return "holds" if (low > self.threshold) == self.above else "reverses"


def read_effect(text: str, names: Sequence[str], references: Sequence[str] = ()) -> Effect:
    """Read a claim about a regression.

    Two sides with ``<`` or ``>`` between them; each is a sum of coefficients and numbers, a coefficient
    perhaps times a number (``2 * educ``). A reference level's coefficient is 0.

    >>> found = read_effect("party[Rep] < party[Dem]", ["Intercept", "party[Rep]"], ["party[Dem]"])
    >>> found.contrast.tolist(), found.threshold, found.above
    ([0.0, 1.0], 0.0, False)
    >>> found.verdict(-0.4, -0.1), found.verdict(-0.1, 0.2), found.verdict(0.1, 0.2)
    ('holds', 'not distinguishable', 'reverses')
    """
    known = sorted([*names, *references], key=len, reverse=True)
    total: dict[str, float] = dict.fromkeys(known, 0.0)
    constant, above = 0.0, None
    sign, side, factor, wanted = 1.0, 1.0, 1.0, True
    rest = text.strip()
    while rest:
        name = next((one for one in known if rest.startswith(one)), None)
        number = _NUMBER.match(rest)
        taken = 1
        if wanted and name is not None and not re.match(r"[\w\[:]", rest[len(name) :]):
            total[name] += side * sign * factor
            wanted, factor, sign, taken = False, 1.0, 1.0, len(name)
        elif wanted and number:
            taken = number.end()
            after = rest[taken:].lstrip()
            if after.startswith("*"):
                factor, taken = factor * float(number[0]), len(rest) - len(after) + 1
            else:
                constant += side * sign * factor * float(number[0])
                wanted, factor, sign = False, 1.0, 1.0
        elif rest[0] in "+-" and (not wanted or factor == sign == 1.0):
            sign, wanted = (1.0 if rest[0] == "+" else -1.0), True
        elif rest[0] in "<>" and not wanted and above is None:
            above, side, sign, wanted = rest[0] == ">", -1.0, 1.0, True
            taken = 2 if rest[1:2] == "=" else 1
        else:
            raise _wrong(text, rest, known)
        rest = rest[taken:].lstrip()
    contrast = np.array([total[name] for name in names])
    if above is None or wanted or not contrast.any():
        raise _wrong(text, "", known)
    return Effect(text.strip(), contrast, 0.0 - constant, above)


def _wrong(text: str, rest: str, known: Sequence[str]) -> MeasureError:
    if term := _TERM.match(rest):
        return UnknownColumn(term[0], sorted(known), where="effect")
    return MeasureError(
        "not a claim that can be read",
        where="effect",
        expected="a coefficient against a number or another coefficient: educ > 0, party[a] < party[b]",
        found=text,
        fix=f"the coefficients are {', '.join(sorted(known)[:12])}",
    )
