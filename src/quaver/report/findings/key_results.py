"""The sentences of the report's sections: what a study measured, in plain words with its numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from markupsafe import Markup, escape

from quaver.core.column_names import in_words as name_of_column
from quaver.core.number_format import count, enumeration, percent
from quaver.core.number_format import points as in_points
from quaver.core.records import Estimand, Estimate
from quaver.core.rows import Section
from quaver.report.estimate_index import NO_LABEL, Results, varying
from quaver.report.findings.effect_sentences import FEW, clear, coder_sentences, effect_sentences, points_of
from quaver.report.findings.quality_gate import quality_lines
from quaver.report.findings.verdicts import STEADY, Verdict, beyond_chance, quality, verdicts
from quaver.report.page_words import in_words, number, percent_measure, points, printed, value_and_interval
from quaver.report.table_rows import (
    by_chance,
    corrected_conclusions,
    in_true_labels,
    joint_conclusions,
)

_ONE_PROMPT = "for this prompt"


_MODELS = 3
"""As many models have their labels' movement reported one by one."""

_LEVELS_LISTED = 6
"""As many levels are named one by one."""


def section_sentences(results: Results) -> dict[Section, list[Markup]]:
    """A sentence or more for each thing that the study measured, by the section that it belongs to."""
    estimates = [*results.audit, *results.estimates]
    found: dict[Section, list[Markup]] = {
        "readiness": _readiness(results),
        "answers": [escape(line) for line in quality_lines(quality(estimates))],
        "factors": _movement(results, verdicts(estimates)),
    }
    for section, parts in _PARTS.items():
        found[section] = [sentence for part in parts for sentence in part(results)]
    return found


def _movement(results: Results, found: Sequence[Verdict]) -> list[Markup]:
    """How often labels change, which way they move, and how many are wrong, model by model."""
    sentences: list[Markup] = []
    judged = [one for one in found if one.kind not in ("no answers", "failed", "unreadable")]
    for one in sorted(judged, key=lambda verdict: results.models.index(verdict.model))[:_MODELS]:
        own = [*_flips(one), *_shifts(results, one), *_wrong(results, one)]
        if len(found) > 1 and own:
            own[0] = Markup("“{}”: {}").format(one.model, own[0])
        sentences += own
    return sentences


def _flips(one: Verdict) -> list[Markup]:
    """How often labels change: from prompt to prompt, by chance, and from repeat to repeat."""
    prompts, chance, repeats = (
        one.evidence[name] for name in ("flips_prompts", "flips_chance", "flips_repeats")
    )
    sentences = []
    if prompts.value is not None:
        seen = prompts.details.get("prompts", 2)
        words = Markup("{} changes the label in {} of cases")
        other = f"Another of these {seen} prompts" if seen > 2 else "The other prompt"
        sentences.append(words.format(other, value_and_interval(prompts)))
        if chance.value:
            words = Markup("; if labels had nothing to do with the texts, it would change it in {}")
            sentences[0] += words.format(number(chance.value, percent=True))
        sentences[0] += Markup(".")
    if repeats.value is not None:
        words = Markup("Asking again with the same prompt changes it in {}.")
        sentences.append(words.format(value_and_interval(repeats)))
    return sentences


def _shifts(results: Results, one: Verdict) -> list[Markup]:
    """Which way the labels move, if any."""
    clear = [shift for shift in one.shifts if beyond_chance(shift)]
    top = one.shift or max(clear, key=lambda shift: shift.value or 0.0, default=None)
    if top is None:
        known = max(one.shifts, key=lambda shift: shift.value or 0.0, default=None)
        if known is None or not known.value or "floor_high" not in known.details:
            return []
        words = Markup(
            "No part of the prompt moves the share of a label further than chance would: the largest "
            "difference is {} ({}), and chance alone gives up to {}."
        )
        ends = (
            points(known.value),
            name_of_column(known.cell["factor"]),
            in_points(known.details["floor_high"]),
        )
        return [words.format(*ends)]
    shares = dict(sorted(top.details["shares"].items(), key=lambda pair: pair[1]))
    levels = [Markup("{} ({})").format(percent(share), level) for level, share in shares.items()]
    factor, label = name_of_column(top.cell["factor"]), named(results, top.cell["label"])
    if len(levels) > _LEVELS_LISTED:
        words = Markup("By {}, the share of {} among the labels runs from {} to {}")
        sentence = words.format(factor, label, levels[0], levels[-1])
    else:
        words = Markup("By {}, the share of {} among the labels is {} and {}")
        sentence = words.format(factor, label, Markup(", ").join(levels[:-1]), levels[-1])
    sentence += Markup("; chance would move it by up to {}.").format(in_points(top.details["floor_high"]))
    others = [shift for shift in clear if shift is not top]
    if others:
        each = (
            Markup("{} ({})").format(name_of_column(s.cell["factor"]), points(s.value or 0.0)) for s in others
        )
        sentence += Markup(" Also beyond chance: {}.").format(Markup(", ").join(each))
    return [sentence]


