"""A recommendation in three sentences that anybody understands.

May these labels be used? What moves them? What to do next? No word of Quaver's own stands in them, and none
of statistics but an interval in brackets.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from quaver.core.column_names import in_words
from quaver.core.number_format import enumeration, percent, with_interval
from quaver.core.records import Estimate
from quaver.report.estimate_index import Results
from quaver.report.findings.reason_words import because, known, label_in_words, quoted, without_intervals
from quaver.report.findings.recommendation import NextStep, Reason, Recommendation, Recommended
from quaver.report.findings.verdicts import beyond_chance
from quaver.report.plain_text import shortened

_NAMED = 3
"""As many models are spoken of one by one."""

_BEST: Final = ("use", "use this prompt", "cannot tell", "do not use")

_ADVICE: Final[Mapping[Recommended, str]] = {
    "use": "You can use these labels",
    "use this prompt": "Use the labels of one prompt only",
    "do not use": "Do not use these labels",
    "cannot tell": "It is too early to say whether you can use these labels",
}

_SPECIAL: Final[Mapping[Reason, str]] = {
    "steady": "You can use these labels once you have checked some by hand",
    "only prompt": "You can use these labels",
}
"""Advice that depends on more."""

_NEXT: Final[Mapping[NextStep, str]] = {
    "run": "Collect answers first.",
    "ask again": "Find out why calls fail, then ask again for what failed.",
    "make answers readable": "Read some answers without a label, then say in the prompt how to answer.",
    "add items": "Add texts and run again: answers that you have are kept.",
    "add prompts": "Reword the prompt a few times, to see whether the labels stay the same.",
    "label by hand": "Label a random sample of the texts by hand and compare: labels that never change can "
    "still be wrong.",
    "label more by hand": "Label more of the texts by hand, to see more exactly how many labels are wrong.",
    "correct the prompt": "Read the texts whose labels are wrong, then define the labels more clearly in the "
    "prompt, or try another model.",
    "name the labels": "Read some answers: does the prompt name every label, and do the texts need them all?",
    "revise the prompt": "Define each label in the prompt and say how to decide doubtful cases.",
    "lower the temperature": "Ask at temperature 0, or take the most frequent of several answers.",
    "keep this prompt": "Label the rest with this prompt, and report that others give other labels.",
    "label the rest": "Label the rest of your texts, and report these figures with them.",
}


def three_lines(results: Results, found: Sequence[Recommendation]) -> tuple[str, str, str]:
    """Whether the labels may be used, what moves them, and what to do next, in plain text.

    Args:
        results: The study, for the names of labels and prompts.
        found: A recommendation for each model.
    """
    why = f": {because(results, found[0])}." if len(found) == 1 else f". {reasons(results, found)}"
    return f"{advice(found)}{why}", movement(results, found), next_step(results, found)


def headline(results: Results, found: Sequence[Recommendation]) -> str:
    """What to do with the labels and why, in a sentence without intervals; of several models, only what."""
    why = f": {because(results, without_intervals(found[0]))}" if len(found) == 1 else ""
    return f"{advice(found)}{why}."


def best_of(found: Sequence[Recommendation]) -> Recommendation:
    """That of the model whose labels can best be used; the first of several."""
    return min(found, key=lambda one: _BEST.index(one.kind))


def advice(found: Sequence[Recommendation]) -> str:
    """What to do with the labels, as a clause; of several models, a clause for each kind of advice."""
    kinds = {one.kind for one in found}
    if len(kinds) == 1:
        said = {_advice(one) for one in found}
        return said.pop() if len(said) == 1 else _ADVICE[found[0].kind]
    models = ((kind, [one.model for one in found if one.kind == kind]) for kind in _BEST)
    sentence = "; ".join(f"{_COUNTED[kind]} {_names(some, len(found))}" for kind, some in models if some)
    return f"{sentence[:1].upper()}{sentence[1:]}"


def _advice(one: Recommendation) -> str:
    unchecked = one.kind == "use this prompt" and one.correctness == "unknown"
    return _SPECIAL.get(one.reason, _ADVICE[one.kind]) + (
        ", once you have checked some by hand" if unchecked else ""
    )


def reasons(results: Results, found: Sequence[Recommendation]) -> str:
    """Why: a sentence for each of a few models; of many, for the one whose labels can best be used."""
    if len(found) == 1:
        return _sentence(because(results, found[0]))
    shown = found if len(found) <= _NAMED else [best_of(found)]
    return " ".join(f"{quoted(one.model)}: {because(results, one)}." for one in shown)


def next_step(results: Results, found: Sequence[Recommendation]) -> str:
    """What to do next, for the model whose labels can best be used."""
    step = best_of(found).next_step
    decodings = results.lock.get("decodings", {}).values()
    if step == "lower the temperature" and decodings and not any(one.get("temperature") for one in decodings):
        return "Ask several times and take the most frequent answer to each text."
    return _NEXT[step]


def _sentence(clause: str) -> str:
    return f"{clause[:1].upper()}{clause[1:]}."


_COUNTED: Final[Mapping[str, str]] = {
    "use": "you can use the labels of",
    "use this prompt": "use one prompt only with",
    "do not use": "do not use the labels of",
    "cannot tell": "it is too early to say for",
}


def _names(models: Sequence[str], of: int) -> str:
    if len(models) > _NAMED:
        return f"{len(models)} of the {of} models"
    return enumeration(map(quoted, models))


def movement(results: Results, found: Sequence[Recommendation]) -> str:
    """What moves the labels: another prompt, asking again, and which part of the prompt."""
    seen = [one for one in found if known(one, "flips_prompts") or known(one, "flips_repeats")]
    if not seen:
        return _UNSEEN
    return _moved(results, seen[0]) if len(found) == 1 else _compared(seen)


def _compared(seen: Sequence[Recommendation]) -> str:
    """How far another prompt, and asking again, move the labels of each of several models."""
    judged = [one for one in seen if one.reason not in _MISSING] or list(seen)
    prompts, repeats = (
        {one.model: own for one in judged if (own := known(one, name))}
        for name in ("flips_prompts", "flips_repeats")
    )
    clauses = []
    if 0 < len(prompts) <= _NAMED:
        each = (f"{with_interval(own)} of the labels of {quoted(model)}" for model, own in prompts.items())
        clauses.append(f"another prompt changes {enumeration(each)}")
    elif prompts:
        clauses.append(
            f"another prompt changes {_range(prompts.values())} of the labels, depending on the model"
        )
    if repeats:
        clauses.append(f"asking again with the same prompt changes {_range(repeats.values())}")
    return _sentence("; ".join(clauses)) if clauses else _UNSEEN


def _range(some: Iterable[Estimate]) -> str:
    least, *_, most = sorted([*(one.value or 0.0 for one in some)] * 2)
    low, high = percent(least), percent(most)
    return low if low == high else f"{low} to {high}"


_UNSEEN: Final = "What moves the labels cannot be seen from these answers."


def _moved(results: Results, one: Recommendation) -> str:
    """What moves one model's labels, without what the first sentence has said already."""
    if one.reason in _MISSING and (by := _missing(one)):
        return by
    prompts, repeats = known(one, "flips_prompts"), known(one, "flips_repeats")
    clauses = []
    if prompts is not None and one.reason not in _SAID:
        clauses.append(f"another prompt changes {with_interval(prompts)} of the labels")
    if repeats is None:
        clauses.append("" if clauses else "no prompt was asked twice, so part of that may be chance")
    elif one.reason != "repetition":
        of = "" if clauses else " of the labels"
        clauses.append(f"asking again with the same prompt changes {with_interval(repeats)}{of}")
    clauses.append(_factor(results, one))
    said = "; ".join(clause for clause in clauses if clause)
    return _sentence(said or "chance, when the same prompt is asked again; only one prompt was tried")


def _missing(one: Recommendation) -> str:
    """With which level of which factor most answers are missing, where that differs."""
    details = one.evidence[0].details
    shares = sorted(details.get("shares", {}).items(), key=lambda pair: pair[1])
    if not shares or shares[-1][1] - shares[0][1] < _APART:
        return ""
    (low, least), (high, most) = shares[0], shares[-1]
    ends = f"{percent(least)} ({quoted(low)}) and {percent(most)} ({quoted(high)})"
    return f"Between {ends} of the answers are missing, depending on {_part(in_words(str(details['by'])))}."


def _part(factor: str) -> str:
    """A factor as a part of what was asked."""
    return "the model’s settings" if factor == "decoding" else f"the {shortened(factor, 60)}"


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


_MISSING: Final = frozenset({"failed", "unreadable"})
"""Reasons that are about answers rather than labels."""

_APART = 0.1
"""Where the share of missing answers differs by this much between levels, these are named."""

_SAID: Final = frozenset({"unsteady", "unclear"})
"""Reasons that say already how often another prompt changes a label."""
