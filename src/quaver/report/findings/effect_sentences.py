"""Sentences on what a prompt's parts change, on clustered items, and on coders."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any, Literal, NamedTuple

from markupsafe import Markup, escape

from quaver.core.number_format import count, percent, rounded
from quaver.core.records import Estimate
from quaver.report.estimate_index import Results
from quaver.report.page_words import interval, number, points, presentation_of

FEW = 3
"""As many estimates are reported one by one, each with its interval."""


def clear(one: Estimate) -> bool:
    """Whether the whole interval is on one side of 0; one that touches it is not.

    >>> clear(Estimate("d", -0.06, -0.17, 0.0)), clear(Estimate("d", -0.23, -0.33, -0.1))
    (False, True)
    """
    return one.low is not None and one.high is not None and (one.low > 0 or one.high < 0)


class Largest(NamedTuple):
    """Of several effects the one with the largest estimate, and what may be said of it.

    Attributes:
        top: It.
        clear: Whether its interval lies on one side of 0.
        next: The next largest, of another hypothesis; None where there is one only.
        separated: Whether the two intervals are apart, in size.
        others: Those that are clear of 0 where the largest is not, the largest first.
    """

    top: Estimate
    clear: bool
    next: Estimate | None
    separated: bool
    others: tuple[Estimate, ...]


def largest_effects(effects: Sequence[Estimate]) -> Largest | None:
    """The largest of some effects; None where there is none."""
    known: dict[object, Estimate] = {}
    for one in effects:
        if one.value:
            known.setdefault(
                one.details.get("hypothesis", (one.cell.get("factor"), one.cell.get("level"))), one
            )
    ranked = sorted(known.values(), key=lambda one: -abs(one.value or 0.0))
    if not ranked:
        return None
    top, *rest = ranked
    second = rest[0] if rest else None
    apart = second is not None and clear(top) and _size(top)[0] > _size(second)[1]
    others = () if clear(top) else tuple(one for one in rest if clear(one))
    return Largest(top, clear(top), second, apart, others)


def _size(one: Estimate) -> tuple[float, float]:
    """The ends of the interval of an effect's size, whichever way it goes."""
    ends = sorted(abs(end) for end in (one.low, one.high) if end is not None)
    if len(ends) < 2:
        return 0.0, float("inf")
    return (ends[0] if clear(one) else 0.0), ends[1]


def effect_sentences(results: Results) -> list[Markup]:
    """The largest effect of a factor's level on accuracy, model by model; else on compliance."""
    for kind, what in (("accuracy", "accuracy"), ("compliance", "the share of answers with a label")):
        effects = results.main(f"factor_effects_{kind}_difference")
        models = list(dict.fromkeys(one.cell.get("model", "") for one in effects))[:FEW]
        sentences = []
        for model in models:
            found = largest_effects([one for one in effects if one.cell.get("model", "") == model])
            of = f" of “{model}”" if len(models) > 1 else ""
            sentences += [] if found is None else [_largest(found, f"{what}{of}")]
        if sentences:
            return sentences
    return []


def _largest(found: Largest, what: str) -> Markup:
    """The largest effect with its interval, and whether it is clear of zero and of the next largest."""
    top = found.top
    words = Markup("Of the prompt’s parts, {} makes the largest difference to {}: {} against {}")
    sentence = words.format(_part(top), what, points_of(top), _against(top))
    if not found.clear:
        sentence += Markup(", not clear of zero")
        if found.others:
            each = (Markup("{} ({})").format(_part(one), points_of(one)) for one in found.others[:FEW])
            sentence += Markup("; clear of zero: {}").format(Markup(", ").join(each))
    elif found.next is not None and not found.separated:
        sentence += Markup(", not clearly more than {} ({})").format(_part(found.next), points_of(found.next))
    return sentence + Markup(".")


def _against(one: Estimate) -> Markup:
    """The level that an effect is compared with, or the mean of the others."""
    level = str(one.details.get("against", "the mean of the others"))
    return escape(level) if level.startswith("the mean") else Markup("“{}”").format(level)


