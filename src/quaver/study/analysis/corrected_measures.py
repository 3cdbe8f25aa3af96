"""What a designed gold sample says of a study beside its conclusions: shares, accuracy and compliance."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

import polars as pl

from quaver.core.records import Estimate
from quaver.core.seeds import derive
from quaver.measures.corrected.labelled_items import designed
from quaver.study.sources.study_plugins import Measurement
from quaver.study.sources.study_source import StudySource

SCORE: Final = "corrected_score"
"""Taken unasked where the labels are numbers: of all items, and by each column that groups them."""

CORRECTED: Final = ("corrected_share", "corrected_accuracy", "corrected_compliance", SCORE)
"""They are taken wherever there is a designed gold sample; ``quaver measure`` takes each by its name."""


def corrected_measurements(
    study: StudySource, frame: pl.DataFrame, names: Collection[str] | None
) -> list[Measurement]:
    """The measures that the study's gold sample corrects; none where no gold label was drawn by design.

    Args:
        study: The study.
        frame: Its annotations.
        names: Only these.
    """
    if names is None and not designed(frame):
        return []
    labels, group = study.experiment.labels, study.spec.group
    asked = [name for name in CORRECTED if name in names] if names is not None else list(CORRECTED)
    if names is None and labels.level != "interval":
        asked.remove(SCORE)
    columns = [one for one in getattr(study.spec.items, "groups", ()) if one in frame.columns]
    return [
        Measurement(
            name,
            _Corrected(name),
            None,
            {"labels": labels, "by": by, "seed": derive(study.spec.seed, "bootstrap", name), "group": group},
        )
        for name in asked
        for by in ((), *((one,) for one in columns if name == SCORE))
    ]


class _Corrected:
    """A corrected measure; of annotations without a designed gold sample, the reason why there is none."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, annotations: pl.DataFrame, **options: Any) -> list[Estimate]:
        from quaver import measures  # with the statistics they need, for few studies only

        if not designed(annotations):
            return [Estimate(self._name, None, reason="no gold labels that were drawn by design")]
        found: list[Estimate] = getattr(measures, self._name)(annotations, **options)
        return found
