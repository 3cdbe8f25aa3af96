"""What the studies of a collection will take, and how far each is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from quaver.core.rows import Rows
from quaver.study.collection.study_status import StudyStatus
from quaver.study.forecasts.forecast import Forecast


@dataclass(frozen=True, slots=True)
class Plans(Rows):
    """What each study will take.

    Attributes:
        studies: The forecasts, by study.
    """

    studies: Mapping[str, Forecast]

    @property
    def calls(self) -> int:
        """All calls."""
        return sum(one.calls for one in self.studies.values())

    @property
    def stored(self) -> int:
        """Calls that are answered already."""
        return sum(one.stored for one in self.studies.values())

    @property
    def seconds(self) -> float | None:
        """What is left, one study after the other; None where a study's pace is not known."""
        each = [one.seconds for one in self.studies.values() if one.stored < one.calls]
        known = [one for one in each if one is not None]
        return sum(known) if len(known) == len(each) else None

    def rows(self) -> list[dict[str, Any]]:
        """A row for each study and model."""
        return [
            {"study": name, "items": one.items, "variants": one.variants, "model": model.model}
            | {"calls": model.calls, "answered": model.stored, "seconds": model.seconds}
            | {"least": model.cost and model.cost.low, "most": model.cost and model.cost.high}
            for name, one in self.studies.items()
            for model in one.models
        ]


@dataclass(frozen=True, slots=True)
class Statuses(Rows):
    """How far each study is.

    Attributes:
        studies: Each one's status.
    """

    studies: Mapping[str, StudyStatus]

    @property
    def answered(self) -> int:
        """Calls that have a response."""
        return sum(one.answered for one in self.studies.values())

    @property
    def total(self) -> int:
        """All calls."""
        return sum(one.total for one in self.studies.values())

    @property
    def money(self) -> float | None:
        """US dollars spent; None where a price is not known."""
        spent = [one.money for one in self.studies.values()]
        return None if None in spent else sum(one for one in spent if one is not None)

    def rows(self) -> list[dict[str, Any]]:
        """A row for each study."""
        return [
            {"study": name, "answered": one.answered, "calls": one.total, "errors": one.errors}
            | {"tokens": one.tokens, "money": one.money}
            for name, one in self.studies.items()
        ]
