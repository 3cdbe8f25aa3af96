"""How the answers were read: by the study's evaluator beside others, before the model is judged.

An evaluator is an instrument with an error of its own. The stored answers are read with several, which costs
no call; where they disagree so far that the verdict would be another one, that stands in place of a verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import polars as pl

from quaver.core import registry
from quaver.core.label_values import fields_in
from quaver.core.records import Estimate, Response
from quaver.report.findings.decision import recommendations
from quaver.score.annotation import annotate
from quaver.score.distinct_readings import reads_of
from quaver.score.parsing.evaluator import reads_fields
from quaver.score.parsing.label_forms import Forms, forms_of
from quaver.score.parsing.label_marks import marks_of
from quaver.score.parsing.parsed_answer import Answer
from quaver.study.analysis.annotation_frame import annotator_of, with_gold_of
from quaver.study.sources.study_source import StudySource

MEASURE: Final = "reader_disagreement"
MARKED: Final = "marked_label"
_OTHERS: Final = ("first_label", "answer_markers")
_READERS: Final = (MARKED, *_OTHERS, "label_match", "exact")
_OWN: Final = "own"
_NOT_READ: Final = ("error", "empty", "refused")
_MISREAD: Final = 0.1
"""Where so many answers are read as another label than they mark, the labels are not the model's."""
_UNMARKED: Final = 0.05
"""Where so many answers name several labels and mark none, other evaluators are tried for the verdict."""
_SHOWN, _AROUND = 10, 120
"""Answers that are shown, and characters of them around what was read."""

Kinds = Mapping[str, str]
Judge = Callable[[pl.DataFrame], list[Estimate]]


def read_by_several(study: StudySource, own: list[Estimate], judged: Judge) -> list[Estimate]:
    """How far evaluators disagree on the answers of each model, and whether that decides the verdict.

    Args:
        study: The study.
        own: What its verdict rests on.
        judged: What a verdict on other annotations rests on.

    Returns:
        ``reader_disagreement`` for each model: the share of the answers with text on which ``marked_label``,
        ``first_label``, ``answer_markers`` and the study's first evaluator do not read the same. In the
        details: ``alone`` and ``several``, how many answers are a label alone and name several;
        ``evaluators``, what the verdict would be by each where this differs, and ``examples`` of answers that
        are read differently. Nothing for answers that are no single label (records, scores, probabilities).
    """
    if not _names_labels(study):
        return []
    title = study.spec.evaluators[0].title
    evaluators = {name: registry.load("evaluators", name)() for name in _READERS}
    evaluators = {_OWN: study.plugins.evaluators()[title], **evaluators}
    with study.answers() as store:
        frame = annotate(store.read(), annotator_of(study, evaluators)).collect()
    if frame.is_empty():
        return []
    by = {str(name): part for (name,), part in frame.group_by("evaluator", maintain_order=True)}
    sides = _beside(by)
    found = []
    for (model,), part in sides.group_by("model", maintain_order=True):
        read = part.filter("read")
        if read.is_empty():
            continue
        details: dict[str, Any] = {"alone": int(read["alone"].sum()), "several": int(read["several"].sum())}
        share = float(read["differ"].mean())  # type: ignore[arg-type]
        details |= {name: int(read[name].sum()) for name in ("misread", "unmarked")}
        details["evaluator"] = title
        found.append(
            Estimate(
                MEASURE, share, n=read.height, unit="answer", cell={"model": str(model)}, details=details
            )
        )
    deciding = _deciding(study, by, sides, own, judged)
    return [_with_kinds(study, sides, one, deciding) for one in found]


def _names_labels(study: StudySource) -> bool:
    """Whether a study's first evaluator finds one label in the text of an answer."""
    if not study.has_answers or not study.files.responses.exists() or fields_in(study.experiment.labels):
        return False
    title = study.spec.evaluators[0].title
    evaluator = study.plugins.evaluators()[title]
    is_text = reads_of(evaluator) == "text" and not reads_fields(evaluator)
    variants = study.experiment.variants
    labels = all(variant.output == "label" and not variant.label_field for variant in variants)
    return is_text and labels and title not in study.plugins.follow_ups()