def _wrong(results: Results, one: Verdict) -> list[Markup]:
    """How many labels are wrong, and which label the wrong ones are."""
    wrong = one.evidence["wrong_labels"]
    if wrong.value is None:
        return []
    sentence = Markup("{} of the labels differ from the gold labels").format(value_and_interval(wrong))
    if wrong.value:
        share, label = wrong.details["share"], named(results, wrong.details["label"])
        sentence += Markup("; {} of these are {}").format(percent(share), label)
    return [sentence + Markup(".")]


def named(results: Results, label: str) -> Markup:
    """A label in quotation marks, or that there is none."""
    return escape(NO_LABEL) if label == NO_LABEL else Markup("“{}”").format(results.label_name(label))


def _readiness(results: Results) -> list[Markup]:
    """Whether each profiled model is ready, how many criteria its profile meets, and which it misses."""
    profiles = _profiles(results)
    if not profiles:
        return []
    clauses = []
    for verdict in ("ready", "not ready", "undecided"):
        own = [name for name, one in profiles if one.details["verdict"] == verdict]
        if own:
            models = f"{len(own)} of {len(profiles)}" if len(own) > FEW else enumeration(own)
            verb = "is" if len(own) == 1 else "are"
            words = "whether {} {} ready is undecided" if verdict == "undecided" else "{} {} " + verdict
            clauses.append(Markup(words).format(models, verb))
    headline = Markup("By the thresholds of the study, {}.").format(Markup("; ").join(clauses))
    clauses = []
    for name, one in profiles:
        missed = [
            in_words(other.measure.removeprefix("readiness_"))
            for other in results.estimates
            if other.measure.startswith("readiness_")
            and other.cell == one.cell
            and other.details.get("verdict") == "not met"
        ]
        why = f" (not met: {', '.join(missed)})" if missed else ""
        words = Markup("{} meets {} of {} criteria{}")
        clauses.append(words.format(name, one.details["met"], one.details["criteria"], why))
    sentence = Markup("; ").join(clauses[: 2 * FEW])
    return [headline, Markup("{}.").format(sentence[:1].upper() + sentence[1:])]


def _profiles(results: Results) -> list[tuple[str, Estimate]]:
    """Each profile with the name of what it is of."""
    some = [one for one in results.in_order(results.of("readiness")) if "verdict" in one.details]
    columns = varying(some)
    names = (" · ".join(one.cell[column] for column in columns if column in one.cell) for one in some)
    return [(f"“{name}”" if name else "the model", one) for name, one in zip(names, some, strict=True)]


def _few(some: Sequence[Estimate]) -> str | None:
    """The column that tells a few estimates apart; None where there are too many, or no such column."""
    columns = varying(some)
    return columns[0] if 1 < len(some) <= FEW and len(columns) == 1 else None


def _span(estimates: Sequence[Estimate]) -> Markup:
    """One estimate or a few with their intervals, or the smallest and largest of many.

    Where intervals are shown, it says what they hold for; of estimates that are of one prompt each, their
    names do.
    """
    spanned = _bare_span(estimates)
    scopes = {one.scope for one in estimates if one.low is not None}
    several = len(estimates) > 1
    if "[" not in spanned.striptags() or len(scopes) != 1 or (several and scopes == {_ONE_PROMPT}):
        return spanned
    scope = scopes.pop()
    return Markup("{}, {}").format(spanned, scope) if scope else spanned


def _bare_span(estimates: Sequence[Estimate]) -> Markup:
    if column := _few(estimates):
        values = [
            Markup("{} ({})").format(value_and_interval(one), one.cell.get(column, "")) for one in estimates
        ]
        return Markup(" and ").join([Markup(", ").join(values[:-1]), values[-1]])
    known = sorted((one for one in estimates if one.value is not None), key=lambda one: one.value or 0.0)
    if len(known) == 1:
        return value_and_interval(known[0])
    percent = percent_measure(known[0].measure)
    ends = [known[0].value or 0.0, known[-1].value or 0.0]
    if printed(ends[0], percent) == printed(ends[1], percent):
        return Markup("{} in each of {} conditions").format(number(ends[0], percent), len(known))
    return Markup("{} to {} over {} conditions").format(*(number(end, percent) for end in ends), len(known))


def _stability(results: Results) -> list[Markup]:
    sentences: list[Markup] = []
    for measure, words in (
        ("intra_pss", "Asked again with the same prompt, labels agree at α = {}."),
        ("inter_pss", "From prompt to prompt, labels agree at α = {}."),
    ):
        known = results.coarsest(measure)
        if known:
            sentences.append(Markup(words).format(_span(known)))
    if not sentences:
        return []
    scale = Markup(
        "α is 1 if no label changes and 0 if they agree by chance; below {}, do not build on them."
    ).format(STEADY)
    return [Markup(" ").join([*sentences, scale])]


