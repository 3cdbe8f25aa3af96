"""A recommendation in words that anybody understands: what to do, why, what moves the labels, what next.

No word of Quaver's own stands in the sentences, and none of statistics but an interval in brackets. What a
verdict says is said here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import polars as pl

from quaver.core.column_names import in_words
from quaver.core.number_format import count, enumeration, percent, with_interval
from quaver.core.records import AND_PROMPT, Estimate
from quaver.report.estimate_index import Results
from quaver.report.findings.reason_words import (
    COPIES,
    NAMED,
    because,
    known,
    label_in_words,
    on_a_scale,
    quoted,
    rounded_with_interval,
    units,
    without_intervals,
)
from quaver.report.findings.recommendation import NextStep, Reason, Recommendation, Recommended
from quaver.report.findings.verdicts import beyond_chance
from quaver.report.page_words import shortened

_BEST: Final = ("use", "use except for", "use one prompt only", "cannot tell", "do not use")

_ADVICE: Final[Mapping[Recommended, str]] = {
    "use": "You can use these labels",
    "use except for": "You can use these labels, with exceptions",
    "use one prompt only": "Use the labels of one prompt only",
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
    "raise max_tokens": "Raise `max_tokens`, or ask for the label alone, and ask again.",
    "fill the field": "Read some answers: does the prompt name this field, and does the evaluator read its "
    "name?",
    "make answers readable": "Read some answers without a label, then say in the prompt how to answer.",
    "add items": "Add texts and run again: answers that you have are kept.",
    "add prompts": "Reword the prompt a few times, to see whether the labels stay the same.",
    "declare the groups": "Name the column of these groups as `group:` where the study file names the texts, "
    "and label texts of more of them by hand: texts of one group tell less than as many of others.",
    "label by hand": "Label a random sample of the texts by hand and compare: labels that never change can "
    "still be wrong.",
    "label more by hand": "Label more of the texts by hand, to see more exactly how many labels are right.",
    "correct the prompt": "Read the texts whose labels differ from the gold labels. If these are right, "
    "define the labels more clearly in the prompt, or try another model.",
    "define the scale": "Say in the prompt what each step of the scale means, with an example of each.",
    "define the classes": "Define the classes named here in the prompt, with texts that went wrong{}, and "
    "ask again; until then leave these labels out.",
    "read the groups": "Read the texts of these groups whose labels differ from the gold labels, and say in "
    "the prompt how to decide such cases; until then leave the labels of these groups out.",
    "name the labels": "Read some answers: does the prompt name every label, and do the texts need them all?",
    "revise the prompt": "Define each label in the prompt and say how to decide doubtful cases.",
    "vote over orders": "Ask with the labels in several orders and take the most frequent label, or fix one "
    "order and say why.",
    "name the format": "Fix one answer format and name it with your results, or take the most frequent label "
    "of several.",
    "lower the temperature": "Ask at temperature 0, or take the most frequent of several answers.",
    "keep this prompt": "Label the rest with this prompt, and report that others give other labels.",
    "label the rest": "Label the rest of your texts, and report these figures with them.",
}


def three_lines(results: Results, found: Sequence[Recommendation]) -> tuple[str, str, str]:
    """Whether the labels may be used, what moves them, and what to do next, in plain text."""
    why = f": {because(results, found[0])}." if len(found) == 1 else f". {reasons(results, found)}"
    beside = limits(results, found)
    return (
        f"{_advised(results, found)}{why}{' ' if beside else ''}{beside}",
        movement(results, found),
        next_step(results, found),
    )


def headline(results: Results, found: Sequence[Recommendation]) -> str:
    """What to do with the labels and why, in a sentence without intervals; of several models, only what."""
    why = f": {because(results, without_intervals(found[0]))}" if len(found) == 1 else ""
    return f"{_advised(results, found)}{why}."


def _advised(results: Results, found: Sequence[Recommendation]) -> str:
    """What to do with the labels; of one model also for which classes and groups not."""
    (one, *others) = found
    if others or not one.exceptions:
        return advice(found)
    labels = [label_in_words(results, code) for code in one.classes]
    groups = [f"texts whose {column} is {quoted(level)}" for column, level in one.groups]
    start = _ADVICE["use"] if one.kind == "use except for" else _ADVICE[one.kind]
    return f"{start}, but not for {enumeration([*labels, *groups])}"


def limits(results: Results, found: Sequence[Recommendation]) -> str:
    """What the recommendation for the model whose labels can best be used does not vouch for."""
    one = best_of(found)
    clauses = []
    for part in one.exceptions:
        if part.measure == "group_wrong":
            clauses.append(
                f"of the answers to texts whose {part.cell['group']} is {quoted(part.cell['level'])} "
                f"{with_interval(part)} are not the gold label"
            )
            continue
        if part.measure == "group_agreement":
            clauses.append(
                f"the labels of texts whose {part.cell['group']} is {quoted(part.cell['level'])} agree with "
                f"the gold labels at {rounded_with_interval(part)}"
            )
            continue
        clauses.append(_recall(results, part))
    for part in one.unvouched:
        if part.measure == "failed_calls":
            clauses.append(f"{percent(part.value or 0.0)} of the calls failed")
        elif part.measure == "unlabelled_texts":
            clauses.append(_unlabelled(part))
        elif part.measure == "step_given":
            label, texts = label_in_words(results, part.cell["label"]), count(part.details["texts"], "text")
            clauses.append(
                f"{label} was never given, not even to the {texts} that have it by the gold labels"
            )
    few = [part for part in one.unvouched if part.measure == "class_found"]
    if len(few) > NAMED:
        clauses.append(f"too few gold labels show how often {len(few)} of the classes are found")
    else:
        clauses += [_recall(results, part) for part in few]
    grouped = next((own for own in one.evidence if "grouped" in own.details), None)
    if grouped is not None:
        column = grouped.details["grouped"]
        who = (
            "texts that are nearly the same" if column == COPIES else f"texts of one {shortened(column, 60)}"
        )
        clauses.append(f"{who} are labelled alike, which these intervals allow for")
    clauses += [_broken(part) for part in one.unvouched if part.measure == "broken_prompts"]
    return _sentence("; ".join(clauses)) if clauses else ""


def _unlabelled(part: Estimate) -> str:
    """How many texts never got a label, and what most of them have in common."""
    details = part.details
    clause = f"{details['texts']:,} of {count(details['of'], 'text')} never got a label"
    if "shared" not in details:
        return clause
    if "group" in details:
        what = f"are texts whose {details['group']} is {quoted(details['level'])}"
    elif "longer" in details:
        what = f"have more than {details['longer']:,} words"
    else:
        what = f"have fewer than {details['shorter']:,} words"
    some = "all" if details["shared"] == details["texts"] else f"{details['shared']:,}"
    return f"{clause}, and {some} of them {what}"


def _broken(part: Estimate) -> str:
    """How many of the prompts were broken, and up to how many of prompts like these could be."""
    odd = round((part.value or 0.0) * part.n)
    were = f"{odd if odd else 'none'} {'were' if odd > 1 else 'was'} broken"
    most = percent(part.high or 0.0)
    return f"of {count(part.n, 'prompt')} {were}, but up to {most} of prompts like these could be"


def _recall(results: Results, part: Estimate) -> str:
    """How often a class is found, in all texts or in those of a group."""
    where = f" whose {part.cell['group']} is {quoted(part.cell['level'])}" if "group" in part.cell else ""
    texts = count(part.details["texts"], "text")
    return (
        f"{label_in_words(results, part.cell['label'])} was found in {with_interval(part)} of {texts}{where}"
    )


def best_of(found: Sequence[Recommendation]) -> Recommendation:
    """That of the model whose labels can best be used, the first of several; an empty field comes first."""
    empty = [one for one in found if one.reason == "empty field"]
    return empty[0] if empty else min(found, key=lambda one: _BEST.index(one.kind))


def advice(found: Sequence[Recommendation]) -> str:
    """What to do with the labels, as a clause; of several models, a clause for each kind of advice."""
    kinds = {one.kind for one in found}
    if len(kinds) == 1:
        said = {_advice(one) for one in found}
        return said.pop() if len(said) == 1 else _ADVICE[found[0].kind]
    models = ((kind, [one.subject for one in found if one.kind == kind]) for kind in _BEST)
    sentence = "; ".join(f"{_COUNTED[kind]} {_names(some, len(found))}" for kind, some in models if some)
    return f"{sentence[:1].upper()}{sentence[1:]}"


def _advice(one: Recommendation) -> str:
    unchecked = one.kind == "use one prompt only" and one.correctness == "unknown"
    return _SPECIAL.get(one.reason, _ADVICE[one.kind]) + (
        ", once you have checked some by hand" if unchecked else ""
    )


def reasons(results: Results, found: Sequence[Recommendation]) -> str:
    """Why: a sentence for each of a few models; of many, for the one whose labels can best be used."""
    if len(found) == 1:
        return _sentence(because(results, found[0]))
    shown = found if len(found) <= NAMED else [best_of(found)]
    return " ".join(f"{quoted(one.subject)}: {because(results, one)}." for one in shown)


def next_step(results: Results, found: Sequence[Recommendation]) -> str:
    """What to do next, for the model whose labels can best be used."""
    best = best_of(found)
    step = best.next_step
    if step == "run" and (missing := unanswered(results)) and best.reason != "no answers":
        calls = f"{count(missing, 'call')} {'has' if missing == 1 else 'have'} no answer yet"
        return f"Run the study to its end: {calls}; answers that you have are kept."
    agreement = known(best, "flips_agreement")
    if best.reason == "unclear" and best.needed and agreement is not None:
        unit = agreement.unit.removesuffix(AND_PROMPT)
        more = "texts" if unit == "item" else f"texts of more {in_words(unit)}s"
        return f"Add {more}, about {best.needed:,} in all, and run again: answers that you have are kept."
    if step in ("label more by hand", "add items") and best.needed:
        return _more_gold(results, best)
    if step == "declare the groups" and any(own.details.get("grouped") == COPIES for own in best.evidence):
        return (
            "Add texts that differ from each other: those that are nearly the same tell little more than one."
        )
    decodings = results.lock.get("decodings", {}).values()
    if step == "lower the temperature" and decodings and not any(one.get("temperature") for one in decodings):
        return "Ask several times and take the most frequent answer to each text."
    return _NEXT[step].format(_examples(results, best)) if step == "define the classes" else _NEXT[step]


def unanswered(results: Results) -> int:
    """How many calls of the design have no answer yet."""
    collection = results.lock.get("collection", {})
    return max(0, int(collection.get("total", 0)) - int(collection.get("answered", 0)))


def _examples(results: Results, one: Recommendation) -> str:
    """Two texts of an excepted class that got another label, by their ids."""
    frame = results.annotations
    if not one.classes or "gold" not in frame.columns:
        return ""
    gold, label = (pl.col(name).cast(pl.String) for name in ("gold", "label"))
    wrong = frame.filter(gold.is_in(one.classes) & (label != gold))["item"].unique(maintain_order=True)
    names = [quoted(item) for item in wrong.head(2).to_list()]
    return f" ({enumeration(names)})" if names else ""


def _more_gold(results: Results, one: Recommendation) -> str:
    """How many gold labels would do, and the command that draws the texts."""
    wrong = known(one, "wrong_labels")
    assert wrong is not None
    if wrong.unit != "item":
        of = count(one.needed, in_words(wrong.unit.removesuffix(AND_PROMPT)))
        return f"Label texts of about {of} by hand: {units(wrong)} show too little of how they differ."
    if one.next_step == "add items":
        return f"Add texts with gold labels, about {one.needed:,} in all; answers that you have are kept."
    command = f"`quaver {gold_command(results, one)}`"
    if waiting := _awaited(results):
        return f"Label the texts of your gold sample: {waiting:,} still wait. {command} names the sheets."
    return (
        f"Label about {one.needed:,} texts by hand instead of {wrong.n:,}, drawn by chance from all of them: "
        f"{command}."
    )


def gold_command(results: Results, one: Recommendation) -> str:
    """What draws the gold labels that are missing; empty where that is not the next step."""
    if one.next_step != "label more by hand" or not one.needed:
        return ""
    return "gold" if _awaited(results) else f"gold --n {one.needed} --design simple"


def _awaited(results: Results) -> int:
    """How many texts of a gold sample have been drawn and are not labelled yet."""
    frame = results.annotations
    if "gold_drawn" not in frame.columns:
        return 0
    return frame.filter(pl.col("gold_drawn") & pl.col("gold").is_null())["item"].n_unique()


def _sentence(clause: str) -> str:
    return f"{clause[:1].upper()}{clause[1:]}."


_COUNTED: Final[Mapping[str, str]] = {
    "use": "you can use the labels of",
    "use except for": "you can use the labels, with exceptions, of",
    "use one prompt only": "use one prompt only with",
    "do not use": "do not use the labels of",
    "cannot tell": "it is too early to say for",
}


def _names(models: Sequence[str], of: int) -> str:
    if len(models) > NAMED:
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
    if 0 < len(prompts) <= NAMED:
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


_MISSING: Final = frozenset({"failed", "unreadable", "cut off", "empty field"})
"""Reasons that are about answers rather than labels."""

_APART = 0.1
"""Where the share of missing answers differs by this much between levels, these are named."""

_SAID: Final = frozenset({"unsteady", "unclear", "moved by order", "moved by format"})
"""Reasons that say already how often another prompt changes a label."""
