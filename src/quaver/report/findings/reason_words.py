"""Why: what decided a recommendation, as a clause with its numbers, and how numbers and names are written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from quaver.core.column_names import in_words
from quaver.core.number_format import count, enumeration, percent, points, rounded, with_interval
from quaver.core.records import AND_PROMPT, Estimate
from quaver.report.estimate_index import NO_LABEL, Results
from quaver.report.findings.recommendation import Reason, Recommendation
from quaver.report.page_words import shortened

_LONGEST = 60
"""Characters of a name that are shown."""

NAMED = 3
"""As many prompts are named."""

COPIES: Final = "near_duplicates"
"""The column of groups of texts that are nearly the same."""

Words = Callable[[Results, Recommendation], str]


def because(results: Results, one: Recommendation) -> str:
    """Why, as a clause with its numbers."""
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
    if column == COPIES:
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
        return f"the labels agree with the gold labels at {only}{said}"
    bare = known(one, "unlabelled_answers")
    wrong = ", one without a label being wrong" if bare is not None and bare.value else ""
    return f"{only}{share(one, 'correct_answers')} of the answers are the gold label{wrong}"


def _right(_: Results, one: Recommendation) -> str:
    if known(one, "correct_answers") is None:
        return f"{_stable(one)}, and the thresholds of the study are met"
    return f"{_stable(one)}, and {_against_gold(one)}"


def on_a_scale(one: Recommendation) -> Estimate | None:
    """What prompts agree, where labels have an order, so that a step between neighbours weighs little."""
    agreement = known(one, "flips_agreement")
    nominal = agreement is None or agreement.details.get("level", "nominal") == "nominal"
    return None if nominal else agreement


def _stable(one: Recommendation) -> str:
    """That labels hardly change with the prompt; on a scale, how far prompts agree."""
    agreement = on_a_scale(one)
    if agreement is None:
        return "another prompt hardly changes a label"
    return f"prompts agree at {rounded_with_interval(agreement)}"


def _like_coders(_: Results, one: Recommendation) -> str:
    return (
        f"{_stable(one)}; {share(one, 'wrong_labels')} differ from the gold labels, "
        f"and {share(one, 'coders_differ')} of a coder’s labels differ from those of most others"
    )


def _steady(_: Results, one: Recommendation) -> str:
    prompts = known(one, "flips_prompts")
    said = f" in {count(prompts.details.get('prompts', 2), 'prompt')}" if prompts else ""
    same = f"the labels are nearly the same{said}" if on_a_scale(one) is None else _stable(one)
    return f"{same}, but nothing here shows that the labels are correct"


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
    others = enumeration(names) if 0 < len(names) <= NAMED else count(len(names), "prompt")
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
    return f"{_changed(one)}, and {texts} are too few to be sure"


def _changed(one: Recommendation) -> str:
    """How many labels another prompt changes; on a scale, how far prompts agree."""
    if on_a_scale(one) is not None:
        return _stable(one)
    return f"another prompt changes {share(one, 'flips_prompts')} of the labels"


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
    "unsteady": lambda _, one: _changed(one),
    "unclear": _unclear,
}
