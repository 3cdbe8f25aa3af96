"""The sentences of the report's sections: what a study measured, in plain words with its numbers.

The words of numbers that stand alone are a table here; others stand in ``templates/sentences.html``, and
those about the answers' quality, which commands print too, in ``templates/quality.txt``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from markupsafe import Markup, escape

from quaver.core.number_format import count, percent, rounded, with_interval
from quaver.core.records import Estimate
from quaver.core.rows import Section, defined, ranked
from quaver.report.estimate_index import NO_LABEL, Results, varying
from quaver.report.findings.judged_model import STEADY, JudgedModel, judged_models
from quaver.report.findings.quality import Quality, quality
from quaver.report.page_templates import marked_phrases, phrases
from quaver.report.page_words import between, number, percent_measure, printed, value_and_interval

FEW = 3
"""As many estimates are reported one by one, each with its interval; and as many models."""

_ONE_PROMPT = "for this prompt"
_LEVELS_LISTED = 6
"""As many levels are named one by one."""

_RANGE = 0.1
"""Where the share without a label differs by this much between a factor's levels, these are named."""

_ALL = "all"

_MEASURED: Final[Mapping[Section, Mapping[str, str]]] = {
    "stability": {
        "intra_pss": "Asked again with the same prompt, labels agree at α = {}.",
        "inter_pss": "From prompt to prompt, labels agree at α = {}.",
        "strict_stability": "Items that keep the same label whenever they are asked again: {}.",
    },
    "sensitivity": {
        "sensitivity": "Sensitivity is {}; it is 0 if another prompt never changes a label.",
        "consistency": "Consistency is {}; it is 1 if all items of a class get the same labels.",
    },
    "accuracy": {"accuracy": "Accuracy is {}."},
}
"""What is said of a measure in its section, where it has a value."""


def section_sentences(results: Results) -> dict[Section, list[Markup]]:
    """A sentence or more for each thing that the study measured, by the section that it belongs to."""
    estimates = [*results.audit, *results.estimates]
    sentences: dict[Section, list[Markup]] = {
        section: [
            Markup(words).format(_span(known))
            for measure, words in measures.items()
            if (known := results.coarsest(measure))
        ]
        for section, measures in _MEASURED.items()
    }
    if sentences["stability"]:
        bar = (
            f"α is 1 if no label changes and 0 if they agree by chance; below {STEADY}, do not build on them."
        )
        sentences["stability"].append(escape(bar))
    return {
        **sentences,
        "readiness": [escape(line) for line in _readiness(results)],
        "answers": [escape(line) for line in quality_lines(quality(estimates))],
        "factors": list(_movement(results, judged_models(estimates))),
        "coders": coder_sentences(results),
        "conclusions": list(_conclusions(results)),
    }


def quality_lines(quality: Quality) -> list[str]:
    """A sentence for each thing that is wrong with a model's answers, and for items that come in groups.

    >>> from quaver.core.records import Estimate
    >>> from quaver.report.findings.quality import quality
    >>> counts = {"times": 30, "calls": 100}
    >>> quality_lines(quality([Estimate("failed_calls", 0.3, 0.2, 0.4, cell={"model": "m"}, details=counts)]))
    ['30% [20% to 40%] of the calls ended in an error (30 of 100).']
    """
    say = phrases("quality.txt", RANGE=_RANGE, percent=percent, rounded=rounded)
    several = len(quality.models) > 1
    lines = [
        say(issue.measure, issue, f" of “{issue.cell['model']}”" if several else "")
        for issue in quality.issues
    ]
    return lines + [say("clusters", cluster) for cluster in quality.clusters]


def _say(results: Results) -> Callable[..., Markup]:
    """The phrases of ``sentences.html``, with the names of a study's labels."""

    def label(code: str) -> str:
        return code if code == NO_LABEL else f"“{results.label_name(code)}”"

    return marked_phrases("sentences.html", label=label, MOST_LEVELS=_LEVELS_LISTED)


def _movement(results: Results, models: Sequence[JudgedModel]) -> Iterator[Markup]:
    """How often labels change, which way they move, and how many are wrong, model by model."""
    readable = [judged for judged in models if judged.has_labels]
    for judged in sorted(readable, key=lambda judged: results.models.index(judged.model))[:FEW]:
        sentences = list(_moved(_say(results), judged))
        if len(models) > 1 and sentences:
            sentences[0] = Markup("“{}”: {}").format(judged.model, sentences[0])
        yield from sentences


def _moved(say: Callable[..., Markup], judged: JudgedModel) -> Iterator[Markup]:
    prompts, repeats, wrong = (
        judged.evidence[name] for name in ("flips_prompts", "flips_repeats", "wrong_labels")
    )
    if prompts.value is not None:
        yield say("other_prompt", prompts, judged.evidence["flips_chance"])
    if repeats.value is not None:
        yield say("same_prompt", repeats)
    largest = max(judged.shifts, key=lambda shift: shift.number, default=None)
    if judged.top is not None:
        yield say("shift", judged.top, [other for other in judged.clear if other is not judged.top])
    elif largest is not None and largest.value and "floor_high" in largest.details:
        yield say("no_shift", largest)
    if wrong.value is not None:
        yield say("wrong", wrong)


