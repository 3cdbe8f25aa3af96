"""The sentences that carry the finding: what each kind of study measured, in plain words with its numbers."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup, escape

from quaver.records import Estimate
from quaver.report.measure_words import in_words
from quaver.report.numbers import number, percent_measure, points, printed, value_and_interval
from quaver.report.results import NO_LABEL, Results, varying

__all__ = ["STABLE", "carrying", "named", "readiness_headline", "readiness_sentences"]

STABLE = 0.8
"""Krippendorff's customary bar: below it, conclusions from the labels are not safe."""

_FEW = 3
"""Estimates that are told one by one, each with its interval."""

_READABLE = 0.95


def carrying(results: Results) -> list[Markup]:
    """A sentence or more for each thing that the study measured; none for what it did not.

    Args:
        results: The study.
    """
    told = (_stability, _always_alike, _sensitivity, _accuracy, _differences, _effects, _valid)
    return [sentence for tell in told for sentence in tell(results)]


def named(results: Results, label: str) -> Markup:
    """A label in quotation marks, or that there is none."""
    return escape(NO_LABEL) if label == NO_LABEL else Markup("“{}”").format(results.label_name(label))


def readiness_headline(results: Results) -> Markup | None:
    """Whether what was profiled may be put to work, by the thresholds that the study states."""
    profiles = _profiles(results)
    if not profiles:
        return None
    told = []
    for verdict in ("ready", "not ready", "undecided"):
        own = [name for name, one in profiles if one.details["verdict"] == verdict]
        if own:
            named = f"{len(own)} of {len(profiles)}" if len(own) > _FEW else _listed(own)
            verb = "is" if len(own) == 1 else "are"
            said = "whether {} {} ready is undecided" if verdict == "undecided" else "{} {} " + verdict
            told.append(Markup(said).format(named, verb))
    return Markup("By the thresholds that were stated, {}.").format(Markup("; ").join(told))


def readiness_sentences(results: Results) -> list[Markup]:
    """How many criteria each profile meets, and which it misses."""
    told = []
    for name, one in _profiles(results):
        missed = [
            in_words(other.measure.removeprefix("readiness_"))
            for other in results.estimates
            if other.measure.startswith("readiness_")
            and other.cell == one.cell
            and other.details.get("verdict") == "not met"
        ]
        why = f" (not met: {', '.join(missed)})" if missed else ""
        said = Markup("{} meets {} of {} criteria{}")
        told.append(said.format(name, one.details["met"], one.details["criteria"], why))
    sentence = Markup("; ").join(told[: 2 * _FEW])
    return [Markup("{}.").format(sentence[:1].upper() + sentence[1:])] if told else []


def _profiles(results: Results) -> list[tuple[str, Estimate]]:
    """Each profile with the name of what it is of."""
    some = [one for one in results.in_order(results.of("readiness")) if "verdict" in one.details]
    columns = varying(some)
    names = (" · ".join(one.cell[column] for column in columns if column in one.cell) for one in some)
    return [(f"“{name}”" if name else "the model", one) for name, one in zip(names, some, strict=True)]


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _few(some: Sequence[Estimate]) -> str | None:
    """The column by which few estimates are told one by one; None where there are too many, or none tells."""
    columns = varying(some)
    return columns[0] if 1 < len(some) <= _FEW and len(columns) == 1 else None


def _span(estimates: Sequence[Estimate]) -> Markup:
    """One estimate or a few with their intervals, or the smallest and largest of many."""
    if column := _few(estimates):
        told = [
            Markup("{} ({})").format(value_and_interval(one), one.cell.get(column, "")) for one in estimates
        ]
        return Markup(" and ").join([Markup(", ").join(told[:-1]), told[-1]])
    known = sorted((one for one in estimates if one.value is not None), key=lambda one: one.value or 0.0)
    if len(known) == 1:
        return value_and_interval(known[0])
    percent = percent_measure(known[0].measure)
    ends = [known[0].value or 0.0, known[-1].value or 0.0]
    if printed(ends[0], percent) == printed(ends[1], percent):
        return Markup("{} in each of {} conditions").format(number(ends[0], percent), len(known))
    return Markup("{} to {} over {} conditions").format(*(number(end, percent) for end in ends), len(known))


def _coarsest(results: Results, measure: str) -> list[Estimate]:
    """A measure's defined estimates that are about most."""
    known = [one for one in results.in_order(results.main(measure)) if one.value is not None]
    least = min((len(one.cell) for one in known), default=0)
    return [one for one in known if len(one.cell) == least]