def _part(one: Estimate) -> Markup:
    return Markup("{} “{}”").format(one.cell["factor"], one.cell["level"])


def points_of(one: Estimate, *, plain: bool = False) -> Markup:
    """A difference of shares with its interval, in points; without its sign where the words have it."""
    ends = [one.value or 0.0, one.low or 0.0, one.high or 0.0]
    if plain:
        ends = [abs(end) for end in (ends if ends[0] > 0 else (ends[0], ends[2], ends[1]))]
    value, *bounds = (points(end) for end in ends)
    return Markup("{} [{} to {}]").format(value, *(bound.removesuffix(" points") for bound in bounds))


_ALL = "all"
_MOST_NAMED = 5


def coder_gaps(results: Results) -> list[Estimate]:
    """The gaps between people and each model, over all prompts and of each, by the first evaluator."""
    first = results.evaluators[:1]
    found = [
        one
        for one in results.anywhere("coder_agreement_gap")
        if one.value is not None and one.cell.get("evaluator") in (*first, None)
    ]
    return results.in_order(found)


def coder_sentences(results: Results) -> list[Markup]:
    """How well people agree with each other and with each model, and with which prompts clearly less."""
    return [*_gaps_said(results), *replacement_sentences(results)]


def replacement_sentences(results: Results) -> list[Markup]:
    """Whether each model may take a coder's place, by the alternative annotator test."""
    first = results.evaluators[:1]
    found = []
    for one in results.anywhere("alternative_annotator_won"):
        if one.value is None or "variant" in one.cell or one.cell.get("evaluator") not in (*first, None):
            continue
        passes = one.details["passes"]
        words = (
            "By the alternative annotator test, {model} {may} take the place of a person: it does as well as "
            "{won} of {coders} people who were left out in turn, at a margin of {epsilon}{beside}."
        )
        mean = next(
            (
                other
                for other in results.anywhere("alternative_annotator")
                if other.cell == one.cell and other.value is not None
            ),
            None,
        )
        beside = ""
        if mean is not None:
            with_model, with_people = mean.details["with_model"], mean.details["with_coder"]
            beside = f"; people agree with each other on {with_people:.2f}, and with it on {with_model:.2f}"
        found.append(
            Markup(words).format(
                model=f"“{one.cell['model']}”" if "model" in one.cell else "the model",
                may="may" if passes else "was not shown to be able to",
                won=f"{one.details['won']:,}",
                coders=f"{one.details['coders']:,}",
                epsilon=f"{one.details['epsilon']:g}",
                beside=beside,
            )
        )
    return found


def _gaps_said(results: Results) -> list[Markup]:
    """How far people and each model agree, over all prompts and with each."""
    every = [one for one in coder_gaps(results) if one.cell.get("coder") == _ALL]
    pooled = [one for one in every if "variant" not in one.cell]
    found = [_said(one, len({other.cell.get("model") for other in pooled}) > 1) for one in pooled]
    each = [one for one in every if "variant" in one.cell]
    if len(each) < 2:
        return found
    further = [one for one in each if one.low is not None and one.low > 0]
    names = list(dict.fromkeys(results.variant_name(one.cell["variant"]) for one in further))
    alone = len({(one.cell.get("model"), one.cell.get("decoding")) for one in each}) == 1
    asked = count(len(each), "prompt") if alone else f"{len(each):,} pairs of model and prompt"
    if not further:
        words = "With none of {} is the model clearly further from people than they are from each other."
        return [*found, Markup(words).format(asked)]
    listed = f": {', '.join(names)}" if alone and len(names) <= _MOST_NAMED else ""
    words = "With {} of {}, the model is clearly further from people than they are from each other{}."
    return [*found, Markup(words).format(f"{len(further):,}", asked, listed)]


