"""What a difference amounts to, in words: a loss, none larger than so much, or too little to tell."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import ceil
from typing import Any, Final, Literal, get_args

from quaver.core.number_format import decimals, is_level, rounded, short_name
from quaver.core.records import Estimate
from quaver.core.rows import Better, measure_of, of_measures, presented
from quaver.report.page_templates import template

Kind = Literal["loss", "change", "cannot tell", "undefined", "no loss", "no change", "gain"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
"""What a difference can amount to, the one that matters most first."""

MARGIN: Final = 0.03
"""The largest loss that is taken for none, in the measure's own unit, where you name no other."""

LOST: Final = "lost"
"""In the details of a class that is no longer answered: how many items had it before."""

FAMILY: Final = "family"
"""In the details of a difference that the bound ``loss`` alone is about."""


LOSS: Final = "loss"
"""The bound by what users lose: overall, in each class and in each declared group."""


def owner(name: str) -> str:
    """The measure that gives estimates of a name; of a conclusion, the name itself."""
    return measure_of(name) or name


@dataclass(frozen=True, slots=True, eq=False)
class Bound:
    """What a difference may not be, or must be.

    Attributes:
        measure: Whose difference: the name of an estimate or of a measure; or ``loss``.
        where: In which cells, by column: ``accuracy[variant=plain] < 0`` (see `level_names.is_level`).
        sign: On which side of the limit.
        limit: In the measure's own unit.
        kind: ``"if"`` fails where the whole interval lies on that side; ``"unless"`` where it does not.
        text: As it was written.
    """

    measure: str
    where: Mapping[str, str]
    sign: Literal["<", ">"]
    limit: float
    kind: Literal["if", "unless"]
    text: str

    def about(self, estimates: Sequence[Estimate]) -> list[Estimate]:
        """The differences under this bound.

        The name of a measure that gives no estimate of that name stands for the first that it gives in
        such cells: ``f1`` for ``f1_macro``.
        """
        if self.measure == LOSS:
            return [estimate for estimate in estimates if FAMILY in estimate.details]
        here = [estimate for estimate in estimates if FAMILY not in estimate.details]
        for column, level in self.where.items():
            here = [estimate for estimate in here if is_level(estimate.cell, column, level)]
        names = [estimate.measure for estimate in here if owner(estimate.measure) == self.measure]
        name = self.measure if self.measure in names else next(iter(names), self.measure)
        return of_measures(here, name)

    def judged(self, estimates: Sequence[Estimate]) -> list[Estimate]:
        """The differences under this bound that have an interval."""
        return [estimate for estimate in self.about(estimates) if estimate.low is not None]

    def beyond(self, estimate: Estimate) -> bool:
        """Whether the whole of a difference's interval lies on the bound's side of its limit."""
        if estimate.interval is None:
            return False
        low, high = estimate.interval
        return high < self.limit if self.below(estimate) else low > self.limit

    def below(self, estimate: Estimate) -> bool:
        """Whether it is about differences below its limit; a loss is one above it where less is better."""
        how = presented(estimate.measure) if self.measure == LOSS else None
        return (self.sign == "<") != (how is not None and how.better == "lower")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a difference amounts to.

    Attributes:
        kind: ``"loss"`` and ``"gain"``: the whole interval lies on that side of zero. ``"no loss"``: it
            leaves out every loss larger than the margin. ``"change"`` and ``"no change"`` are the same of a
            measure of which neither more nor less is better. ``"cannot tell"``: none of these.
        estimate: The difference.
        margin: The largest loss that is taken for none.
        better: Which way is better, as the measure declares it.
        where: Its cell in one line, as far as it tells it from the verdicts beside it.
        bound: The bound that it was judged by; None where it was not.
        failed: Whether the bound fails for it.
    """

    kind: Kind
    estimate: Estimate
    margin: float
    better: Better | None
    where: str = ""
    bound: Bound | None = None
    failed: bool = False

    @property
    def measure(self) -> str:
        """The measure of the difference."""
        return self.estimate.measure

    @property
    def before(self) -> str:
        """The measure before."""
        return _number(self.measure, self.estimate.details.get("before"))

    @property
    def after(self) -> str:
        """The measure after."""
        return _number(self.measure, self.estimate.details.get("after"))

    @property
    def difference(self) -> str:
        """After less before."""
        return _signed(self.measure, self.estimate.value)

    @property
    def interval(self) -> str:
        """The interval of the difference."""
        return _span(self.measure, self.estimate.interval)

    @property
    def unpaired(self) -> str:
        """The interval that two samples of their own would allow."""
        return _span(self.measure, self.estimate.details.get("unpaired"))

    @property
    def sentence(self) -> str:
        """The verdict in a sentence, with its numbers."""
        parts = [self.words]
        if self.before and self.after:
            parts.append(f"{self.before} before, {self.after} after")
        if self.interval:
            parts.append(f"difference {self.difference} ({self.interval})")
        shown = "; ".join(parts)
        return f"{shown[:1].upper()}{shown[1:]}."

    @property
    def words(self) -> str:
        """The verdict as a sentence without its full stop; of a conclusion, whether about the true labels."""
        return worded("amount", self)

    @property
    def of_part(self) -> bool:
        """Whether it is about users of one class or one group: a class that is lost among them."""
        return LOST in self.estimate.details or bool(self.estimate.details.get(FAMILY))

    @property
    def is_lost(self) -> bool:
        """Whether it is a loss, or of a class that is no longer answered."""
        return self.kind == "loss" or LOST in self.estimate.details

    @property
    def at_most(self) -> float:
        """The largest loss that the interval holds."""
        low, high = self.estimate.low or 0.0, self.estimate.high or 0.0
        return {"higher": -low, "lower": high, None: max(-low, high)}[self.better]

    @property
    def hidden(self) -> str:
        """The largest loss that the interval leaves room for, in words."""
        return size_of(self.estimate.measure, self.at_most, up=True)

    def document(self) -> dict[str, Any]:
        """The difference with what it amounts to, for JSON."""
        about = {"kind": self.kind, "words": self.words, "subject": worded("subject", self)}
        return self.estimate.document() | about | {"margin": self.margin}


def worded(words: str, *about: Any) -> str:
    """A rendered macro of ``templates/comparison/words.txt``."""
    return str(getattr(_texts(), words)(*about))


@cache
def _texts() -> Any:
    facts = {"size_of": size_of, "bare": _bare, "short_name": short_name}
    return template("comparison/words.txt").make_module(facts)


def verdict_on(estimate: Estimate, margin: float = MARGIN) -> Verdict:
    """The verdict on a difference: from its interval, never from its value.

    Of several differences of one measure, a loss or a gain must hold for all of them together (Holm's p).

    >>> verdict_on(Estimate("accuracy", -0.079, -0.113, -0.045, n=240)).words
    'a loss of 7.9 points (4.5 to 11)'
    >>> verdict_on(Estimate("accuracy", 0.0, -0.0152, 0.0152, n=240)).words
    'no loss larger than 1.6 points'
    """
    how = presented(estimate.measure)
    better: Better | None = how.better if how else None
    return Verdict(_kind(estimate, margin, better), estimate, margin, better)


def _kind(estimate: Estimate, margin: float, better: Better | None) -> Kind:
    if estimate.value is None:
        return "undefined"
    if estimate.interval is None:
        return "cannot tell"
    low, high = estimate.interval
    worst, best = (-high, -low) if better == "lower" else (low, high)
    by_chance = estimate.details.get("p_holm", 0.0) >= 1 - estimate.confidence_level
    if best < 0 or worst > 0:
        side: Kind = "change" if better is None else "loss" if best < 0 else "gain"
        if not by_chance:
            return side
        if side != "gain":
            return "cannot tell"
    if better is None:
        return "no change" if max(-low, high) <= margin else "cannot tell"
    return "no loss" if -worst <= margin else "cannot tell"


def size_of(measure: str, value: float, *, up: bool = False) -> str:
    """The size of a difference of a measure; rounded up where it must not be taken for smaller.

    >>> size_of("accuracy", 0.0792), size_of("accuracy", 0.1201, up=True), size_of("accuracy", 0.01)
    ('7.9 points', '13 points', '1 point')
    >>> size_of("inter_pss", 0.0792)
    '0.08'
    """
    bare, how = _bare(measure, value, up=up), presented(measure)
    if how is None or not how.in_percent:
        return bare
    return f"{bare} {'point' if bare == '1' else 'points'}"


def _bare(measure: str, value: float, *, up: bool = False) -> str:
    how = presented(measure)
    if how is None or not how.in_percent:
        return rounded(ceil(value * 1000 - 1e-6) / 1000 if up else value)
    parts = 10 if value < 0.1 else 1  # tenths of a point, below ten points
    whole = value * 100 * parts
    return f"{(ceil(whole - 1e-6) if up else round(whole)) / parts:g}"


def _signed(measure: str, value: float | None) -> str:
    """A difference with its sign.

    >>> _signed("accuracy", -0.0792), _signed("accuracy", 0.0), _signed("inter_pss", 0.1)
    ('−7.9 points', '0 points', '+0.10')
    """
    if value is None:
        return ""
    size = size_of(measure, abs(value))
    return f"{'−' if value < 0 else '+'}{size}" if size.strip("0. points") else size


def _span(measure: str, ends: tuple[float, float] | None) -> str:
    if ends is None:
        return ""
    start = _signed(measure, ends[0]).removesuffix(" points").removesuffix(" point")
    return f"{start} to {_signed(measure, ends[1])}"


def _number(measure: str, value: float | None) -> str:
    how = presented(measure)
    if value is None:
        return ""
    return f"{100 * value:.1f}%" if how is not None and how.in_percent else decimals(value)


def gravest(verdicts: Iterable[Verdict]) -> Verdict | None:
    """The verdict that matters most: a loss before what is open, the largest of several losses."""

    def grave(verdict: Verdict) -> tuple[int, float]:
        value = verdict.estimate.number
        towards = {"higher": value, "lower": -value, None: -abs(value)}[verdict.better]
        return KINDS.index(verdict.kind), towards

    return min(verdicts, key=grave, default=None)
