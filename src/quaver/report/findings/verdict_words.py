"""A recommendation in words that anybody understands: what to do, why, what it does not vouch for, what next.

No word of Quaver's own stands in the sentences, and none of statistics but an interval in brackets. What a
verdict says is said here, and what moves the labels in `movement_words`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from string import Formatter
from typing import Final

import polars as pl

from quaver.core.column_names import in_words
from quaver.core.number_format import count, enumeration, percent, points, with_interval
from quaver.core.records import AND_PROMPT, Estimate
from quaver.report.estimate_index import Results
from quaver.report.findings.movement_words import (
    NAMED,
    known,
    label_in_words,
    movement,
    on_a_scale,
    quoted,
    rounded_with_interval,
    sentence,
)
from quaver.report.findings.recommendation import NextStep, Reason, Recommendation, Recommended
from quaver.report.page_words import shortened

_COPIES: Final = "near_duplicates"
"""The column of groups of texts that are nearly the same."""

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

_COUNTED: Final[Mapping[str, str]] = {
    "use": "you can use the labels of",
    "use except for": "you can use the labels, with exceptions, of",
    "use one prompt only": "use one prompt only with",
    "do not use": "do not use the labels of",
    "cannot tell": "it is too early to say for",
}
"""Advice on several models, which are named after it."""

_WHY: Final[Mapping[Reason, str]] = {
    "right": "{stable}, and {gold}",
    "as good as coders": "{stable}; {wrong_labels} differ from the gold labels, and {coders_differ} of a "
    "coder’s labels differ from those of most others",
    "steady": "{alike}, but nothing here shows that the labels are correct",
    "best prompt": "{prompt} gets {best_prompt_right} right, {best_prompt_better} more than the others on "
    "average",
    "odd prompts": "{prompt} agrees with {rest}; {odd_prompts}",
    "only prompt": "{gold}, though no other prompt was tried",
    "no answers": "there are no answers yet",
    "failed": "{failed_calls} of the calls failed",
    "unreadable": "{unlabelled_answers} of the answers have no label",
    "cut off": "{unlabelled_answers} of the answers have no label, most of them cut off",
    "empty field": "{unfilled_field} of the answers have no value for {field}",
    "too few items": "only {labelled}",
    "one label": "{one_label}",
    "one prompt": "only one prompt was tried, and {gold}",
    "wrong": "{gold}{instead}",
    "biased": "the labels are {bias} than the gold labels",
    "moved by order": "another prompt changes {flips_prompts} of the labels, above all by {factor}",
    "moved by format": "another prompt changes {flips_prompts} of the labels, above all by {factor}",
    "unclear gold": "{gold}, as far as {judged} can show",
    "repetition": "asking again with the same prompt changes {flips_repeats} of the labels",
    "unsteady": "{changed}",
    "unclear": "{changed}, and {compared} are too few to be sure",
}
"""What decided, with its numbers: estimates by their names, and other parts (`_part`)."""

_BY_THRESHOLDS: Final[Mapping[Reason, str]] = {
    "right": "{stable}, and the thresholds of the study are met",
    "wrong": "only {thresholds_met} are met",
    "unclear gold": "it is not clear whether the thresholds of the study are met",
}
"""The same where the study's own thresholds decided."""


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
    why = f": {because(results, _without_intervals(found[0]))}" if len(found) == 1 else ""
    return f"{_advised(results, found)}{why}."


def _without_intervals(one: Recommendation) -> Recommendation:
    verdict = replace(
        one.verdict,
        evidence={name: replace(own, low=None, high=None) for name, own in one.verdict.evidence.items()},
    )
    evidence = tuple(replace(own, low=None, high=None) for own in one.evidence)
    return replace(one, verdict=verdict, evidence=evidence)


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
    few = [part for part in one.unvouched if part.measure == "class_found"]
    clauses = [_beside(results, part) for part in one.exceptions]
    for part in one.unvouched:
        if part.measure not in ("class_found", "broken_prompts"):
            clauses.append(_beside(results, part))
    if len(few) > NAMED:
        clauses.append(f"too few gold labels show how often {len(few)} of the classes are found")
    else:
        clauses += [_beside(results, part) for part in few]
    grouped = next((own.details["grouped"] for own in one.evidence if "grouped" in own.details), None)
    if grouped is not None:
        who = "texts that are nearly the same"
        if grouped != _COPIES:
            who = f"texts of one {shortened(grouped, 60)}"
        clauses.append(f"{who} are labelled alike, which these intervals allow for")
    clauses += [_beside(results, part) for part in one.unvouched if part.measure == "broken_prompts"]
    return sentence("; ".join(clauses)) if clauses else ""


