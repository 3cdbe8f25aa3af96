"""What a verdict rests on: registered measures of one frame of annotations, model by model.

A class that is rare, a label that is seldom given, or a group that is small, may be wrong throughout while
nearly all labels are right. So each is looked at by itself, with intervals that hold for all of them at once
(Bonferroni).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Final

import numpy as np
import polars as pl
import scipy

from quaver.core.records import BY_PAIRS, UNORDERED, Estimate, LabelSet
from quaver.estimation.cells import Frame, guarded
from quaver.estimation.coded_columns import frame_of
from quaver.estimation.intervals import adjusted
from quaver.measures.correctness.accuracy import accuracy
from quaver.measures.correctness.f1 import precision, recall
from quaver.measures.evidence.beside_gold import gold
from quaver.measures.evidence.judged_answers import ModelAnswers, at_once, complement
from quaver.measures.evidence.label_flips import flips, label_kept, likeness
from quaver.measures.evidence.prompt_choice import deviating_prompts, prompt_choice, prompts_seen
from quaver.measures.stability.quote_stability import other_reason, quote_found
from quaver.measures.stability.served_flips import served_flips
from quaver.measures.validity.item_clusters import LENGTH, associated, fisher_exact, traits
from quaver.measures.variation.label_movement import label_movement
from quaver.measures.variation.label_shares import label_shares

_LEVELS: Final = 50
"""Of a column with more values no group is looked at by itself."""

_MOST: Final = 0.15
"""A label is left out that is surely wrong in more than this share of its uses."""


_HARDLY: Final = 0.1
"""A step of a scale is hardly ever given where surely no more than this share of its texts gets it."""

_CHANCE_REVERSED: Final = 0.01
"""With this chance, over all steps, texts of a higher step seem to get lower labels."""

_CHANCE_LEADING: Final = 0.05
"""With this chance, over all labels, one of two that are wrong as often seems to be so most often."""


@guarded
def verdict_evidence(
    annotations: Frame,
    factors: Sequence[str] = (),
    *,
    labels: LabelSet,
    compared: Sequence[str] = (),
    coders: Sequence[str] = (),
    group: str | None = None,
    seed: int = 0,
    quality: Sequence[Estimate] | None = None,
) -> list[Estimate]:
    """What is known of the labels of each model (in the cell).

    Args:
        annotations: A row a call, of one evaluator.
        factors: Columns of the prompt's factors, whose levels may move labels.
        labels: The label set; a label outside it is none.
        compared: Columns of items, each group of which is looked at by itself.
        coders: Columns of coders' labels.
        group: The column that groups the items.
        seed: Of the random signs in `label_movement`.
        quality: What `answer_quality` gives, where it is known already.

    Returns:
        What `answer_quality`, `flips`, `served_flips`, `correctness`, `vouched_parts`, `prompts_seen`,
        `deviating_prompts` and `prompt_choice` give, and `quote_found` and `other_reason` where answers quote
        the text; what may be vouched for also of each prompt that may be chosen, with ``variant`` in the
        cell. An estimate without a value says why.

    Two items, two prompts; one item's label flips. Of the two pairs of prompts about one item one differs,
    and so does one of the two pairs of prompts about two items:

    >>> from quaver.core.records import Label
    >>> frame = pl.DataFrame({"item": [1, 1, 2, 2], "variant": list("vwvw"), "label": list("aaab")})
    >>> codes = LabelSet(tuple(Label(code, code) for code in "ab"))
    >>> flips = {one.measure: one.value for one in verdict_evidence(frame, labels=codes)}
    >>> flips["flips_prompts"], flips["flips_chance"], flips["flips_agreement"]
    (0.5, 0.5, 0.0)
    """
    frame = frame_of(annotations)
    estimates = [*(answer_quality(frame, factors, group=group) if quality is None else quality)]
    for answers in _by_model(frame, labels, group, seed):
        for estimate in _of_model(answers, factors, compared, coders):
            estimates.append(replace(estimate, draws=None))
    return estimates


def _by_model(
    frame: pl.DataFrame, labels: LabelSet, group: str | None, seed: int = 0
) -> Iterator[ModelAnswers]:
    """The answers of each model, as text; a label outside the set is none."""
    absent = {"model": "", "variant": "", "status": None, "gold": None, "truncated": None}
    missing = [
        pl.lit(value, pl.String).alias(name) for name, value in absent.items() if name not in frame.columns
    ]
    texts = frame.with_columns(missing).with_columns(
        pl.col("item", "variant", "status", "label", "gold").cast(pl.String),
        pl.col("model").cast(pl.String).fill_null(""),
    )
    if "repeat" not in texts.columns:
        texts = texts.with_columns(repeat=pl.int_range(pl.len()).over("model", "variant", "item"))
    if labels.labels:
        texts = texts.with_columns(label=pl.when(pl.col("label").is_in(list(labels.codes))).then("label"))
    for (model,), calls in texts.group_by("model", maintain_order=True):
        yield ModelAnswers(calls, str(model), labels, group, seed)


def _of_model(
    answers: ModelAnswers, factors: Sequence[str], compared: Sequence[str], coders: Sequence[str]
) -> Iterator[Estimate]:
    asked = answers.answered
    yield from asked.labelled.take(flips)
    yield from asked.labelled.take(served_flips)
    yield _label_in_use(asked.labelled)
    yield from correctness(answers)
    if not answers.labels.are_numbers:  # no label's share moves
        yield from label_shifts(asked.labelled, factors)
    if asked.calls.is_empty():
        return
    yield from vouched_parts(asked, compared, coders)
    if "quote_status" in asked.calls.columns and asked.calls["quote_status"].count():
        yield from asked.labelled.take(quote_found)
        yield from asked.labelled.take(other_reason)
    yield from prompts_seen(asked)
    yield from deviating_prompts(asked)
    choice = [*prompt_choice(asked)]
    yield from choice
    named = (estimate.cell.get("variant", estimate.details.get("prompt", "")) for estimate in choice)
    for prompt in sorted({str(name) for name in named if name}):
        for estimate in vouched_parts(asked.where(pl.col("variant") == prompt), compared, coders):
            yield replace(estimate, cell={**estimate.cell, "variant": prompt})


@guarded
def evidence_of_groups(annotations: Frame, column: str, *, labels: LabelSet, seed: int = 0) -> list[Estimate]:
    """What may be vouched for of each group of a column's items, model by model."""
    return [
        replace(estimate, draws=None)
        for answers in _by_model(frame_of(annotations), labels, None, seed)
        for estimate in vouched_parts(answers.answered, [column])
        if estimate.cell.get("group") == column
    ]