def _always_alike(results: Results) -> list[Markup]:
    known = results.coarsest("strict_stability")
    return (
        [Markup("Items that keep the same label whenever they are asked again: {}.").format(_span(known))]
        if known
        else []
    )


def _sensitivity(results: Results) -> list[Markup]:
    of, alike = results.coarsest("sensitivity"), results.coarsest("consistency")
    sentences = []
    if of:
        sentence = Markup("Sensitivity is {}; it is 0 if another prompt never changes a label.")
        sentences.append(sentence.format(_span(of)))
    if alike:
        sentence = Markup("Consistency is {}; it is 1 if all items of a class get the same labels.")
        sentences.append(sentence.format(_span(alike)))
    return [Markup(" ").join(sentences)] if sentences else []


def _accuracy(results: Results) -> list[Markup]:
    every = [one for one in results.in_order(results.main("accuracy")) if one.value is not None]
    known = [one for one in every if one.estimand == "fixed"] or every
    if not known:
        return []
    sentence = Markup("Accuracy is {}").format(_span(known))
    if others := _of_other_prompts(results, "population"):
        sentence = Markup("Accuracy is {}").format(_span(others))
        following = _of_other_prompts(results, "next")
        if len(others) == len(following) == 1:
            low, high = (number(end or 0.0, percent=True) for end in (following[0].low, following[0].high))
            words = Markup(
                "; that of the next prompt lies between {} and {}, by the same level of confidence"
            )
            sentence += words.format(low, high)
        if known[0].estimand == "fixed":
            sentence += Markup(". Prompt by prompt it is {}").format(_span(known))
    details = known[0].details
    majority, chance = details.get("majority"), details.get("chance")
    if isinstance(majority, float) and isinstance(chance, float):
        sentence += Markup("; always answering {} would be correct {} of the time, guessing {}").format(
            named(results, str(details.get("majority_label", "the most frequent label"))),
            number(majority, percent=True),
            number(chance, percent=True),
        )
    return [sentence + Markup(".")]


def _has(estimates: Sequence[Estimate], estimand: Estimand) -> bool:
    return any((one.measure, one.estimand) == ("accuracy", estimand) for one in estimates)


def _of_other_prompts(results: Results, estimand: Estimand) -> list[Estimate]:
    """Accuracy over all prompts, with intervals that hold for others than these."""
    first = results.evaluators[0] if results.evaluators else None
    every = results.of("accuracy"), results.audit
    return [
        one
        for one in results.in_order(next((some for some in every if _has(some, estimand)), ()))
        if (one.measure, one.estimand) == ("accuracy", estimand)
        and one.low is not None
        and one.cell.get("evaluator", first) == first
    ]


def _differences(results: Results) -> list[Markup]:
    """The largest difference of paired accuracies whose interval does not reach zero."""
    every = results.main("differences")
    known = [one for one in every if clear(one)]
    if not known:
        return []
    top = max(known, key=lambda one: (abs(one.value or 0.0), one.value or 0.0))
    against = str(top.details.get("against", "the others"))
    if len(every) == 2 and against.startswith("the mean"):
        (against,) = (_of(results, one) for one in every if one is not top)
    where = "above" if (top.value or 0.0) > 0 else "below"
    sentence = Markup("Accuracy of {} is {} {} that of {}, on the same items.")
    return [sentence.format(_of(results, top), points_of(top, plain=True), where, against)]


def _of(results: Results, one: Estimate) -> str:
    levels = [value for column, value in one.cell.items() if column not in ("evaluator", "model")]
    if not levels:
        return f"“{one.cell.get('model', '')}”"
    several = len(results.models) > 1 and "model" in one.cell
    return f"“{' · '.join(levels)}”" + (f" (model {one.cell['model']})" if several else "")


def _conclusions(results: Results) -> list[Markup]:
    """Under how many specifications each of a few conclusions holds, and how many would by chance."""
    joint, true = joint_conclusions(results.estimates), corrected_conclusions(results.estimates)
    said = [Markup("“{}” {}.").format(name, in_true_labels(one)) for name, one in list(true.items())[:FEW]]
    words = Markup("In these labels, {} holds under {} of {}. {}")
    again = Markup("it") if len(joint) == 1 and true else None
    return said + [
        words.format(
            again or Markup("“{}”").format(one.cell["conclusion"]),
            one.details["count"],
            count(one.n, one.unit),
            by_chance(one),
        ).rstrip()
        for one in joint[:FEW]
    ]


_PARTS: Mapping[Section, tuple[Callable[[Results], list[Markup]], ...]] = {
    "stability": (_stability, _always_alike),
    "sensitivity": (_sensitivity,),
    "accuracy": (_accuracy, _differences, effect_sentences),
    "coders": (coder_sentences,),
    "conclusions": (_conclusions,),
}
