"""What replications say of a measure: coverage, width, error rates, warnings, and a verdict."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from quaver.core.records import Estimate, IntervalWarning

Floats = NDArray[np.float64]
FIXED = "fixed"
"""The estimand of a measure that offers no choice: these prompts, other items."""

Verdict = Literal["pass", "warned", "wide", "fail", "open"]

NOMINAL, COVERED, REJECTED, WIDTH = 0.95, 0.92, 0.065, 1.25
"""What a 95% interval has to be able to cover and what it has to cover at least, the most rejections of a
true null at 5%, and the widest interval beside an oracle's, that pass."""

LEVEL = 0.05
_Z = 1.645
"""How many standard errors a line may miss its limit by: one-sided, at 5%."""

FEW = 30
"""From fewer replications or intervals nothing is concluded."""

_FLOOR, _NEAR = 0.05, 0.05
"""A null hypothesis holds where the truth is nearer to it than this share of what is estimated on average (a
distance, which noise pushes up), or of the estimates' standard deviation (anything else)."""


class KeptEstimate(NamedTuple):
    """What is kept of an estimate.

    Attributes:
        value: The number; None where undefined.
        low: The interval's lower end.
        high: Its upper end.
        p: The p value of its own test.
        p_holm: The same, adjusted for the other comparisons.
        warnings: The warnings' kinds, without their numbers.
        truth: What the interval should hold, where that differs from one replication to the next.
        doubted: Whether a warning is about the interval.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    p_holm: float | None = None
    warnings: tuple[str, ...] = ()
    truth: float | None = None
    doubted: bool = False


def kind_of(warning: str) -> str:
    """A warning without its numbers.

    >>> kind_of("only 3 of 1,200 units differ: 0.1 to 5e-05")
    'only # of # units differ: # to #'
    """
    return re.sub(r"-?\d[\d,]*(\.\d+)?(e-?\d+)?", "#", warning)[:120]


def kept_of(estimate: Estimate) -> KeptEstimate:
    """What is kept of an estimate."""
    p, holm = (estimate.details.get(name) for name in ("p", "p_holm"))
    return KeptEstimate(
        value=estimate.value,
        low=estimate.low,
        high=estimate.high,
        p=p if isinstance(p, float) and math.isfinite(p) else None,
        p_holm=holm if isinstance(holm, float) else None,
        warnings=tuple(dict.fromkeys(map(kind_of, estimate.warnings)))
        or ((kind_of(estimate.reason),) if estimate.reason else ()),
        doubted=any(isinstance(warning, IntervalWarning) for warning in estimate.warnings),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One measure in one population: its estimates of one name, taken together.

    Attributes:
        cell: The population.
        measure: What is certified.
        name: The estimates' name.
        estimand: What the interval is of.
        places: How many estimates each study gives (one for each prompt, label …).
        replications: How many studies.
        truth: The true value, the mean over places.
        bias: Mean estimate less the truth.
        defined: The share of estimates that have a value.
        interval: The share that have an interval.
        coverage: The share of intervals that hold the truth; of those that there are.
        coverage_error: Its Monte-Carlo standard error.
        above: The share of intervals that lie above the truth.
        unwarned: The share of intervals without a warning that is about the interval (`IntervalWarning`).
        coverage_unwarned: Coverage of those.
        unwarned_error: The Monte-Carlo standard error of that.
        width: Mean width over that of an oracle, which knows how the estimates vary (`Place.oracle`).
        rejected: The share of p values below 5% where the null hypothesis is true.
        rejected_error: Its Monte-Carlo standard error.
        rejected_holm: The share of studies with an adjusted p value below 5%, where all nulls are true.
        power: The share of p values below 5% where it is not.
        warnings: The most frequent kinds of warning or reason, with their shares.
        verdict: Whether it passes.
    """

    cell: str
    measure: str
    name: str
    estimand: str
    places: int
    replications: int
    truth: float | None = None
    bias: float | None = None
    defined: float = 0.0
    interval: float = 0.0
    coverage: float | None = None
    coverage_error: float | None = None
    above: float | None = None
    unwarned: float | None = None
    coverage_unwarned: float | None = None
    unwarned_error: float | None = None
    width: float | None = None
    rejected: float | None = None
    rejected_error: float | None = None
    rejected_holm: float | None = None
    power: float | None = None
    warnings: Mapping[str, float] = field(default_factory=dict)
    verdict: Verdict = "open"

    def document(self) -> dict[str, Any]:
        """The line as a mapping, with four digits."""
        return {k: round(v, 4) if isinstance(v, float) else v for k, v in asdict(self).items()}