# ------------------------------------------------------------------------------- the answers' quality

_KINDS: Final = {
    "failed_calls": "share of calls that ended in an error",
    "unlabelled_answers": "share of calls whose answer has no label",
    "truncated_answers": "share of calls whose answer was cut off at max_tokens",
}


def answer_quality(
    frame: pl.DataFrame, factors: Sequence[str] = (), *, group: str | None = None
) -> list[Estimate]:
    """Of all calls of each model: how many failed, gave no label, were cut off.

    One denominator for the three, the calls: ``failed_calls``, ``unlabelled_answers`` (an answer came, and no
    label could be taken from it) and ``truncated_answers``. In the details: ``times`` and ``calls``, and
    ``items``, of how many items every call is one; for the unlabelled ``statuses``, and ``by`` and ``shares``
    of the factor over whose levels their share ranges furthest; for those cut off ``unlabelled``, how many of
    them have no label.

    One call of four failed, one answer has no label:

    >>> statuses = ["valid", "valid", "no_label", "error"]
    >>> frame = pl.DataFrame({"item": [1, 2, 3, 4], "label": ["a", "b", None, None], "status": statuses})
    >>> [(one.measure, one.value) for one in answer_quality(frame)]
    [('failed_calls', 0.25), ('unlabelled_answers', 0.25), ('truncated_answers', 0.0)]
    """
    bare, failed = pl.col("label").is_null(), (pl.col("status") == "error").fill_null(value=False)
    estimates = []
    for answers in _by_model(frame, LabelSet(()), group):
        marked = answers.calls.with_columns(
            pl.col("truncated").cast(pl.Boolean).fill_null(value=False).alias("truncated_answers"),
            pl.col("status").fill_null("no_label"),
            failed_calls=bare & failed,
            unlabelled_answers=bare & ~failed,
        )
        for kind, method in _KINDS.items():
            counted = {"times": int(marked[kind].sum()), "calls": marked.height}
            counted["items"] = int(marked.group_by("item").agg(pl.col(kind).all())[kind].sum())
            details = {**_of_kind(marked, kind, factors), **counted}
            share = next(answers.shares(kind, method, pl.col(kind), marked))
            estimates.append(replace(share, details=details))
    return estimates


