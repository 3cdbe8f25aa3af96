"""The verdict on a study: whether its labels may be used, from as few measures as decide that."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from quaver.report.estimate_index import Results
from quaver.report.findings.verdict_card import Card, card
from quaver.study.analysis.study_estimates import estimates_of_verdict, measurable
from quaver.study.collection.rounds_words import rounds_in_words
from quaver.study.collection.study_status import StudyStatus, status
from quaver.study.gold_sample.gold_status import described
from quaver.study.sources.bundle_source import Bundle
from quaver.study.sources.gold_files import GoldFiles
from quaver.study.sources.study_source import StudySource
from quaver.study.study_freeze import frozen


def verdict(study: StudySource, now: StudyStatus | None = None) -> Card:
    """The verdict on a study's labels as a card.

    Args:
        study: The study.
        now: Its status, where it is at hand.

    Raises:
        StoreError: Nothing is stored yet.
    """
    frame = measurable(study)
    return card(Results(resolved(study, now), frame, (), audit=estimates_of_verdict(study, frame)))


def resolved(study: StudySource, now: StudyStatus | None = None) -> dict[str, Any]:
    """What the study resolved to, with how its answers came together and the digest of its bundle, if any."""
    digest = study.opened.digest if isinstance(study, Bundle) else ""
    return study.lock() | shown_with(study, now) | ({"bundle": digest} if digest else {})


def shown_with(study: StudySource, now: StudyStatus | None = None) -> dict[str, Any]:
    """What the report shows beside the lock: how answers came together, what was written down before."""
    before = frozen(study)
    shown = {"collection": collected(study, now)} | ({"frozen": before.document()} if before else {})
    state = GoldFiles(study.folder).state()
    return shown | ({"gold_sample": described(state, study.experiment.labels)} if state.design else {})


def collected(study: StudySource, now: StudyStatus | None = None) -> dict[str, Any]:
    """How the answers came together: how many there are, when, what they cost, what to know of them."""
    if not study.files.responses.exists():
        return {}
    now, rounds = now or status(study), study.files.read("rounds.json")
    return {
        "reused": dict(now.reused),
        "warnings": now.warnings,
        "outside": now.outside,
        "rounds": rounds_in_words(**rounds) if rounds and study.spec.until else "",
        "answered": now.answered,
        "total": now.total,
        "date": None if now.last is None else datetime.fromtimestamp(now.last, UTC).strftime("%-d %B %Y"),
        "money": now.money,
    }
