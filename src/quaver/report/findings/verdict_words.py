"""A recommendation in words that anybody understands: what to do, why, what moves the labels, what next.

No word of Quaver's own stands in the sentences, and none of statistics but an interval in brackets. What a
verdict says is said here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

import polars as pl

from quaver.core.column_names import in_words
from quaver.core.number_format import count, enumeration, percent, points, rounded, with_interval
from quaver.core.records import AND_PROMPT, Estimate
from quaver.report.estimate_index import NO_LABEL, Results
from quaver.report.findings.recommendation import NextStep, Reason, Recommendation, Recommended
from quaver.report.findings.verdicts import beyond_chance
from quaver.report.page_words import shortened

_LONGEST = 60
"""Characters of a name that are shown."""

_NAMED = 3
"""As many prompts are named."""

Words = Callable[[Results, Recommendation], str]


def because(results: Results, one: Recommendation) -> str:
    """Why, as a clause with its numbers.

    Args:
        results: The study, for the names of labels and prompts.
        one: The recommendation.
    """
    return f"{'elsewhere ' if one.elsewhere else ''}{_WHY[one.reason](results, one)}"


def without_intervals(one: Recommendation) -> Recommendation:
    """The same recommendation, whose estimates are said without their intervals."""
    evidence = {name: _bare(own) for name, own in one.verdict.evidence.items()}
    verdict = replace(one.verdict, evidence=evidence)
    return replace(one, verdict=verdict, evidence=tuple(map(_bare, one.evidence)))


def _bare(one: Estimate) -> Estimate:
    return replace(one, low=None, high=None)


def known(one: Recommendation, name: str) -> Estimate | None:
    """An estimate of a recommendation or its verdict; None where it has no value."""
    found = next((own for own in one.evidence if own.measure == name), one.verdict.evidence.get(name))
    return found if found is not None and found.value is not None else None


def share(one: Recommendation, name: str) -> str:
    """An estimate with its interval."""
    found = known(one, name)
    return "some" if found is None else with_interval(found)


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


def units(one: Estimate) -> str:
    """How many of what an estimate rests on: texts, or the groups that are resampled.

    >>> units(Estimate("accuracy", 0.9, 0.8, 1.0, n=15, unit="author"))
    '15 authors'
    """
    column = one.details.get("grouped", one.unit.removesuffix(AND_PROMPT))
    if column == _COPIES:
        return f"{count(one.details['groups'], 'group')} of texts that are nearly the same"
    return count(one.details.get("groups", one.n), "text" if column == "item" else in_words(column))


def _correct(one: Recommendation, name: str) -> str:
    """The share of correct labels, from that of wrong ones."""
    found = known(one, name)
    if found is None or found.value is None:
        return "enough"
    sure = f" [{percent(1 - (found.high or 0.0))} to {percent(1 - (found.low or 0.0))}]"
    return f"{percent(1 - found.value)}{sure if found.low is not None else ''}"


def _against_gold(one: Recommendation, only: str = "") -> str:
    """How the answers compare with the gold labels: by the measure accuracy, or on a scale by agreement."""
    if bias := known(one, "gold_bias"):
        agreement = known(one, "gold_agreement")
        said = rounded_with_interval(agreement) if agreement else f"a bias of {rounded_with_interval(bias)}"
        return f"they agree with the gold labels at {only}{said}"
    bare = known(one, "unlabelled_answers")
    wrong = ", one without a label being wrong" if bare is not None and bare.value else ""
    return f"{only}{share(one, 'correct_answers')} of the answers are the gold label{wrong}"


def _right(_: Results, one: Recommendation) -> str:
    if known(one, "correct_answers") is None:
        return "another prompt hardly changes a label, and the thresholds of the study are met"
    return f"another prompt hardly changes a label, and {_against_gold(one)}"


def _like_coders(_: Results, one: Recommendation) -> str:
    return (
        f"another prompt hardly changes a label; {share(one, 'wrong_labels')} differ from the gold labels, "
        f"and {share(one, 'coders_differ')} of a coder’s labels differ from those of most others"
    )


def _steady(_: Results, one: Recommendation) -> str:
    prompts = known(one, "flips_prompts")
    said = f" in {count(prompts.details.get('prompts', 2), 'prompt')}" if prompts else ""
    return f"the labels are nearly the same{said}, but nothing here shows that they are correct"


def _best(results: Results, one: Recommendation) -> str:
    better = known(one, "best_prompt_better")
    gain = points(better.value or 0.0) if better is not None else "more"
    name, right = quoted(results.variant_name(one.prompt)), _correct(one, "best_prompt_wrong")
    return f"{name} gets {right} right, {gain} more than the others on average"


def _odd(results: Results, one: Recommendation) -> str:
    rest = known(one, "rest_agreement")
    details = rest.details if rest is not None else {}
    odd, mute = details.get("without", ()), details.get("mute", ())
    names = [quoted(results.variant_name(name)) for name in odd]
    others = enumeration(names) if 0 < len(names) <= _NAMED else count(len(names), "prompt")
    does = ("gives", "does not") if len(odd) == 1 else ("give", "do not")
    what = f"often {does[0]} no label" if list(odd) == list(mute) else does[1]
    name, more = quoted(results.variant_name(one.prompt)), details.get("prompts", 2) - 1
    right = (
        "" if known(one, "rest_wrong") is None else f", {_correct(one, 'rest_wrong')} of their labels correct"
    )
    return f"{name} agrees with {count(more, 'other')}{right}; {others} {what}"


def _only(_: Results, one: Recommendation) -> str:
    return f"{_against_gold(one)}, though no other prompt was tried"


def _too_few(_: Results, one: Recommendation) -> str:
    texts = one.verdict.evidence["label_in_use"].n
    return f"only {count(texts, 'text')} {'has' if texts == 1 else 'have'} a label"


def _one_label(results: Results, one: Recommendation) -> str:
    used = known(one, "label_in_use")
    if used is None:
        return "every label is the same"
    label = label_in_words(results, str(used.details.get("label", "")))
    who = "every label is" if used.value == 1 else f"{percent(used.value or 0.0)} of the labels are"
    return f"{who} {label}, whatever the text"


def _wrong(results: Results, one: Recommendation) -> str:
    profile = next((own for own in one.evidence if own.measure == "readiness"), None)
    if profile is not None:
        criteria = count(profile.details["criteria"], "threshold")
        return f"only {profile.details['met']} of the study’s {criteria} are met"
    wrong = known(one, "wrong_labels")
    said = _against_gold(one, "only ")
    if known(one, "gold_bias") is None and wrong is not None and "label" in wrong.details:
        said += f"; most often {label_in_words(results, str(wrong.details['label']))} stands in its place"
    return said


def _biased(_: Results, one: Recommendation) -> str:
    bias = known(one, "gold_bias")
    assert bias is not None
    lower = (bias.value or 0.0) < 0
    if lower and bias.low is not None and bias.high is not None:
        bias = replace(bias, low=-bias.high, high=-bias.low)
    size = rounded_with_interval(replace(bias, value=abs(bias.value or 0.0)))
    return f"the labels are {size} standard deviations {'lower' if lower else 'higher'} than the gold labels"


def _empty_field(_: Results, one: Recommendation) -> str:
    (field,) = one.evidence
    return f"{with_interval(field)} of the answers have no value for {quoted(field.cell['field'])}"


def _cut_off(_: Results, one: Recommendation) -> str:
    return f"{share(one, 'unlabelled_answers')} of the answers have no label, most of them cut off"


def _by_factor(_: Results, one: Recommendation) -> str:
    factor = quoted(one.verdict.factor)
    return f"another prompt changes {share(one, 'flips_prompts')} of the labels, above all by {factor}"


def _unclear_gold(_: Results, one: Recommendation) -> str:
    correct = known(one, "correct_answers")
    if correct is None or any(own.measure == "readiness" for own in one.evidence):
        return "it is not clear whether the thresholds of the study are met"
    return f"{_against_gold(one)}, as far as {units(correct)} can show"


def _one_prompt(_: Results, one: Recommendation) -> str:
    if one.correctness == "unknown":
        return "only one prompt was tried, and there are no gold labels to compare with"
    return f"only one prompt was tried, and {_against_gold(one)}"


def _unclear(_: Results, one: Recommendation) -> str:
    prompts = known(one, "flips_prompts")
    texts = units(prompts) if prompts is not None else "so few texts"
    changed = share(one, "flips_prompts")
    return f"another prompt changes {changed} of the labels, and {texts} are too few to be sure"


def _sharing(words: str, name: str) -> Words:
    """Words with an estimate in their place."""
    return lambda _, one: words.format(share(one, name))


_WHY: Final[Mapping[Reason, Words]] = {
    "right": _right,
    "as good as coders": _like_coders,
    "steady": _steady,
    "best prompt": _best,
    "odd prompts": _odd,
    "only prompt": _only,
    "no answers": lambda *_: "there are no answers yet",
    "failed": _sharing("{} of the calls failed", "failed_calls"),
    "unreadable": _sharing("{} of the answers have no label", "unlabelled_answers"),
    "too few items": _too_few,
    "one label": _one_label,
    "one prompt": _one_prompt,
    "cut off": _cut_off,
    "empty field": _empty_field,
    "wrong": _wrong,
    "biased": _biased,
    "moved by order": _by_factor,
    "moved by format": _by_factor,
    "unclear gold": _unclear_gold,
    "repetition": _sharing("asking again with the same prompt changes {} of the labels", "flips_repeats"),
    "unsteady": _sharing("another prompt changes {} of the labels", "flips_prompts"),
    "unclear": _unclear,
}


"""As many models are spoken of one by one."""

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
    "declare the groups": "Name the column of these groups as `group:` in the study, and label texts of more "
    "of them by hand: texts of one group tell less than as many of others.",
    "label by hand": "Label a random sample of the texts by hand and compare: labels that never change can "
    "still be wrong.",
    "label more by hand": "Label more of the texts by hand, to see more exactly how many labels are right.",
    "correct the prompt": "Read the texts whose labels differ from the gold labels. If these are right, "
    "define the labels more clearly in the prompt, or try another model.",
    "define the scale": "Say in the prompt what each step of the scale means, with an example of each.",
    "define the classes": "Define the classes named here in the prompt, with texts that went wrong, and ask "
    "again; until then leave these labels out.",
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
    """Whether the labels may be used, what moves them, and what to do next, in plain text.

    Args:
        results: The study, for the names of labels and prompts.
        found: A recommendation for each model.
    """
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
        if part.measure == "unlabelled_texts":
            clauses.append(f"{part.details['texts']:,} of {count(part.n, 'text')} never got a label")
        elif part.measure == "step_given":
            label, texts = label_in_words(results, part.cell["label"]), count(part.details["texts"], "text")
            clauses.append(
                f"{label} was never given, not even to the {texts} that have it by the gold labels"
            )
    few = [part for part in one.unvouched if part.measure == "class_found"]
    if len(few) > _NAMED:
        clauses.append(f"too few gold labels show how often {len(few)} of the classes are found")
    else:
        clauses += [_recall(results, part) for part in few]
    grouped = next((own for own in one.evidence if "grouped" in own.details), None)
    if grouped is not None:
        column = grouped.details["grouped"]
        who = (
            "texts that are nearly the same" if column == _COPIES else f"texts of one {shortened(column, 60)}"
        )
        clauses.append(f"{who} are labelled alike, which these intervals allow for")
    clauses += [_broken(part) for part in one.unvouched if part.measure == "broken_prompts"]
    return _sentence("; ".join(clauses)) if clauses else ""


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
    shown = found if len(found) <= _NAMED else [best_of(found)]
    return " ".join(f"{quoted(one.subject)}: {because(results, one)}." for one in shown)


def next_step(results: Results, found: Sequence[Recommendation]) -> str:
    """What to do next, for the model whose labels can best be used."""
    best = best_of(found)
    step = best.next_step
    agreement = known(best, "flips_agreement")
    if best.reason == "unclear" and best.needed and agreement is not None:
        unit = agreement.unit.removesuffix(AND_PROMPT)
        more = "texts" if unit == "item" else f"texts of more {in_words(unit)}s"
        return f"Add {more}, about {best.needed:,} in all, and run again: answers that you have are kept."
    if step in ("label more by hand", "add items") and best.needed:
        return _more_gold(results, best)
    decodings = results.lock.get("decodings", {}).values()
    if step == "lower the temperature" and decodings and not any(one.get("temperature") for one in decodings):
        return "Ask several times and take the most frequent answer to each text."
    return _NEXT[step]


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


_MISSING: Final = frozenset({"failed", "unreadable", "cut off", "empty field"})
"""Reasons that are about answers rather than labels."""

_APART = 0.1
"""Where the share of missing answers differs by this much between levels, these are named."""

_COPIES: Final = "near_duplicates"

_SAID: Final = frozenset({"unsteady", "unclear", "moved by order", "moved by format"})
"""Reasons that say already how often another prompt changes a label."""