def _of_kind(calls: pl.DataFrame, kind: str, factors: Sequence[str]) -> Mapping[str, Any]:
    """Details: unlabelled answers among those cut off; statuses and factor of those without a label."""
    if kind == "truncated_answers":
        return {"unlabelled": calls.filter(pl.col(kind) & pl.col("unlabelled_answers")).height}
    if kind == "failed_calls":
        return {}
    statuses = calls.filter(pl.col(kind))["status"].value_counts()
    ordered = statuses.sort("count", "status", descending=[True, False])
    counts = dict(ordered.iter_rows())
    details: dict[str, Any] = {
        "statuses": counts,
        "refused": counts.get("refused", 0) / max(1, sum(counts.values())),
    }
    widest = -1.0
    for factor in (name for name in factors if name in calls.columns):
        known = calls.drop_nulls(factor).group_by(pl.col(factor).cast(pl.String))
        levels = known.agg(share=pl.col(kind).mean()).sort("share", factor)
        span = float(levels["share"][-1] - levels["share"][0]) if levels.height > 1 else -1.0
        if span > widest:
            widest = span
            details |= {"by": factor, "shares": dict(levels.iter_rows())}
    return details


# ------------------------------------------------------------------------------- of all labels


def _label_in_use(labelled: ModelAnswers) -> Estimate:
    """The share of the most frequent label, ``label`` in the details; how many ``labels``; the one prompt."""
    if labelled.calls.is_empty():
        return Estimate("label_in_use", None, reason="no answer has a label", cell={"model": labelled.model})
    shares = labelled.take(label_shares, labels=LabelSet(labelled.labels.labels))
    most = max(shares, key=lambda share: share.number)
    used: dict[str, Any] = {"label": most.cell["label"], "labels": sum(bool(share.value) for share in shares)}
    if len(labelled.prompts) == 1:
        used["prompt"] = labelled.prompts[0]
    return replace(most, measure="label_in_use", cell={"model": labelled.model}, details=used)


def _leading(wrong: pl.DataFrame, labels: int) -> str:
    """The label that surely most texts have wrongly, by a sign test against the next, over all labels."""
    each = wrong.group_by("item").agg(pl.col("label").mode().sort().first())
    first, (_, second) = (*Counter(each["label"].to_list()).most_common(2), ("", 0), ("", 0))[:2]
    chance = scipy.special.bdtrc(first[1] - 1, first[1] + second, 1 / 2)
    return str(first[0]) if chance * labels < _CHANCE_LEADING else ""