def _stability(results: Results) -> list[Markup]:
    told: list[Markup] = []
    for measure, words in (
        ("intra_pss", "Asked again in the same words, {} agrees with itself at α = {}."),
        ("inter_pss", "Asked in other ways, {} agrees with itself at α = {}."),
    ):
        known = _coarsest(results, measure)
        if known:
            who = "it" if told else "the model"
            told.append(Markup(words).format(who, _span(known)))
    if not told:
        return []
    scale = Markup("Here 1 is perfect, 0 is chance, and below {} is not safe to build on.").format(STABLE)
    return [Markup(" ").join([*told, scale])]


def _always_alike(results: Results) -> list[Markup]:
    known = _coarsest(results, "strict_stability")
    return (
        [Markup("Of the items, {} are answered alike in every repeat.").format(_span(known))] if known else []
    )


def _sensitivity(results: Results) -> list[Markup]:
    of, alike = _coarsest(results, "sensitivity"), _coarsest(results, "consistency")
    told = []
    if of:
        said = Markup("Sensitivity, which is 0 where another wording never changes a label, is {}.")
        told.append(said.format(_span(of)))
    if alike:
        said = Markup("Consistency, which is 1 where all items of a class are answered alike, is {}.")
        told.append(said.format(_span(alike)))
    return [Markup(" ").join(told)] if told else []


def _accuracy(results: Results) -> list[Markup]:
    known = [one for one in results.in_order(results.main("accuracy")) if one.value is not None]
    if not known:
        return []
    told = Markup("Accuracy is {}").format(_span(known))
    details = known[0].details
    majority, chance = details.get("majority"), details.get("chance")
    if isinstance(majority, float) and isinstance(chance, float):
        told += Markup("; always answering {} would be right in {}, guessing in {}").format(
            named(results, str(details.get("majority_label", "the commonest label"))),
            number(majority, percent=True),
            number(chance, percent=True),
        )
    return [told + Markup(".")]


def _differences(results: Results) -> list[Markup]:
    """The largest difference of paired accuracies that is told from none."""
    every = results.main("differences")
    known = [one for one in every if one.value and _clear(one)]
    if not known:
        return []
    top = max(known, key=lambda one: (abs(one.value or 0.0), one.value or 0.0))
    against = str(top.details.get("against", "the others"))
    if len(every) == 2 and against.startswith("the mean"):
        (against,) = (_of(results, one) for one in every if one is not top)
    where = "above" if (top.value or 0.0) > 0 else "below"
    said = Markup("Accuracy of {} is {} {} that of {}, on the same items.")
    return [said.format(_of(results, top), _points(top, plain=True), where, against)]


def _of(results: Results, one: Estimate) -> str:
    levels = [value for column, value in one.cell.items() if column not in ("evaluator", "model")]
    if not levels:
        return f"“{one.cell.get('model', '')}”"
    several = len(results.models) > 1 and "model" in one.cell
    return f"“{' · '.join(levels)}”" + (f" (model {one.cell['model']})" if several else "")


def _clear(one: Estimate) -> bool:
    """Whether the whole interval is on one side of 0."""
    return one.low is not None and one.high is not None and (one.low > 0) == (one.high > 0) and one.low != 0


def _effects(results: Results) -> list[Markup]:
    """The level of a factor that changes accuracy most, else compliance."""
    for kind, what in (("accuracy", "accuracy"), ("compliance", "the share of valid answers")):
        known = [
            one for one in results.main(f"factor_effects_{kind}_difference") if one.value and _clear(one)
        ]
        if not known:
            continue
        top = max(known, key=lambda one: abs(one.value or 0.0))
        said = Markup("Of the prompt’s parts, {} “{}” changes {} most: by {} against “{}”{}.")
        of = f" (model {top.cell['model']})" if len(results.models) > 1 and "model" in top.cell else ""
        return [
            said.format(
                *(top.cell["factor"], top.cell["level"], what, _points(top)),
                *(top.details.get("against", "the others"), of),
            )
        ]
    return []


def _points(one: Estimate, *, plain: bool = False) -> Markup:
    """A difference of shares with its interval, in points; without its sign where words tell it."""
    ends = [one.value or 0.0, one.low or 0.0, one.high or 0.0]
    if plain:
        ends = [abs(end) for end in (ends if ends[0] > 0 else (ends[0], ends[2], ends[1]))]
    value, *bounds = (points(end) for end in ends)
    return Markup("{} [{} to {}]").format(value, *(bound.removesuffix(" points") for bound in bounds))


def _valid(results: Results) -> list[Markup]:
    known = [one for one in results.main("compliance") if one.value is not None]
    if not known or min(one.value or 0.0 for one in known) > _READABLE:
        return []
    low, high = min(known, key=lambda one: one.value or 0.0), max(known, key=lambda one: one.value or 0.0)
    if low is high:
        return [Markup("A label could be read from {} of the answers.").format(value_and_interval(low))]
    return [
        Markup("A label could be read from {} to {} of a condition’s answers.").format(
            number(low.value or 0.0, percent=True), number(high.value or 0.0, percent=True)
        )
    ]
