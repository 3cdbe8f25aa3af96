"""Which of a study's labels may be accepted, from its gold sample; kept for the report."""

from __future__ import annotations

import json
from math import isclose
from typing import Any, Final

import polars as pl

from quaver.acceptance.accepted_labels import Acceptance, accepted_labels
from quaver.acceptance.item_scores import evidence_of
from quaver.core.records import Numbers
from quaver.core.seeds import derive
from quaver.errors import MeasureError, UnknownName
from quaver.study.analysis.annotation_frame import first_evaluator
from quaver.study.analysis.study_measures import measurable
from quaver.study.sources.study_source import StudySource

FILE: Final = "accepted.json"
_ASKED: Final = ("error", "confidence_level", "by", "evaluator")


def accept(
    study: StudySource,
    *,
    error: float = 0.05,
    confidence_level: float = 0.95,
    by: str | None = None,
    evaluator: str | None = None,
    learned: bool = True,
    keep: bool = True,
) -> Acceptance:
    """Which labels of a study may be accepted (see `Study.accept`), kept in its folder where it has one."""
    acceptance = _accepted(study, measurable(study), error, confidence_level, by, evaluator, learned)
    if keep and study.keeps_results:
        asked = (error, confidence_level, by, evaluator)
        study.files.write(
            FILE, {"asked": dict(zip(_ASKED, asked, strict=True)), "found": acceptance.document()}
        )
    return acceptance


def kept_acceptance(study: StudySource, frame: pl.DataFrame) -> dict[str, Any]:
    """What is kept of labels that were accepted, as today's answers and gold labels give it.

    Empty where none were asked for, or where none can be accepted any more.
    """
    asked = study.files.read(FILE).get("asked")
    if asked is None:
        return {}
    try:
        acceptance = _accepted(study, frame, *(asked.get(name) for name in _ASKED))
    except (MeasureError, UnknownName):
        return {}
    return {"asked": asked, "found": acceptance.document()}


def acceptance_differences(study: StudySource, frame: pl.DataFrame) -> list[str]:
    """What of a bundle's accepted labels does not follow from its answers and gold labels, in words."""
    kept = study.files.read(FILE)
    if not kept:
        return []
    again = json.loads(json.dumps(kept_acceptance(study, frame).get("found")))
    if again is None:
        return [f"{FILE}: no label can be accepted from these answers and gold labels"]
    return [
        f"{FILE}: {name} {_short(kept['found'].get(name))} stands there, {_short(again.get(name))} comes out"
        for name in dict.fromkeys([*again, *kept["found"]])
        if not _same(kept["found"].get(name), again.get(name))
    ]


def _same(one: Any, other: Any) -> bool:
    """Whether two documents are the same, up to what another machine's sums may differ by."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, float) or isinstance(other, float):
        numbers = isinstance(one, int | float) and isinstance(other, int | float)
        return numbers and isclose(one, other, rel_tol=1e-7, abs_tol=1e-9)
    return bool(one == other)


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 80 else text[:79] + "…"


def shown_acceptance(study: StudySource, frame: pl.DataFrame) -> dict[str, Any]:
    """What a report says of labels that may be accepted: as it was last asked for, from today's gold labels.

    Without a gold sample there is nothing to say.
    """
    drawn = "gold_drawn" in frame.columns and bool(frame["gold_drawn"].any())
    if not drawn:
        return {}
    asked = study.files.read(FILE).get("asked", {})
    given = {"error": 0.05, "confidence_level": 0.95} | asked
    try:
        acceptance = _accepted(study, frame, *(given.get(name) for name in _ASKED))
    except (MeasureError, UnknownName) as error:
        return {
            "accepted": {"headline": error.problem, "curve": [], "groups": [], "accepted": [], "notes": []}
        }
    return {"accepted": acceptance.document()}


def _accepted(
    study: StudySource,
    frame: pl.DataFrame,
    error: Any,
    confidence_level: Any,
    by: Any,
    evaluator: Any,
    learned: bool = True,
) -> Acceptance:
    if frame.is_empty() and study.has_answers:
        raise _no_labels(study)
    known = [one.title for one in study.spec.evaluators]
    if evaluator is not None and evaluator not in known:
        raise UnknownName("evaluator", evaluator, known, where="evaluator")
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
    groups = [name for name in study.experiment.groups if name in frame.columns]
    evidence = evidence_of(
        own,
        study.experiment.labels.codes,
        numbers=isinstance(study.experiment.labels, Numbers),
        groups=groups,
        confidences=None if sure is None else frame.filter(named == sure),
    )
    return accepted_labels(
        evidence,
        error=error,
        confidence_level=confidence_level,
        by=by,
        learned=learned,
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
        else "collect answers first: quaver run",
    )