class Place:
    """One estimate of a population over replications, in arrays; NaN where there is no number.

    Args:
        said: What was said, by replication.
        replications: Those in which it was taken.
        truth: The true value, where it is the same in all of them.
        units: How many units there are of what is sampled: groups, or prompts where these are fewer.
    """

    def __init__(
        self,
        said: Mapping[int, KeptEstimate],
        replications: Sequence[int],
        truth: float | None,
        units: int = 1000,
    ) -> None:
        self._stretch = float(special.stdtrit(max(1, units - 1), 0.975) / special.ndtri(0.975))
        missing = KeptEstimate(None)
        rows = [said.get(index, missing) for index in replications]
        self.value, self.low, self.high, self.p, self.p_holm, self.own = (
            np.array([np.nan if row[at] is None else row[at] for row in rows], np.float64)
            for at in (0, 1, 2, 3, 4, 6)
        )
        self.warnings = [row.warnings for row in rows]
        self.truth = np.where(np.isfinite(self.own), self.own, np.nan if truth is None else truth)
        self.given = np.isfinite(self.low) & np.isfinite(self.truth)
        near = 1e-9 * np.maximum(1.0, np.abs(self.truth))  # sums in another order differ in the last digit
        with np.errstate(invalid="ignore"):
            self.under = self.given & (self.high < self.truth - near)
            self.above = self.given & (self.low > self.truth + near)
        self.covers = self.given & ~self.under & ~self.above
        self.warned = np.array([row.doubted for row in rows])

    def oracle(self) -> float:
        """The mean width of an interval that knows the form in which the estimates vary about their truth.

        That of the middle 95% of them; of shares near 0 or 1, whose estimates are all alike in most studies,
        Jeffreys' interval at the number of items that gives the estimates the variance that they have. How
        much they vary has to be estimated, so that few units stretch it as they do Student's interval.
        """
        error = self.value - np.where(np.isfinite(self.own), self.own, 0.0)
        known = error[np.isfinite(error)]
        if known.size < FEW or not (variance := float(known.var())) > 0:
            return np.nan
        middle = float(np.subtract(*np.quantile(known, [0.975, 0.025])))
        truth = float(np.nanmean(self.truth)) if np.isfinite(self.truth).any() else np.nan
        if np.isfinite(self.own).any() or known.min() < 0 or known.max() > 1 or not 0 < truth < 1:
            return self._stretch * middle
        n = truth * (1 - truth) / variance
        low, high = (
            special.betaincinv(n * known + 0.5, n * (1 - known) + 0.5, tail) for tail in (0.025, 0.975)
        )
        ends = np.where(known >= 1, 1.0, high) - np.where(known <= 0, 0.0, low)
        return self._stretch * max(middle, float(ends.mean()))

    def null_holds(self, null: float | None) -> bool:
        """Whether the truth is what the test's null hypothesis says."""
        known = self.value[np.isfinite(self.value)]
        if not known.size or not np.isfinite(self.truth).any():
            return False
        truth = float(np.nanmean(self.truth))
        if null is None:
            return truth <= _FLOOR * float(known.mean())
        return abs(truth - null) <= max(_NEAR * float(known.std()), 1e-9)


def line_of(about: Line, places: Sequence[Place], null: float | None = None, why_not: str = "") -> Line:
    """A line with its numbers and its verdict."""
    values = np.stack([position.value for position in places])
    given, covers = (
        np.stack([getattr(position, name) for position in places]) for name in ("given", "covers")
    )
    made: dict[str, Any] = asdict(about)
    made |= {"defined": float(np.isfinite(values).mean()), "interval": float(given.mean())}
    truths = [float(np.nanmean(position.truth)) for position in places if np.isfinite(position.truth).any()]
    if truths:
        off = [float(np.nanmean(p.value - p.truth)) for p in places if np.isfinite(p.value - p.truth).any()]
        made |= {"truth": float(np.mean(truths)), "bias": float(np.mean(off)) if off else None}
    if given.any() and not why_not:
        made |= _coverage(places, given, covers)
    if not why_not:
        made |= _tests(places, null)
    counted = Counter(kind for position in places for kinds in position.warnings for kind in kinds)
    made["warnings"] = {kind: round(n / values.size, 3) for kind, n in counted.most_common(4)}
    return Line(**{**made, "verdict": judged(made)})


def _coverage(places: Sequence[Place], given: NDArray[np.bool_], covers: NDArray[np.bool_]) -> dict[str, Any]:
    warned = np.stack([position.warned for position in places])
    coverage, error = _share(covers, given)
    plain, plain_error = _share(covers & ~warned, given & ~warned)
    widths = [position.high[position.given] - position.low[position.given] for position in places]
    ratios = [
        float(width.mean()) / oracle
        for width, one in zip(widths, places, strict=True)
        if width.size and (oracle := one.oracle()) > 1e-9
    ]
    return {
        "coverage": coverage,
        "coverage_error": error,
        "above": float(np.stack([position.above for position in places]).sum() / given.sum()),
        "unwarned": float((given & ~warned).sum() / given.sum()),
        "coverage_unwarned": plain,
        "unwarned_error": plain_error,
        "width": float(np.median(ratios)) if ratios else None,
    }


def _share(what: NDArray[np.bool_], of: NDArray[np.bool_]) -> tuple[float | None, float | None]:
    """A share over places and replications, and its standard error: the places of a study go together."""
    count, size = what.sum(0).astype(float), of.sum(0).astype(float)
    if not size.sum():
        return None, None
    share = count.sum() / size.sum()
    some = int((size > 0).sum())
    spread = np.sqrt(((count - share * size) ** 2).sum()) / size.sum()
    least = np.sqrt(max(share * (1 - share), 0.02) / some)  # none of few is no certainty
    return float(share), float(max(spread, least) if share in (0.0, 1.0) else spread)


