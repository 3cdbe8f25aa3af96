"""Why a recommendation is what it is, as a clause that anybody understands, with its numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from quaver.core.number_format import count, enumeration, percent, points, with_interval
from quaver.core.records import Estimate
from quaver.report.estimate_index import NO_LABEL, Results
from quaver.report.findings.recommendation import Reason, Recommendation
from quaver.report.plain_text import shortened

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
    return _WHY[one.reason](results, one)


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


def label_in_words(results: Results, code: str) -> str:
    """A label in quotation marks, or that there is none."""
    return code if code == NO_LABEL else quoted(results.label_name(code))


def quoted(name: object) -> str:
    r"""A name in quotation marks, on one line and not too long.

    >>> quoted("for\nor against")
    '“for or against”'
    """
    return f"“{shortened(name, _LONGEST)}”"


def _correct(one: Recommendation, name: str) -> str:
    """The share of correct labels, from that of wrong ones."""
    found = known(one, name)
    if found is None or found.value is None:
        return "enough"
    sure = f" [{percent(1 - (found.high or 0.0))} to {percent(1 - (found.low or 0.0))}]"
    return f"{percent(1 - found.value)}{sure if found.low is not None else ''}"


def _right(_: Results, one: Recommendation) -> str:
    if known(one, "wrong_labels") is None:
        return "another prompt hardly changes a label, and the thresholds of the study are met"
    return f"another prompt hardly changes a label, and {_correct(one, 'wrong_labels')} are correct"


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
    return f"{_correct(one, 'wrong_labels')} of the labels are correct, though no other prompt was tried"


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
    said = f"{share(one, 'wrong_labels')} of the labels are wrong"
    if wrong is not None and wrong.value and "label" in wrong.details:
        said += f", most often {label_in_words(results, str(wrong.details['label']))}"
    return said


def _unclear_gold(_: Results, one: Recommendation) -> str:
    wrong = known(one, "wrong_labels")
    if wrong is None or any(own.measure == "readiness" for own in one.evidence):
        return "it is not clear whether the thresholds of the study are met"
    return f"{with_interval(wrong)} of the labels are wrong, as far as {count(wrong.n, 'text')} can show"


def _one_prompt(_: Results, one: Recommendation) -> str:
    if one.correctness == "unknown":
        return "only one prompt was tried, and no correct labels are known to compare with"
    return f"only one prompt was tried, and {share(one, 'wrong_labels')} of its labels are wrong"


def _unclear(_: Results, one: Recommendation) -> str:
    prompts = known(one, "flips_prompts")
    texts = count(prompts.n, "text") if prompts is not None else "so few texts"
    changed = share(one, "flips_prompts")
    return f"another prompt changes {changed} of the labels, and {texts} are too few to be sure"


def _sharing(words: str, name: str) -> Words:
    """Words with an estimate in their place."""
    return lambda _, one: words.format(share(one, name))


_WHY: Final[Mapping[Reason, Words]] = {
    "right": _right,
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
    "wrong": _wrong,
    "unclear gold": _unclear_gold,
    "repetition": _sharing("asking again with the same prompt changes {} of the labels", "flips_repeats"),
    "unsteady": _sharing("another prompt changes {} of the labels", "flips_prompts"),
    "unclear": _unclear,
}
