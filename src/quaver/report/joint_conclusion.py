"""What a report says of all specifications of a conclusion together."""

from __future__ import annotations

from collections.abc import Iterable

from quaver.core.number_format import count, decimals, rounded
from quaver.core.records import Estimate


def joint_conclusions(estimates: Iterable[Estimate]) -> list[Estimate]:
    """The joint inference of each conclusion: that over all cells, where there are several.

    >>> cells = ({"conclusion": "c", "model": "m"}, {"conclusion": "c"})
    >>> found = [Estimate("conclusion_joint", 0.5, cell=cell) for cell in cells]
    >>> [one.cell for one in joint_conclusions(found)]
    [{'conclusion': 'c'}]
    """
    found: dict[str, Estimate] = {}
    for one in estimates:
        if one.measure == "conclusion_joint":
            known = found.setdefault(one.cell["conclusion"], one)
            if len(one.cell) < len(known.cell):
                found[one.cell["conclusion"]] = one
    return list(found.values())


def by_chance(one: Estimate) -> str:
    """How many specifications would hold were there no effect, and how likely as many are; empty if untested.

    Args:
        one: The estimate ``conclusion_joint``.

    >>> details = {"count": 9, "expected": 0.31, "expected_high": 2.0, "p_share": 0.002}
    >>> by_chance(Estimate("conclusion_joint", 0.9, n=10, unit="specification", details=details))
    'Were there no effect, about 0.31 of 10 specifications would hold, at most 2 in 95% of cases (p = 0.002).'
    """
    found = one.details
    if "p_share" not in found:
        return ""
    return (
        f"Were there no effect, about {rounded(found['expected'])} of {count(one.n, one.unit)} would hold, "
        f"at most {round(found['expected_high'])} in 95% of cases (p = {decimals(found['p_share'])})."
    )


def median_effect(one: Estimate) -> str:
    """The median estimate with its interval and the p value of no effect; empty if untested.

    >>> details = {"median": 0.07, "median_low": 0.04, "median_high": 0.1, "p_median": 0.002}
    >>> median_effect(Estimate("conclusion_joint", 0.9, details=details))
    'The median estimate is 0.07 [0.04 to 0.10] (p = 0.002).'
    """
    found = one.details
    if "p_median" not in found:
        return ""
    ends = f"[{rounded(found['median_low'])} to {rounded(found['median_high'])}]"
    return f"The median estimate is {rounded(found['median'])} {ends} (p = {decimals(found['p_median'])})."


def corrected_conclusions(estimates: Iterable[Estimate]) -> dict[str, Estimate]:
    """The estimate of each conclusion that is about the true labels, by the conclusion's name."""
    return {
        one.cell["conclusion"]: one
        for one in reversed(list(estimates))
        if one.measure == "conclusion_corrected" and "model" not in one.cell
    }


def in_true_labels(one: Estimate) -> str:
    """What a corrected conclusion says, after its name.

    Args:
        one: The estimate ``conclusion_corrected``.

    >>> details = {"verdict": "holds", "effect": "educ > 0", "gold": 200, "effective_gold": 351.6}
    >>> in_true_labels(Estimate("conclusion_corrected", 0.07, 0.03, 0.11, details=details))
    'holds in the true labels: 0.07 [0.03 to 0.11], from 200 gold labels, corrected; as precise as 352 alone'
    """
    if one.value is None or one.low is None or one.high is None:
        return f"cannot be judged in the true labels: {one.reason or 'no interval'}"
    found = one.details
    words = {"not distinguishable": "is not distinguishable from none"}.get(
        found["verdict"], found["verdict"]
    )
    ends = f"[{rounded(one.low)} to {rounded(one.high)}]"
    said = (
        f"{words} in the true labels: {rounded(one.value)} {ends}, from {count(found['gold'], 'gold label')}"
    )
    return f"{said}, corrected; as precise as {round(found['effective_gold']):,} alone"