def correctness(answers: ModelAnswers) -> Iterator[Estimate]:
    """How a model's labels compare with the gold labels, over all of them.

    ``correct_answers``, the measure ``accuracy`` over all prompts, an answer without a label, or a call that
    failed, being wrong; ``wrong_labels``, 1 less the accuracy of the labels, in the details the wrong one
    that surely stands on more texts than any other; and what the measure `gold` has.
    """
    right, *_ = answers.take(accuracy, missing="wrong")
    yield replace(right, measure="correct_answers")
    of_labels, *_ = answers.answered.take(accuracy, missing="drop")
    rows = answers.answered.labelled.calls.filter(pl.col("label") != pl.col("gold"))
    details = dict[str, Any]()
    if leading := _leading(rows.select("item", pl.col("label").cast(pl.String)), len(answers.labels.codes)):
        details = {"label": leading, "share": float((rows["label"] == leading).mean())}  # type: ignore[arg-type]
    yield replace(complement(of_labels, "wrong_labels"), details=details)
    for estimate in answers.answered.take(gold):
        if estimate.measure != "gold_distance":
            yield estimate


def label_shifts(labelled: ModelAnswers, factors: Sequence[str]) -> list[Estimate]:
    """How far each factor moves the share of a label: ``label_range`` of `label_movement`.

    ``lowest`` and ``highest`` in the details are the levels between which it moves, and ``shares`` has that
    of each level; ``p_holm`` is adjusted for the model's factors.
    """
    calls, several = labelled.calls, dict[str, list[str]]()
    for factor in factors:
        levels = calls[factor].drop_nulls().cast(pl.String).unique().sort().to_list()
        if len(levels) > 1:
            several[factor] = levels
    options: dict[str, Any] = {"labels": labelled.labels, "group": labelled.group, "seed": labelled.seed}
    moves = label_movement(calls.drop("gold"), several, **options) if several else []
    shifts = []
    for shift in (move for move in moves if move.measure == "label_range"):
        shares = {
            move.cell["level"]: move.number
            for move in moves
            if move.measure == "level_shares" and move.cell.items() >= shift.cell.items()
        }
        ends = {"lowest": min(shares, key=shares.__getitem__), "highest": max(shares, key=shares.__getitem__)}
        details = {**shift.details, **ends, "shares": shares}
        cell = {"model": labelled.model, **shift.cell}
        shifts.append(replace(shift, measure="label_shift", cell=cell, details=details))
    return adjusted(shifts)


# ------------------------------------------------------------------------------- part by part


def vouched_parts(
    answers: ModelAnswers, compared: Sequence[str] = (), coders: Sequence[str] = ()
) -> Iterator[Estimate]:
    """How often each class is found, each label is right, and how each group is labelled.

    Calls that failed take no part; an answer without a label is not the gold label.

    - ``class_found`` (``label`` in the cell): the recall of a class; in the details ``found``, in how many of
      the items any answer gives it, of ``texts``, and ``parts``, how many intervals hold at once.
    - ``group_wrong`` (``group`` and ``level``): 1 less the accuracy of a group's items.
    - ``group_class_found`` (``group``, ``level`` and ``label``): the recall of a class in a group.
    - ``group_agreement`` (``group`` and ``level``), of labels that have an order, instead: 1 − D_group /
      D_chance, how far a group's labels are from the gold labels, by the disagreement of their level, with
      D_chance that of all items (`gold`).
      Of the steps of a scale only these have ``class_found``: a step that no answer gives, one that surely
      less than one in ten of its texts get, and two neighbours of which the texts of the higher one surely
      get lower labels. Otherwise a neighbouring step is nearly as good.
    - ``label_right`` (``label``): the precision of a label over all prompts; in the details ``uses``, its
      share of the labels, and ``texts``. ``others_wrong``: the share of wrong labels among those that are
      left where each label is left out (``without`` in the details, ``share`` what they are of all labels)
      that is surely wrong in more than 15% of its uses.
    - ``label_kept`` (``label``), without gold labels: specific agreement of prompts (`label_kept`).
    - ``unlabelled_texts``: the share of items that no answer labels; known without gold labels. What most of
      them have in common and others have not is in the details: ``trait`` in words, and by how many of them
      it is ``shared``.
    - ``coders_differ``: the share of coders' labels that differ from what most other coders gave.
    """
    columns, people = (
        [name for name in some if name in answers.calls.columns] for some in (compared, coders)
    )
    lengths = [LENGTH] if LENGTH in answers.calls.columns and answers.group is None else []
    yield _unlabelled(answers, [*columns, *lengths])
    if len(people) > 1:
        yield _between_coders(answers, people)
    labels = answers.labels
    if likeness(labels) is None or labels.level in BY_PAIRS:
        if answers.has_gold:
            yield from _of_classes(answers, columns)
            yield from _of_labels(answers)
        else:
            kept = answers.labelled.take(label_kept)
            yield from at_once(kept, len(kept))
    elif answers.has_gold:
        yield from _on_a_scale(answers, columns)


