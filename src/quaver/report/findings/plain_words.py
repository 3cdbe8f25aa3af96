"""A recommendation in three sentences that anybody understands.

May these labels be used? What moves them? What to do next? No word of Quaver's own stands in them, and none
of statistics but an interval in brackets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from quaver.core.number_format import count, enumeration, percent, points, with_interval
from quaver.core.records import Estimate
from quaver.report.estimate_index import NO_LABEL, Results
from quaver.report.findings.recommendation import NextStep, Reason, Recommendation
from quaver.report.findings.verdicts import beyond_chance

_NAMED = 3
"""As many models are spoken of one by one."""

_BEST: Final = ("use", "use this prompt", "cannot tell", "do not use")

_ADVICE: Final[Mapping[str, str]] = {
    "use": "You can use these labels",
    "use this prompt": "Use the labels of one prompt only",
    "do not use": "Do not use these labels",
    "cannot tell": "It is too early to say",
}

_NEXT: Final[Mapping[NextStep, str]] = {
    "run": "collect answers",
    "ask again": "find out why calls fail, and ask again for what failed",
    "make answers readable": "read some of the answers without a label, and say in the prompt how to answer",
    "add items": "add texts, so that there is enough to judge from",
    "add prompts": "reword the prompt a few times, to see whether the labels stay the same",
    "label by hand": "label a random sample of the texts by hand and compare: labels that never change can "
    "still be wrong",
    "revise the prompt": "define each label in the prompt, say how to decide doubtful cases",
    "lower the temperature": "ask at temperature 0, or take the most frequent of several answers",
    "keep this prompt": "label the rest with this prompt, and report how far others differ",
    "label the rest": "label the rest of your texts, and report these figures",
}


def three_lines(results: Results, found: Sequence[Recommendation]) -> tuple[str, str, str]:
    """Whether the labels may be used, what moves them, and what to do next, in plain text.

    Args:
        results: The study, for the names of labels and prompts.
        found: A recommendation for each model.
    """
    first = f"{advice(found)}. {reasons(results, found)}"
    if len(found) == 1:
        first = f"{advice(found)}: {because(results, found[0])}."
    return first, movement(results, found), next_step(found)


def best_of(found: Sequence[Recommendation]) -> Recommendation:
    """That of the model whose labels can best be used; the first of several."""
    return min(found, key=lambda one: _BEST.index(one.kind))


def advice(found: Sequence[Recommendation]) -> str:
    """What to do with the labels, as a clause; of several models, a clause for each kind of advice."""
    kinds = {one.kind for one in found}
    if len(kinds) == 1:
        return _ADVICE[found[0].kind]
    models = ((kind, [one.model for one in found if one.kind == kind]) for kind in _BEST)
    sentence = "; ".join(f"{_COUNTED[kind]} {_names(some, len(found))}" for kind, some in models if some)
    return f"{sentence[:1].upper()}{sentence[1:]}"


def reasons(results: Results, found: Sequence[Recommendation]) -> str:
    """Why: a sentence for each of a few models; of many, for the one whose labels can best be used."""
    if len(found) == 1:
        return _sentence(because(results, found[0]))
    shown = found if len(found) <= _NAMED else [best_of(found)]
    return " ".join(f"“{one.model}”: {because(results, one)}." for one in shown)


def next_step(found: Sequence[Recommendation]) -> str:
    """What to do next, for the model whose labels can best be used."""
    return _sentence(_NEXT[best_of(found).next_step])


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
    return enumeration(f"“{name}”" for name in models)


def because(results: Results, one: Recommendation) -> str:
    """Why, as a clause with its numbers."""
    return _WHY[one.reason](results, one)


def _of(one: Recommendation, name: str) -> Estimate | None:
    found = next((own for own in one.evidence if own.measure == name), one.verdict.evidence.get(name))
    return found if found is not None and found.value is not None else None


def _share(one: Recommendation, name: str) -> str:
    found = _of(one, name)
    return "some" if found is None else with_interval(found)


def _correct(one: Recommendation, name: str) -> str:
    """The share of correct labels, from that of wrong ones."""
    found = _of(one, name)
    if found is None or found.value is None:
        return "enough"
    ends = (
        ""
        if found.low is None or found.high is None
        else f" [{percent(1 - found.high)} to {percent(1 - found.low)}]"
    )
    return f"{percent(1 - found.value)}{ends}"


def _right(_: Results, one: Recommendation) -> str:
    if _of(one, "wrong_labels") is None:
        return "another prompt hardly changes them, and they meet the thresholds of the study"
    return f"another prompt hardly changes them, and {_correct(one, 'wrong_labels')} are correct"


def _best(results: Results, one: Recommendation) -> str:
    better = _of(one, "best_prompt_better")
    gain = points(better.value or 0.0) if better is not None else "more"
    name, right = results.variant_name(one.prompt), _correct(one, "best_prompt_wrong")
    return f"“{name}” gets {right} right, {gain} more than the others on average"


def _odd(results: Results, one: Recommendation) -> str:
    rest = _of(one, "rest_agreement")
    details = rest.details if rest is not None else {}
    odd = [f"“{results.variant_name(name)}”" for name in details.get("without", ())]
    verb = "gives other labels or none" if len(odd) == 1 else "give other labels or none"
    others = enumeration(odd) if 0 < len(odd) <= _NAMED else count(len(odd), "prompt")
    more = details.get("prompts", 2) - 1
    return f"take “{results.variant_name(one.prompt)}”, which agrees with {more} more, while {others} {verb}"


def _one_label(results: Results, one: Recommendation) -> str:
    used = _of(one, "label_in_use")
    if used is None:
        return "they are all the same"
    label = _label(results, str(used.details.get("label", "")))
    who = "every one is" if used.value == 1 else f"{percent(used.value or 0.0)} are"
    return f"{who} {label}, whatever the text"


def _label(results: Results, code: str) -> str:
    return code if code == NO_LABEL else f"“{results.label_name(code)}”"


def _wrong(results: Results, one: Recommendation) -> str:
    profile = next((own for own in one.evidence if own.measure == "readiness"), None)
    if profile is not None:
        missed = profile.details["criteria"] - profile.details["met"]
        return f"{missed} of the study's {count(profile.details['criteria'], 'threshold')} are not met"
    wrong = _of(one, "wrong_labels")
    said = f"{_share(one, 'wrong_labels')} of them are wrong"
    if wrong is not None and wrong.value and "label" in wrong.details:
        said += f", most often {_label(results, str(wrong.details['label']))}"
    return said


def _unclear_gold(_: Results, one: Recommendation) -> str:
    wrong = _of(one, "wrong_labels")
    if wrong is None or one.correctness == "unknown":
        return "whether they meet the thresholds of the study is not clear"
    texts = count(wrong.n, "text")
    return f"{with_interval(wrong)} of them are wrong, but only {texts} with a known label show it"


def _one_prompt(_: Results, one: Recommendation) -> str:
    said = "only one prompt was tried"
    if one.correctness == "unknown":
        return f"{said}, and there are no correct labels to compare with"
    return f"{said}, and {_share(one, 'wrong_labels')} of its labels are wrong"


def _unclear(_: Results, one: Recommendation) -> str:
    prompts = _of(one, "flips_prompts")
    texts = count(prompts.n, "text") if prompts is not None else "so few"
    share = _share(one, "flips_prompts")
    return f"another prompt changes {share} of the labels, and {texts} are too few to judge"


_WHY: Final[Mapping[Reason, Callable[[Results, Recommendation], str]]] = {
    "right": _right,
    "steady": lambda *_: (
        "another prompt hardly changes them, but check some by hand first, since nothing here "
        "shows whether they are correct"
    ),
    "best prompt": _best,
    "odd prompts": _odd,
    "only prompt": lambda _, one: (
        f"only one prompt was tried, and {_correct(one, 'wrong_labels')} of its labels are correct"
    ),
    "no answers": lambda *_: "there are no answers yet",
    "failed": lambda _, one: f"{_share(one, 'failed_calls')} of the calls failed",
    "unreadable": lambda _, one: f"{_share(one, 'unlabelled_answers')} of the answers have no label",
    "too few items": lambda _, one: f"only {_labelled(one)} a label",
    "one label": _one_label,
    "one prompt": _one_prompt,
    "wrong": _wrong,
    "unclear gold": _unclear_gold,
    "repetition": lambda _, one: (
        f"the same prompt, asked again, changes {_share(one, 'flips_repeats')} of them"
    ),
    "unsteady": lambda _, one: f"another prompt changes {_share(one, 'flips_prompts')} of them",
    "unclear": _unclear,
}


def _labelled(one: Recommendation) -> str:
    used = one.verdict.evidence["label_in_use"]
    return f"{count(used.n, 'text')} {'has' if used.n == 1 else 'have'}"


def movement(results: Results, found: Sequence[Recommendation]) -> str:
    """What moves the labels: another prompt, asking again, and which part of the prompt."""
    known = [one for one in found if _of(one, "flips_prompts") or _of(one, "flips_repeats")]
    if not known:
        return "What moves the labels cannot be seen from these answers."
    if len(known) > _NAMED:
        return _ranges(known)
    several = len(found) > 1
    return " ".join(_moved(results, one, several) for one in known)


def _ranges(known: Sequence[Recommendation]) -> str:
    shares = [own.value or 0.0 for one in known if (own := _of(one, "flips_prompts"))]
    if not shares:
        return "What moves the labels cannot be seen from these answers."
    return f"Another prompt changes {percent(min(shares))} to {percent(max(shares))} of the labels, by model."


def _moved(results: Results, one: Recommendation, several: bool) -> str:
    of = f" of “{one.model}”" if several else ""
    prompts, repeats = _of(one, "flips_prompts"), _of(one, "flips_repeats")
    clauses = []
    if prompts is not None:
        clauses.append(f"another prompt changes {with_interval(prompts)} of the labels{of}")
    if repeats is not None:
        what = with_interval(repeats) if prompts else f"{with_interval(repeats)} of the labels{of}"
        clauses.append(f"asking the same prompt again changes {what}")
    if prompts is None:
        clauses.append("no other prompt was tried")
    if (largest := _factor(results, one)) and not several:
        clauses.append(largest)
    return _sentence("; ".join(clauses))


def _factor(results: Results, one: Recommendation) -> str:
    """Which part of the prompt moves a label's share further than chance does."""
    clear = [shift for shift in one.verdict.shifts if beyond_chance(shift)]
    top = one.verdict.shift or max(clear, key=lambda shift: shift.value or 0.0, default=None)
    if top is None:
        return ""
    shares = sorted(top.details["shares"].items(), key=lambda pair: pair[1])
    (low, least), (high, most) = shares[0], shares[-1]
    label = _label(results, top.cell["label"])
    ends = f"{percent(least)} (“{low}”) to {percent(most)} (“{high}”)"
    return f"by {top.cell['factor']}, the share of {label} runs from {ends}"