def _said(one: Estimate, several: bool) -> Markup:
    """One model against people."""
    model = f"“{one.cell['model']}”" if several and "model" in one.cell else "the model"
    between, beside = number(one.details["coders"]), number(one.details["model"])
    if one.low is None or one.high is None:
        words = "People agree with each other with an alpha of {}, and with {} with one of {}."
        return Markup(words).format(between, model, beside)
    if one.low > 0:
        words = "People agree better with each other than with {model}"
    elif one.high < 0:
        words = "People agree better with {model} than with each other"
    else:
        words = "People agree about as well with {model} as with each other, or the study cannot tell"
    words += ": alpha {between} between people, {beside} with {model}, a difference of {gap} [{ends}]."
    gap = number(one.value or 0.0)
    return Markup(words).format(model=model, between=between, beside=beside, gap=gap, ends=interval(one))


_COPIES = "near_duplicates"


@dataclass(frozen=True, slots=True)
class Clusters:
    """Groups of items that are labelled alike, and that no interval resamples.

    Attributes:
        kind: ``columns``: items share a value of a column. ``copies``: their texts are nearly the same.
        column: What to declare as the study's group.
        estimate: The intraclass correlation, and in its details the design effect (``effect``), the
            ``quantity`` of the items that it is about, and some of the study's estimates with both intervals
            (``again``).
    """

    kind: Literal["columns", "copies"]
    column: str
    estimate: Estimate

    @property
    def wider(self) -> float:
        """By what factor intervals over the groups are wider, roughly: the root of the design effect."""
        return sqrt(float(self.estimate.details["effect"]))


def clusters(estimates: Iterable[Estimate]) -> tuple[Clusters, ...]:
    """The groups that are real, those that matter most first."""
    real = [one for one in estimates if one.measure == "item_clusters" and one.details.get("clustered")]
    columns = {one.cell["column"]: one for one in real}  # the audit's and the study's own are the same
    found = [Clusters("copies" if name == _COPIES else "columns", name, one) for name, one in columns.items()]
    return tuple(sorted(found, key=lambda one: -one.wider))


def cluster_line(one: Clusters) -> str:
    """The finding in words: what is alike, what it does to intervals, and what to do.

    >>> details = {"effect": 4.0, "quantity": "accuracy", "groups": 15, "clustered": True}
    >>> like = Estimate("item_clusters", 0.33, 0.2, 0.6, n=150, cell={"column": "author"}, details=details)
    >>> print(cluster_line(clusters([like])[0]))  # doctest: +NORMALIZE_WHITESPACE
    Items of one author are labelled alike: the intraclass correlation of their accuracy is 0.33 [0.20 to
    0.60], 150 items in 15 groups. Its intervals are too narrow where items are resampled, by a factor of
    about 2.0. To resample these groups, put `group: author` under items.
    """
    like, details = one.estimate, one.estimate.details
    who = f"Items of one {one.column}" if one.kind == "columns" else "Items whose texts are nearly the same"
    ends = (
        f" [{rounded(like.low)} to {rounded(like.high)}]"
        if like.low is not None and like.high is not None
        else ""
    )
    said = (
        f"{who} are labelled alike: the intraclass correlation of their {details['quantity']} is "
        f"{rounded(like.value or 0.0)}{ends}, {like.n:,} items in {details['groups']:,} groups. Its "
        f"intervals are too narrow where items are resampled, by a factor of about {one.wider:.1f}"
    )
    shown = "; ".join(_both(row) for row in details.get("again", ()))
    shown = f": {shown}" if shown else ""
    under = details.get("under", "items")
    return f"{said}{shown}. To resample these groups, put `group: {one.column}` under {under}."


def _both(row: Mapping[str, Any]) -> str:
    """An estimate with its interval as it is, and as it would be."""
    shares = presentation_of(row["measure"]).in_percent
    written = percent if shares else rounded
    of = ", ".join(f"{column} {level}" for column, level in row["cell"].items() if column != "estimand")
    scope = f", {row['scope']}," if row.get("scope") else ""
    now, then = (f"[{written(low)} to {written(high)}]" for low, high in (row["now"], row["grouped"]))
    return f"{row['measure']}{f' ({of})' if of else ''}{scope} {written(row['value'])} {now} becomes {then}"
