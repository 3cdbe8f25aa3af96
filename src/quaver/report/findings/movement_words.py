"""What moves the labels, as a sentence of the verdict, and how names and estimates are written in it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from quaver.core.column_names import in_words
from quaver.core.number_format import enumeration, percent, rounded, with_interval
from quaver.core.records import Estimate
from quaver.report.estimate_index import NO_LABEL, Results
from quaver.report.findings.recommendation import Recommendation
from quaver.report.findings.verdicts import beyond_chance
from quaver.report.page_words import shortened

_LONGEST = 60
"""Characters of a name that are shown."""

NAMED = 3
"""As many models, and prompts, are named."""

_APART = 0.1
"""Where the share of missing answers differs by this much between levels, these are named."""

_WITHOUT_LABELS: Final = frozenset({"failed", "unreadable", "cut off", "empty field"})
"""Reasons that are about answers rather than labels."""

_SAID: Final = frozenset({"unsteady", "unclear", "moved by order", "moved by format"})
"""Reasons that say already how often another prompt changes a label."""

_UNSEEN: Final = "What moves the labels cannot be seen from these answers."


def known(one: Recommendation, name: str) -> Estimate | None:
    """An estimate of a recommendation or its verdict; None where it has no value."""
    found = next((own for own in one.evidence if own.measure == name), one.verdict.evidence.get(name))
    return found if found is not None and found.value is not None else None


def rounded_with_interval(one: Estimate) -> str:
    """A number that is no share, with its interval.

    >>> rounded_with_interval(Estimate("kappa", 0.5, 0.4, 0.6))
    '0.50 [0.40 to 0.60]'
    """
    ends = "" if one.low is None or one.high is None else f" [{rounded(one.low)} to {rounded(one.high)}]"
    return f"{rounded(one.value or 0.0)}{ends}"


def label_in_words(results: Results, code: str) -> str:
    """A label in quotation marks, or that there is none."""
    return code if code == NO_LABEL else quoted(results.label_name(code))


def quoted(name: object) -> str:
    r"""A name in quotation marks, on one line and not too long.

    >>> quoted("for\nor against")
    '“for or against”'
    """
    return f"“{shortened(name, _LONGEST)}”"


def on_a_scale(one: Recommendation) -> Estimate | None:
    """What prompts agree, where labels have an order, so that a step between neighbours weighs little."""
    agreement = known(one, "flips_agreement")
    nominal = agreement is None or agreement.details.get("level", "nominal") == "nominal"
    return None if nominal else agreement


def sentence(clause: str) -> str:
    """A clause as a sentence."""
    return f"{clause[:1].upper()}{clause[1:]}."


def movement(results: Results, found: Sequence[Recommendation]) -> str:
    """What moves the labels: another prompt, asking again, and which part of the prompt."""
    seen = [one for one in found if known(one, "flips_prompts") or known(one, "flips_repeats")]
    if not seen:
        return _UNSEEN
    return _moved(results, seen[0]) if len(found) == 1 else _compared(seen)


def _compared(seen: Sequence[Recommendation]) -> str:
    """How far another prompt, and asking again, move the labels of each of several models."""
    judged = [one for one in seen if one.reason not in _WITHOUT_LABELS] or list(seen)
    prompts, repeats = (
        {one.model: own for one in judged if (own := known(one, name))}
        for name in ("flips_prompts", "flips_repeats")
    )
    clauses = []
    if 0 < len(prompts) <= NAMED:
        each = (f"{with_interval(own)} of the labels of {quoted(model)}" for model, own in prompts.items())
        clauses.append(f"another prompt changes {enumeration(each)}")
    elif prompts:
        clauses.append(
            f"another prompt changes {_range(prompts.values())} of the labels, depending on the model"
        )
    if repeats:
        clauses.append(f"asking again with the same prompt changes {_range(repeats.values())}")
    return sentence("; ".join(clauses)) if clauses else _UNSEEN


def _range(some: Iterable[Estimate]) -> str:
    least, *_, most = sorted([*(one.value or 0.0 for one in some)] * 2)
    low, high = percent(least), percent(most)
    return low if low == high else f"{low} to {high}"


def _moved(results: Results, one: Recommendation) -> str:
    """What moves one model's labels, without what the first sentence has said already."""
    if one.reason in _WITHOUT_LABELS and (by := _missing(one)):
        return by
    prompts, repeats = known(one, "flips_prompts"), known(one, "flips_repeats")
    clauses = []
    if prompts is not None and (one.reason not in _SAID or on_a_scale(one)):
        however = ", near or far" if on_a_scale(one) else ""
        clauses.append(f"another prompt changes {with_interval(prompts)} of the labels{however}")
    if repeats is None:
        clauses.append("" if clauses else "no prompt was asked twice, so part of that may be chance")
    elif one.reason != "repetition":
        of = "" if clauses else " of the labels"
        clauses.append(f"asking again with the same prompt changes {with_interval(repeats)}{of}")
    clauses.append(_factor(results, one))
    said = "; ".join(clause for clause in clauses if clause)
    return sentence(said or "chance, when the same prompt is asked again; only one prompt was tried")


def _missing(one: Recommendation) -> str:
    """With which level of which factor most answers are missing, where that differs."""
    details = one.evidence[0].details
    shares = sorted(details.get("shares", {}).items(), key=lambda pair: pair[1])
    if not shares or shares[-1][1] - shares[0][1] < _APART:
        return ""
    (low, least), (high, most) = shares[0], shares[-1]
    ends = f"{percent(least)} ({quoted(low)}) and {percent(most)} ({quoted(high)})"
    return f"Between {ends} of the answers are missing, depending on {_part(str(details['by']))}."


def _part(factor: str) -> str:
    """A factor as a part of what was asked."""
    return "the model’s settings" if factor == "decoding" else f"the {shortened(in_words(factor), 60)}"


def _factor(results: Results, one: Recommendation) -> str:
    """Which part of the prompt moves a label's share further than chance does."""
    clear = [shift for shift in one.verdict.shifts if beyond_chance(shift)]
    top = one.verdict.shift or max(clear, key=lambda shift: shift.value or 0.0, default=None)
    if top is None:
        return ""
    shares = sorted(top.details["shares"].items(), key=lambda pair: pair[1])
    (low, least), (high, most) = shares[0], shares[-1]
    label = label_in_words(results, top.cell["label"])
    ends = f"{percent(least)} are {label} with {quoted(low)}, {percent(most)} with {quoted(high)}"
    return f"what moves them most is {_part(top.cell['factor'])}: {ends}"
