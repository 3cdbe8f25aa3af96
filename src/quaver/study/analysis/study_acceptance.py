"""Which of a study's labels may be accepted, from its gold sample; kept for the report."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import polars as pl

from quaver.acceptance.accepted_labels import Acceptance, accepted_labels
from quaver.acceptance.item_scores import ItemEvidence, evidence_of, scored
from quaver.acceptance.selection import Candidates, out_of_reach
from quaver.core.seeds import derive
from quaver.errors import MeasureError, UnknownName
from quaver.gold.gold_draw import declared_draw, with_gold
from quaver.study.analysis.annotation_frame import first_evaluator
from quaver.study.analysis.study_measures import measurable
from quaver.study.sources.study_source import StudySource

FILE: Final = "accepted.json"


def accept(
    study: StudySource,
    *,
    error: float = 0.05,
    confidence_level: float = 0.95,
    by: str | None = None,
    evaluator: str | None = None,
    keep: bool = True,
) -> Acceptance:
    """Which labels of a study may be accepted (see `Study.accept`), kept in its folder where it has one."""
    asked = {"error": error, "confidence_level": confidence_level, "by": by, "evaluator": evaluator}
    acceptance = _accepted(study, measurable(study), asked)
    if keep and study.keeps_results:
        study.files.write(FILE, {"asked": asked, "found": acceptance.document()})
    return acceptance


def forecast(
    study: StudySource, variants: Sequence[str], error: float, labels: int, confidence_level: float = 0.95
) -> tuple[int, int, float, float] | None:
    """Why a promise cannot be kept with some prompts, as a study's gold labels show, however they came."""
    frame = measurable(study).filter(pl.col("variant").cast(pl.String).is_in(list(variants)))
    known = {item.id: item.gold for item in study.experiment.items}
    gold = {item: label for item, label in known.items() if label is not None}
    if not gold or frame.is_empty():
        return None
    evidence = _evidence(study, with_gold(frame, known, declared_draw([*known], gold), gold, {}))
    every = Candidates(scored(evidence), evidence.checked, evidence.wrong, evidence.probability)
    return out_of_reach(every.some(evidence.candidates), error, 1 - confidence_level, labels)


def kept_acceptance(study: StudySource, frame: pl.DataFrame) -> dict[str, Any]:
    """What is kept of labels that were accepted, as today's answers and gold labels give it.

    Empty where none were asked for, or where none can be accepted any more.
    """
    asked = study.files.read(FILE).get("asked")
    if asked is None:
        return {}
    try:
        acceptance = _accepted(study, frame, asked)
    except (MeasureError, UnknownName):
        return {}
    return {"asked": asked, "found": acceptance.document()}


def acceptance_differences(study: StudySource, frame: pl.DataFrame) -> list[str]:
    """What of a bundle's accepted labels does not follow from its answers and gold labels, in words."""
    kept = study.files.read(FILE)
    if not kept:
        return []
    again = kept_acceptance(study, frame)
    if not again:
        return [f"{FILE}: no label can be accepted from these answers and gold labels"]
    stands, comes = _rounded(kept["found"]), _rounded(again["found"])
    return [
        f"{FILE}: {name} {str(stands.get(name))[:80]} stands there, {str(comes.get(name))[:80]} comes out"
        for name in dict.fromkeys([*comes, *stands])
        if stands.get(name) != comes.get(name)
    ]


def _rounded(document: Mapping[str, Any]) -> dict[str, Any]:
    """A document with as many digits as sums on any machine agree in."""
    rounded: dict[str, Any] = json.loads(json.dumps(document), parse_float=lambda text: round(float(text), 6))
    return rounded


def shown_acceptance(study: StudySource, frame: pl.DataFrame) -> dict[str, Any]:
    """The accepted labels for the report: with the last options, from the current gold labels.

    Without a gold sample there is nothing to say.
    """
    drawn = "gold_drawn" in frame.columns and bool(frame["gold_drawn"].any())
    if not drawn:
        return {}
    asked = study.files.read(FILE).get("asked", {})
    given = {"error": 0.05, "confidence_level": 0.95} | asked
    try:
        acceptance = _accepted(study, frame, given)
    except (MeasureError, UnknownName) as error:
        return {
            "accepted": {"headline": error.problem, "curve": [], "groups": [], "accepted": [], "notes": []}
        }
    return {"accepted": acceptance.document()}


def _evidence(study: StudySource, frame: pl.DataFrame, evaluator: str | None = None) -> ItemEvidence:
    """What speaks for each item's label, as an evaluator reads it, the first if none is named."""
    if frame.is_empty() and study.has_answers:
        raise _no_labels(study)
    names = [evaluator.title for evaluator in study.spec.evaluators]
    if evaluator is not None and evaluator not in names:
        raise UnknownName("evaluator", evaluator, names, where="evaluator")
    named = pl.col("evaluator").cast(pl.String)
    own = frame.filter(named == (evaluator or first_evaluator(study, frame)))
    # The evaluator with the most token probabilities, else with the most confidences.
    counted = (
        frame.group_by(pl.col("evaluator").cast(pl.String), maintain_order=True)
        .agg(pl.col("probabilities").count(), pl.col("confidence").count())
        .filter(pl.col("confidence") > 0)
        .sort("probabilities", "confidence", descending=True, maintain_order=True)
    )
    sure = None if counted.is_empty() else str(counted["evaluator"][0])
    coders = study.spec.coder_columns
    groups = [name for name in study.experiment.groups if name in frame.columns and name not in coders]
    return evidence_of(
        own,
        study.experiment.labels.codes,
        numbers=study.experiment.labels.are_numbers,
        groups=groups,
        confidences=None if sure is None else frame.filter(named == sure),
    )


def _accepted(study: StudySource, frame: pl.DataFrame, asked: Mapping[str, Any]) -> Acceptance:
    return accepted_labels(
        _evidence(study, frame, asked.get("evaluator")),
        error=asked["error"],
        confidence_level=asked["confidence_level"],
        by=asked.get("by"),
        seed=derive(study.spec.seed, "accept"),
    )


def _no_labels(study: StudySource) -> MeasureError:
    """Why there are no labels to accept: whose answers are asked for, and whose are stored."""
    with study.answers() as store:
        stored = {
            source["identity"]: source["responses"] for source in store.sources() if source["responses"]
        }
    asked = {str(facts["identity"]) for facts in study.served.values()}
    others = [f"{count:,} of {identity}" for identity, count in stored.items() if identity not in asked]
    changed = "answers that fit no call of the study as it is now" if stored else "no answers"
    return MeasureError(
        "there are no labels to accept: no stored answer is one that this study asks for",
        where=study.where,
        expected="answers of " + ", ".join(sorted(asked)),
        found=", ".join(others) or changed,
        fix="name the function that answered, with --function"
        if others
        else "collect answers first: `quaver run STUDY`",
    )