def _beside(results: Results, part: Estimate) -> str:
    """What one estimate says of classes, groups, texts or prompts that the recommendation leaves out."""
    details, where = part.details, ""
    if "group" in part.cell:
        where = f" whose {part.cell['group']} is {quoted(part.cell['level'])}"
    match part.measure:
        case "group_wrong":
            return f"of the answers to texts{where} {with_interval(part)} are not the gold label"
        case "group_agreement":
            agreement = rounded_with_interval(part)
            return f"the labels of texts{where} agree with the gold labels at {agreement}"
        case "failed_calls":
            return f"{percent(part.value or 0.0)} of the calls failed"
        case "unlabelled_texts":
            return _unlabelled(part)
        case "broken_prompts":
            odd = round((part.value or 0.0) * part.n)
            were = f"{odd or 'none'} {'were' if odd > 1 else 'was'} broken"
            most = percent(part.high or 0.0)
            return f"of {count(part.n, 'prompt')} {were}, but up to {most} of prompts like these could be"
    label, texts = label_in_words(results, part.cell["label"]), count(details["texts"], "text")
    if part.measure == "step_given":
        return f"{label} was never given, not even to the {texts} that have it by the gold labels"
    return f"{label} was found in {with_interval(part)} of {texts}{where}"


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
        return sentence(because(results, found[0]))
    shown = found if len(found) <= NAMED else [best_of(found)]
    return " ".join(f"{quoted(one.subject)}: {because(results, one)}." for one in shown)


def _names(models: Sequence[str], of: int) -> str:
    if len(models) > NAMED:
        return f"{len(models)} of the {of} models"
    return enumeration(map(quoted, models))


def because(results: Results, one: Recommendation) -> str:
    """Why, as a clause with its numbers."""
    words = _WHY[one.reason]
    by_thresholds = any(own.measure == "readiness" for own in one.evidence)
    if by_thresholds and not (one.reason == "right" and known(one, "correct_answers")):
        words = _BY_THRESHOLDS.get(one.reason, words)
    names = [name for _, name, _, _ in Formatter().parse(words) if name]
    said = words.format(**{name: _part(results, one, name) for name in names})
    return f"elsewhere {said}" if one.elsewhere else said


def _part(results: Results, one: Recommendation, name: str) -> str:
    """What stands in a reason's words under a name: an estimate with its interval, or what takes more."""
    found = known(one, name)
    match name:
        case "stable" | "alike" | "changed":
            return _agreement(one, name)
        case "gold":
            return _against_gold(one)
        case "prompt":
            return quoted(results.variant_name(one.prompt))
        case "factor":
            return quoted(in_words(one.verdict.factor))
        case "field":
            return quoted(one.evidence[0].cell["field"])
        case "best_prompt_right" | "rest_right":
            return _correct(known(one, name.replace("right", "wrong")))
        case "best_prompt_better":
            return "more" if found is None else points(found.value or 0.0)
        case "rest" | "odd_prompts":
            return _odd_prompts(results, one)[name == "odd_prompts"]
        case "labelled":
            texts = one.verdict.evidence["label_in_use"].n
            return f"{count(texts, 'text')} {'has' if texts == 1 else 'have'} a label"
        case "one_label":
            return _one_label(results, known(one, "label_in_use"))
        case "instead":
            wrong = known(one, "wrong_labels")
            if known(one, "gold_bias") or wrong is None or "label" not in wrong.details:
                return ""
            label = label_in_words(results, str(wrong.details["label"]))
            return f"; most often {label} stands in its place"
        case "bias":
            return _bias(known(one, "gold_bias"))
        case "judged" | "compared":
            of = known(one, "correct_answers" if name == "judged" else "flips_prompts")
            return "so few texts" if of is None else _units(of)
        case "thresholds_met":
            profile = next(own for own in one.evidence if own.measure == "readiness")
            criteria = count(profile.details["criteria"], "threshold")
            return f"{profile.details['met']} of the study’s {criteria}"
    return "some" if found is None else with_interval(found)