def _unlabelled(answers: ModelAnswers, columns: Sequence[str]) -> Estimate:
    """The share of items without any label, and what these have in common."""
    beside = dict.fromkeys((*columns, answers.group or "item"))
    firsts = [pl.col(name).first() for name in beside if name != "item"]
    items = answers.calls.group_by("item", maintain_order=True).agg(
        pl.col("label").is_null().all(), (pl.col("status") == "refused").any().alias("refused"), *firsts
    )
    bare, everyone = items["label"].to_numpy(), np.ones(items.height, bool)
    of_items = items.select(columns)
    if LENGTH in columns:
        of_items = of_items.with_columns(pl.col(LENGTH).cast(pl.Float64))
    refused = int(items.filter(pl.col("label") & pl.col("refused")).height)
    details: dict[str, Any] = {"texts": int(bare.sum()), "of": len(bare), "refused": refused}
    for common in associated(bare, everyone, traits(of_items)):
        shared = int((bare & common.items).sum())
        if common.inside > common.outside and 2 * shared > bare.sum():
            details |= {"trait": common.words, "shared": shared}
            break
    method = "share of the items that have no label in any answer"
    share = next(answers.shares("unlabelled_texts", method, pl.col("label"), items))
    return replace(share, details=details)


def _between_coders(answers: ModelAnswers, people: Sequence[str]) -> Estimate:
    """How often a coder's label is not the one that most of the others gave; ties of these do not count."""
    named, rows = dict.fromkeys(("item", answers.group or "item")), []
    for row in (
        answers.calls.unique("item", maintain_order=True).select(*named, *people).iter_rows(named=True)
    ):
        given = [row[name] for name in people if row[name] is not None]
        for place, label in enumerate(given):
            others = Counter(given[:place] + given[place + 1 :]).most_common(2)
            if others and (len(others) == 1 or others[0][1] > others[1][1]):
                rows.append({**{name: row[name] for name in named}, "differs": label != others[0][0]})
    method = "share of coders' labels that differ from the label that most of the others gave"
    schema = dict.fromkeys(named, pl.String) | {"differs": pl.Boolean}
    differ = answers.shares("coders_differ", method, pl.col("differs"), pl.DataFrame(rows, schema=schema))
    return replace(next(differ), details={"coders": len(people)})


def _of_groups(answers: ModelAnswers, columns: Sequence[str]) -> Iterator[tuple[str, ModelAnswers]]:
    """The answers with a value in each column that has a few."""
    for column in columns:
        known = answers.where(pl.col(column).is_not_null())
        if 1 < known.calls[column].n_unique() <= _LEVELS:
            yield column, known


def _in_group(estimate: Estimate, column: str) -> Estimate:
    """An estimate with its group in the cell, in the words of a verdict."""
    rest = {name: value for name, value in estimate.cell.items() if name not in (column, "model")}
    where = {"group": column, "level": estimate.cell[column]}
    return replace(estimate, cell={"model": estimate.cell["model"], **where, **rest})