def _beside(by: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """A row an answer: what each evaluator reads, and how they differ."""
    label = {name: part["label"].cast(pl.String).fill_null("") for name, part in by.items()}
    own = by[_OWN]
    misread = (label[_OWN] != label[MARKED]) & (label[MARKED] != "")
    unmarked = by[MARKED]["status"].cast(pl.String) == "ambiguous"
    differ = misread | unmarked
    for name in _OTHERS:
        differ |= label[name] != label[_OWN]
    return pl.DataFrame(
        {
            "model": own["model"].cast(pl.String),
            "item": own["item"].cast(pl.String),
            "read": ~own["status"].cast(pl.String).is_in(_NOT_READ),
            "alone": label["exact"] != "",
            "several": by["label_match"]["status"].cast(pl.String) == "ambiguous",
            "misread": misread,
            "unmarked": unmarked,
            "differ": differ,
            _OWN: label[_OWN],
            MARKED: label[MARKED],
        }
    )


def _deciding(
    study: StudySource,
    by: Mapping[str, pl.DataFrame],
    sides: pl.DataFrame,
    own: list[Estimate],
    judged: Judge,
) -> dict[str, Kinds]:
    """By evaluator what the verdict on each model would be; empty where no other one need be tried."""
    shares = sides.filter("read").group_by("model").agg(pl.col("misread", "unmarked").mean())
    others = [MARKED] if shares["misread"].max() else []
    if not others and float(shares["unmarked"].max() or 0) >= _UNMARKED:  # type: ignore[arg-type]
        others = [*_OTHERS]
    if not others:
        return {}
    kinds = {study.spec.evaluators[0].title: _kinds(own)}
    for name in others:
        kinds[name] = _kinds(judged(with_gold_of(study, by[name], study.gold_files)))
    return kinds


def _kinds(estimates: Sequence[Estimate]) -> Kinds:
    return {one.model: one.kind for one in recommendations(estimates)}


def _with_kinds(
    study: StudySource, sides: pl.DataFrame, estimate: Estimate, deciding: Mapping[str, Kinds]
) -> Estimate:
    """The estimate of one model, with the verdicts by evaluator and examples where these differ."""
    model = estimate.cell["model"]
    kinds = {name: some[model] for name, some in deciding.items() if model in some}
    details: dict[str, Any] = dict(estimate.details)
    if len(set(kinds.values())) > 1 or details["misread"] > _MISREAD * estimate.n:
        marked = MARKED if MARKED in kinds else ""
        details |= {"evaluators": kinds, "marked": marked, "examples": [*_examples(study, sides, model)]}
    return Estimate(
        MEASURE, estimate.value, n=estimate.n, unit=estimate.unit, cell=estimate.cell, details=details
    )


def _examples(study: StudySource, sides: pl.DataFrame, model: str) -> Iterator[dict[str, Any]]:
    """Answers that are read differently: the item, the text around, and what was read where."""
    wanted = (pl.col("model") == model) & pl.col("read") & (pl.col("misread") | pl.col("unmarked"))
    rows = (
        sides.with_row_index("at")
        .filter(wanted)
        .unique("item", keep="first", maintain_order=True)
        .head(_SHOWN)
    )
    places = dict(zip(rows["at"].to_list(), rows.iter_rows(named=True), strict=True))
    forms = {variant.id: forms_of(study.experiment.labels, variant) for variant in study.experiment.variants}
    conditions, at = study.experiment.conditions, 0
    with study.answers() as store:
        for chunk in store.read():
            for index, condition in enumerate(chunk.conditions):
                if conditions[condition].follow_up:
                    continue
                if at in places:
                    answer = Answer(Response(chunk.said.texts[index]))
                    yield {
                        "item": places[at]["item"],
                        **_shown(answer, forms[conditions[condition].variant], places[at]),
                    }
                at += 1
            if at > max(places, default=-1):
                return


def _shown(answer: Answer, forms: Forms, row: Mapping[str, Any]) -> dict[str, Any]:
    """A part of an answer with what was read in it in ‹…›: by the study's evaluator, and by its marks."""
    mentions = [one for one in forms.mentions(answer) if one.codes]
    strongest = min(marks_of(answer, forms), key=lambda mark: mark[0], default=None)
    read = [one for one in mentions if row[_OWN] in one.codes][:1]
    read += [strongest[1]] if strongest else mentions[:2] if not read else []
    text, shift = answer.text, 0
    for place in sorted({(one.start, one.end) for one in read}):
        start, end = place[0] + shift, place[1] + shift
        text, shift = f"{text[:start]}‹{text[start:end]}›{text[end:]}", shift + 2
    first, last = text.find("‹"), text.rfind("›")
    begin, end = max(0, first - _AROUND), min(len(text), last + _AROUND)
    text = ("…" if begin else "") + " ".join(text[begin:end].split()) + ("…" if end < len(text) else "")
    return {"text": text, "read": row[_OWN] or None, "marked": row[MARKED] or None}