def _tests(places: Sequence[Place], null: float | None) -> dict[str, Any]:
    tested = [position for position in places if np.isfinite(position.p).any()]
    if not tested:
        return {}
    holds = [one.null_holds(null) for one in tested]
    result: dict[str, Any] = {}
    for name, wanted in (("rejected", True), ("power", False)):
        some = [one for one, is_null in zip(tested, holds, strict=True) if is_null is wanted]
        if some:
            p = np.stack([one.p for one in some])
            share, error = _share(p < LEVEL, np.isfinite(p))
            result |= {name: share, **({"rejected_error": error} if wanted else {})}
    if all(holds):
        adjusted = np.stack([one.p_holm for one in tested])
        known = np.isfinite(adjusted).any(0)
        if known.any():
            result["rejected_holm"] = float(
                (np.nan_to_num(adjusted[:, known], nan=1.0) < LEVEL).any(0).mean()
            )
    return result


def judged(made: Mapping[str, Any]) -> Verdict:
    """What a line's numbers say, as far as its replications can.

    It passes only where the upper limit of its coverage is at least 95% and the lower one at least 92%. Where
    the upper one is below 92% it fails, or is warned. Between the two it is open: more replications tell.

    >>> line = dict.fromkeys(Line.__dataclass_fields__) | {"replications": 200, "places": 1, "interval": 1.0}
    >>> for coverage, error in ((0.95, 0.015), (0.93, 0.018), (0.93, 0.005), (0.85, 0.025)):
    ...     print(judged(line | {"coverage": coverage, "coverage_error": error}))
    pass
    open
    open
    warned
    """
    coverage, studies = made["coverage"], made["replications"] * made["places"]
    covered = coverage is not None and made["interval"] * studies >= FEW
    if made["replications"] < FEW or not (covered or made["rejected"] is not None):
        return "open"
    if _rejects(made["rejected"], made["rejected_error"]) or _rejects(
        made["rejected_holm"], (REJECTED * (1 - REJECTED) / made["replications"]) ** 0.5
    ):
        return "fail"
    if _misses(coverage, made["coverage_error"]):
        few = (made["unwarned"] or 0) * studies < FEW
        return "warned" if few or not _misses(made["coverage_unwarned"], made["unwarned_error"]) else "fail"
    if coverage is not None:
        margin = _Z * (made["coverage_error"] or 0.0)
        if not NOMINAL - margin <= coverage >= COVERED + margin:
            return "open"
    if made["width"] is not None and made["width"] > WIDTH * (1 + _Z / made["replications"] ** 0.5):
        return "wide"
    return "pass"


def _misses(coverage: float | None, error: float | None) -> bool:
    return coverage is not None and coverage < COVERED - _Z * (error or 0.0)


def _rejects(share: float | None, error: float | None) -> bool:
    return share is not None and share > REJECTED + _Z * (error or 0.0)


_SAID: Mapping[Verdict, str] = {
    "pass": "pass",
    "wide": "pass but are wide",
    "warned": "miss with a warning",
    "fail": "fail",
    "open": "are open",
}


def covers_of(lines: Sequence[Mapping[str, Any]]) -> list[float]:
    """What the intervals of lines cover, of those with as many intervals as a verdict takes."""
    return [
        one["coverage"]
        for one in lines
        if one["coverage"] is not None and one["interval"] * one["replications"] * one["places"] >= FEW
    ]


def verdicts(lines: Sequence[Mapping[str, Any]]) -> dict[Verdict, dict[str, Any]]:
    """Of each verdict, how many lines there are, and what their intervals cover: least, on average."""
    found: dict[Verdict, dict[str, Any]] = {}
    for verdict in _SAID:
        some = [one for one in lines if one["verdict"] == verdict]
        covers = covers_of(some)
        mean = round(sum(covers) / len(covers), 4) if covers else None
        found[verdict] = {
            "lines": len(some),
            "covered": len(covers),
            "coverage_least": min(covers, default=None),
            "coverage": mean,
        }
    return found


def verdicts_in_words(lines: Sequence[Mapping[str, Any]]) -> str:
    """The counts of all verdicts in one sentence, with what the lines cover."""
    parts = []
    for verdict, found in verdicts(lines).items():
        covers, least = found["coverage"], found["coverage_least"]
        of = "" if found["covered"] == found["lines"] else f"{found['covered']:,} of them "
        beside = "" if covers is None else f" ({of}covering {covers:.1%} on average, {least:.1%} at least)"
        parts.append(f"{found['lines']:,} {_SAID[verdict]}{beside}")
    few = sum(one["verdict"] == "open" and not covers_of([one]) for one in lines)
    return (
        f"Of {len(lines):,} lines {', '.join(parts[:-1])}, and {parts[-1]}; {few:,} of these have no "
        f"interval or test, or fewer than {FEW} intervals."
    )