def _units(one: Estimate) -> str:
    """How many of what an estimate rests on: texts, or the groups that are resampled."""
    column = one.details.get("grouped", one.unit.removesuffix(AND_PROMPT))
    if column == _COPIES:
        return f"{count(one.details['groups'], 'group')} of texts that are nearly the same"
    return count(one.details.get("groups", one.n), "text" if column == "item" else in_words(column))


def _correct(wrong: Estimate | None) -> str:
    """The share of correct labels, from that of wrong ones."""
    if wrong is None:
        return "enough"
    low, high = (None if end is None else 1 - end for end in (wrong.high, wrong.low))
    return with_interval(replace(wrong, value=1 - (wrong.value or 0.0), low=low, high=high))


def _against_gold(one: Recommendation) -> str:
    """How the answers compare with the gold labels: by the measure accuracy, or on a scale by agreement."""
    only = "only " if one.reason == "wrong" else ""
    if one.reason == "one prompt" and one.correctness == "unknown":
        return "there are no gold labels to compare with"
    if bias := known(one, "gold_bias"):
        agreement = known(one, "gold_agreement")
        at = rounded_with_interval(agreement) if agreement else f"a bias of {rounded_with_interval(bias)}"
        return f"the labels agree with the gold labels at {only}{at}"
    right, bare = known(one, "correct_answers"), known(one, "unlabelled_answers")
    wrong = ", one without a label being wrong" if bare is not None and bare.value else ""
    share = "some" if right is None else with_interval(right)
    return f"{only}{share} of the answers are the gold label{wrong}"


def _agreement(one: Recommendation, name: str) -> str:
    """How far prompts agree: on a scale that, else that labels hardly change, or how many do."""
    prompts = known(one, "flips_prompts")
    if agreement := on_a_scale(one):
        return f"prompts agree at {rounded_with_interval(agreement)}"
    if name == "stable":
        return "another prompt hardly changes a label"
    if name == "changed":
        share = "some" if prompts is None else with_interval(prompts)
        return f"another prompt changes {share} of the labels"
    asked = "" if prompts is None else f" in {count(prompts.details.get('prompts', 2), 'prompt')}"
    return f"the labels are nearly the same{asked}"


def _odd_prompts(results: Results, one: Recommendation) -> tuple[str, str]:
    """How many prompts a recommended one agrees with, and what the others do."""
    rest = known(one, "rest_agreement")
    details = {} if rest is None else rest.details
    odd, mute = list(details.get("without", ())), list(details.get("mute", ()))
    names = [quoted(results.variant_name(name)) for name in odd]
    others = enumeration(names) if 0 < len(names) <= NAMED else count(len(names), "prompt")
    if odd == mute:
        does = "often gives no label" if len(odd) == 1 else "often give no label"
    else:
        does = "does not" if len(odd) == 1 else "do not"
    alike = count(details.get("prompts", 2) - 1, "other")
    if wrong := known(one, "rest_wrong"):
        alike += f", {_correct(wrong)} of their labels correct"
    return alike, f"{others} {does}"


def _one_label(results: Results, used: Estimate | None) -> str:
    if used is None:
        return "every label is the same"
    who = "every label is" if used.value == 1 else f"{percent(used.value or 0.0)} of the labels are"
    return f"{who} {label_in_words(results, str(used.details.get('label', '')))}, whatever the text"


def _bias(bias: Estimate | None) -> str:
    assert bias is not None
    if (bias.value or 0.0) >= 0:
        return f"{rounded_with_interval(bias)} standard deviations higher"
    low, high = (None if end is None else -end for end in (bias.high, bias.low))
    below = replace(bias, value=abs(bias.value or 0.0), low=low, high=high)
    return f"{rounded_with_interval(below)} standard deviations lower"


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
    if step == "declare the groups" and any(own.details.get("grouped") == _COPIES for own in best.evidence):
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
        return f"Label texts of about {of} by hand: {_units(wrong)} show too little of how they differ."
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
