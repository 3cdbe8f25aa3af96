"""The sentences of the report's sections: the answers' quality, people beside models, and conclusions.

Their words stand in ``templates/sentences.html``, and those about the answers' quality, which commands print
too, in ``templates/quality.txt``. What the labels are like, the verdict says (`findings.verdict_card`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from markupsafe import Markup, escape

from quaver.core.number_format import count, percent, rounded, with_interval
from quaver.core.records import Estimate
from quaver.core.rows import Section, at_levels, by_level, defined, levels_in, of_measures
from quaver.report.estimate_index import NO_LABEL, Results
from quaver.report.findings.judged_model import STEADY
from quaver.report.findings.quality import Quality, quality
from quaver.report.page_templates import marked_phrases, phrases

FEW = 3
"""As many estimates are reported one by one, each with its interval; and as many models."""

_RANGE = 0.1
"""Where the share without a label differs by this much between a factor's levels, these are named."""

_ALL = "all"


def section_sentences(results: Results) -> dict[Section, list[Markup]]:
    """The sentences of each section that say what charts and tables do not."""
    sentences: dict[Section, list[Markup]] = {
        "answers": list(map(escape, quality_lines(quality([*results.audit, *results.estimates])))),
        "coders": coder_sentences(results),
        "conclusions": list(_conclusions(results)),
    }
    if results.coarsest("intra_pss") or results.coarsest("inter_pss"):
        bar = (
            f"α is 1 if no label changes and 0 if labels agree by chance; do not rely on less than {STEADY}."
        )
        sentences["stability"] = [escape(bar)]
    return sentences


def quality_lines(quality: Quality) -> list[str]:
    """A sentence for each thing that is wrong with a model's answers, and for items that come in groups.

    >>> from quaver.core.records import Estimate
    >>> from quaver.report.findings.quality import quality
    >>> counts = {"times": 30, "calls": 100}
    >>> quality_lines(quality([Estimate("failed_calls", 0.3, 0.2, 0.4, cell={"model": "m"}, details=counts)]))
    ['30% [20% to 40%] of the calls ended in an error (30 of 100).']
    """
    say = phrases("quality.txt", RANGE=_RANGE, percent=percent, rounded=rounded)
    several, lines = len(quality.models) > 1, []
    for issue in quality.issues:
        lines.append(say(issue.measure, issue, f" of “{issue.cell['model']}”" if several else ""))
    return lines + [say("clusters", cluster) for cluster in quality.clusters]


def _say(results: Results) -> Callable[..., Markup]:
    """The phrases of ``sentences.html``, with the names of a study's labels."""

    def label(code: str) -> str:
        return code if code == NO_LABEL else f"“{results.label_name(code)}”"

    return marked_phrases("sentences.html", label=label)


def coder_sentences(results: Results) -> list[Markup]:
    """How well people agree with each other and with each model, and whether it may take a person's place."""
    say, first = _say(results), (*results.evaluators[:1], None)

    def pooled(measure: str) -> list[Estimate]:
        """A measure's estimates over all prompts, from the first evaluator's labels."""
        estimates = results.in_order(defined(results.anywhere(measure)))
        return at_levels(estimates, variant=(None,), evaluator=first)

    gaps, sentences = at_levels(pooled("coder_agreement_gap"), coder=_ALL), list[Markup]()
    several = len(levels_in(gaps, "model")) > 1
    for gap in gaps:
        model = f"“{gap.cell['model']}”" if several and "model" in gap.cell else "the model"
        sentences.append(say("gap", gap, model))
    means = pooled("alternative_annotator")
    for won in pooled("alternative_annotator_won"):
        mean = next(mean for mean in means if mean.cell == won.cell)
        sentences.append(say("replacement", won, mean))
    return sentences


def _conclusions(results: Results) -> Iterator[Markup]:
    """Under how many specifications each of a few conclusions holds, in these labels."""
    true = corrected_conclusions(results.estimates)
    for name, estimate in list(true.items())[:FEW]:
        yield Markup("“{}” {}.").format(name, in_true_labels(estimate))
    single = results.of("conclusion")
    names = levels_in(single, "conclusion")
    for name in names[:FEW]:
        verdicts = [estimate.details["verdict"] for estimate in at_levels(single, conclusion=name)]
        again = len(names) == 1 and bool(true)
        yield _say(results)("conclusion", name, verdicts.count("holds"), len(verdicts), again)


def corrected_conclusions(estimates: Iterable[Estimate]) -> dict[str, Estimate]:
    """The estimate of each conclusion that is about the true labels, by the conclusion's name."""
    corrected = at_levels(of_measures(estimates, "conclusion_corrected"), model=(None,))
    return by_level(reversed(corrected), "conclusion")


def corrected_totals(estimates: Iterable[Estimate]) -> list[str]:
    """The mean of all items' true labels, and the share of each, as a designed gold sample shows them.

    >>> corrected_totals([Estimate("corrected_share", 0.43, 0.4, 0.46, cell={"label": "favor"})])
    ['favor 43% [40% to 46%]']
    """
    totals = []
    for estimate in defined(estimates):
        if estimate.measure == "corrected_score" and not estimate.cell:
            totals.append(f"mean {with_interval(estimate, rounded)}")
        elif estimate.measure == "corrected_share" and [*estimate.cell] == ["label"]:
            totals.append(f"{estimate.cell['label']} {with_interval(estimate)}")
    return totals


def in_true_labels(estimate: Estimate) -> str:
    """The verdict of a corrected conclusion in words, to follow its name.

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