def _of_classes(answers: ModelAnswers, columns: Sequence[str]) -> Iterator[Estimate]:
    """What gold labels show of each class, each group, and each class of a group."""
    parts = [replace(estimate, measure="class_found") for estimate in answers.take(recall, missing="wrong")]
    for column, some in _of_groups(answers, columns):
        for estimate in some.take(accuracy, by=[column], missing="wrong"):
            if estimate.measure == "accuracy":  # of sets there is more
                parts.append(_in_group(replace(estimate, measure="group_wrong"), column))
        for class_recall in some.take(recall, by=[column], missing="wrong"):
            parts.append(_in_group(replace(class_recall, measure="group_class_found"), column))
    parts = [part for part in parts if part.value is not None]
    for part in at_once(parts, len(parts)):
        details = {"texts": part.details["items"], "parts": len(parts), "found": part.details.get("found")}
        whole = complement(part, part.measure) if part.measure == "group_wrong" else part
        yield replace(whole, details=details)


def _of_labels(answers: ModelAnswers) -> Iterator[Estimate]:
    """How often each label is right where it is given, and how many of the others are wrong."""
    given = [
        replace(estimate, measure="label_right")
        for estimate in answers.take(precision)
        if estimate.value is not None
    ]
    uses = {estimate.cell["label"]: estimate.details["given"] for estimate in given}
    without = []
    for estimate in at_once(given, len(given)):
        label = estimate.cell["label"]
        details = {"uses": uses[label] / sum(uses.values()), "texts": estimate.details["items"]}
        yield replace(estimate, details=details)
        if estimate.high is not None and estimate.high < 1 - _MOST:
            without.append(label)
    left = answers.where(~pl.col("label").is_in(without)).labelled
    if without and left.has_gold and likeness(answers.labels) is None:
        right, *_ = left.take(accuracy, missing="drop")
        share = sum(uses[label] for label in without) / sum(uses.values())
        yield replace(complement(right, "others_wrong"), details={"without": without, "share": share})


def _on_a_scale(answers: ModelAnswers, columns: Sequence[str]) -> Iterator[Estimate]:
    """What gold labels show of each group where labels have an order, and which steps are never given."""
    stepless = answers.labels.level in UNORDERED or answers.labels.are_numbers
    steps = [] if stepless else answers.take(recall, missing="wrong")
    known = [step for step in steps if step.value is not None]
    lost = set(answers.labels.codes) - set(answers.calls["label"]) | _reversed(answers) if known else set()
    for estimate in at_once(known, len(known)):
        if estimate.cell["label"] in lost or (estimate.high is not None and estimate.high < _HARDLY):
            details = {
                "texts": estimate.details["items"],
                "parts": len(known),
                "found": estimate.details.get("found"),
            }
            yield replace(estimate, measure="class_found", details=details)
    whole, groups = answers.take(gold)[0], list[Estimate]()
    for column, some in _of_groups(answers, columns):
        distances = (
            estimate for estimate in some.take(gold, by=[column]) if estimate.measure == "gold_distance"
        )
        groups += [_in_group(distance, column) for distance in distances]
    chance = whole.details.get("chance", 0.0)
    for distance in at_once(groups, len(groups)) if chance > 0 else ():
        value, low, high = (
            None if end is None else 1 - end / chance for end in (distance.value, distance.high, distance.low)
        )
        details = {"texts": distance.details["items"], "parts": len(groups)}
        method = "1 − disagreement of a group's labels and gold labels / that of all by chance"
        agreement = replace(distance, measure="group_agreement", value=value, low=low, high=high)
        yield replace(agreement, method=method, details=details)


def _reversed(answers: ModelAnswers) -> set[str]:
    """Neighbouring steps of which the texts of the higher one surely get lower labels, by exact tests."""
    codes, found = answers.labels.codes, set[str]()
    places = pl.col("label", "gold").cast(pl.Enum(codes), strict=False).to_physical()
    items = answers.calls.select("item", places).drop_nulls().group_by("item").mean()
    for step, higher in pairwise(items["gold"].unique().sort().cast(pl.Int64)):
        own, other = (items.filter(gold=place)["label"].to_numpy() for place in (step, higher))
        middle = np.append(own, other).mean()
        above = int((own > middle).sum()), own.size, int((other > middle).sum()), other.size
        if own.mean() > other.mean() and fisher_exact(*above) * len(codes) < _CHANCE_REVERSED:
            found |= {codes[step], codes[higher]}
    return found