def _readiness(results: Results) -> Iterator[str]:
    """Whether each profiled model is ready, and how many criteria it meets."""
    estimates = [one for one in results.in_order(results.of("readiness")) if "verdict" in one.details]
    columns = varying(estimates)
    for estimate in estimates:
        name = " · ".join(estimate.cell[column] for column in columns if column in estimate.cell)
        of = f"“{name}”: " if name else ""
        met = f"{estimate.details['met']} of {estimate.details['criteria']} criteria are met"
        yield f"{of}{estimate.details['verdict']} by the thresholds of the study; {met}."


def coder_sentences(results: Results) -> list[Markup]:
    """How well people agree with each other and with each model."""
    say, first = _say(results), (*results.evaluators[:1], None)

    def pooled(measure: str) -> list[Estimate]:
        """A measure's estimates over all prompts, from the first evaluator's labels."""
        return [
            estimate
            for estimate in results.in_order(defined(results.anywhere(measure)))
            if "variant" not in estimate.cell and estimate.cell.get("evaluator") in first
        ]

    gaps = [gap for gap in pooled("coder_agreement_gap") if gap.cell.get("coder") == _ALL]
    several = len({gap.cell.get("model") for gap in gaps}) > 1
    return [
        say("gap", gap, f"“{gap.cell['model']}”" if several and "model" in gap.cell else "the model")
        for gap in gaps
    ]


def _conclusions(results: Results) -> Iterator[Markup]:
    """Under how many specifications each of a few conclusions holds, in these labels."""
    held = results.of("conclusion_holds")
    true = corrected_conclusions(results.estimates)
    for name, estimate in list(true.items())[:FEW]:
        yield Markup("“{}” {}.").format(name, in_true_labels(estimate))
    for estimate in held[:FEW]:
        yield _say(results)("conclusion", estimate, len(held) == 1 and bool(true))


def corrected_conclusions(estimates: Iterable[Estimate]) -> dict[str, Estimate]:
    """The estimate of each conclusion that is about the true labels, by the conclusion's name."""
    return {
        estimate.cell["conclusion"]: estimate
        for estimate in reversed(list(estimates))
        if estimate.measure == "conclusion_corrected" and "model" not in estimate.cell
    }


def in_true_labels(estimate: Estimate) -> str:
    """What a corrected conclusion says, after its name.

    >>> details = {"verdict": "holds", "effect": "educ > 0", "gold": 200, "effective_gold": 351.6}
    >>> in_true_labels(Estimate("conclusion_corrected", 0.07, 0.03, 0.11, details=details))
    'holds in the true labels: 0.07 [0.03 to 0.11], from 200 gold labels, corrected; as precise as 352 alone'
    """
    if estimate.value is None or estimate.interval is None:
        return f"cannot be judged in the true labels: {estimate.reason or 'no interval'}"
    details = estimate.details
    words = {"not distinguishable": "is not distinguishable from none"}
    return (
        f"{words.get(details['verdict'], details['verdict'])} in the true labels: "
        f"{with_interval(estimate, rounded)}, from {count(details['gold'], 'gold label')}, corrected; "
        f"as precise as {round(details['effective_gold']):,} alone"
    )


def _span(estimates: Sequence[Estimate]) -> Markup:
    """One estimate or a few with their intervals, or the smallest and largest of many.

    Where intervals are shown, it says what they hold for; of estimates that are of one prompt each, their
    names do.
    """
    spanned = _bare_span(estimates)
    scopes = {estimate.scope for estimate in estimates if estimate.low is not None}
    several = len(estimates) > 1
    if "[" not in spanned.striptags() or len(scopes) != 1 or (several and scopes == {_ONE_PROMPT}):
        return spanned
    scope = scopes.pop()
    return Markup("{}, {}").format(spanned, scope) if scope else spanned


def _bare_span(estimates: Sequence[Estimate]) -> Markup:
    columns = varying(estimates)
    if 1 < len(estimates) <= FEW and len(columns) == 1:
        named = Markup("{} ({})").format
        *most, last = (
            named(value_and_interval(estimate), estimate.cell.get(columns[0], "")) for estimate in estimates
        )
        return Markup("{} and {}").format(Markup(", ").join(most), last)
    known = ranked(estimates)
    if len(known) == 1:
        return value_and_interval(known[0])
    percent = percent_measure(known[0].measure)
    low, high = known[0].number, known[-1].number
    if printed(low, percent) == printed(high, percent):
        return Markup("{} in each of {} conditions").format(number(low, percent), len(known))
    return Markup("{} over {} conditions").format(between(low, high, percent), len(known))
