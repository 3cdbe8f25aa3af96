"""What a designed gold sample says of a study beside its conclusions: shares, accuracy and compliance."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import polars as pl

from quaver.core.seeds import derive
from quaver.estimation.declaration import registered
from quaver.measures.corrected.labelled_items import designed
from quaver.study.sources.study_plugins import Measurement
from quaver.study.sources.study_source import StudySource

SCORE: Final = "corrected_score"
"""Taken unasked where the labels are numbers: of all items, and by each column that groups them."""

CORRECTED: Final = ("corrected_share", "corrected_accuracy", "corrected_compliance", SCORE)
"""They are taken wherever there is a designed gold sample, by default unless the study's file says how."""


def corrected_measurements(
    study: StudySource, frame: pl.DataFrame, known: Collection[str], names: Collection[str] | None
) -> list[Measurement]:
    """The measures that the study's gold sample corrects; none where no gold label was drawn by design.

    Args:
        study: The study.
        frame: Its annotations.
        known: The measures that the study's file names, with options of its own.
        names: Only these, and these in any case.
    """
    if not designed(frame):
        return []
    labels, group = study.experiment.labels, study.spec.group
    wanted = [name for name in CORRECTED if name != SCORE or labels.level == "interval"]
    asked = [name for name in (wanted if names is None else names) if name in CORRECTED and name not in known]
    columns = [one for one in getattr(study.spec.items, "groups", ()) if one in frame.columns]
    return [
        Measurement(
            name,
            registered(name),
            None,
            {"labels": labels, "by": by, "seed": derive(study.spec.seed, "bootstrap", name), "group": group},
        )
        for name in asked
        for by in ((), *((one,) for one in columns if name == SCORE))
    ]
