"""What the evaluators read in some calls, for calls that come in the order in which they were answered."""

from __future__ import annotations

from typing import Final

import polars as pl

KEYS: Final = ("model", "variant", "decoding", "item", "repeat")
"""Which call an annotation belongs to."""

READ: Final = ("label", "status", "reason", "confidence")
"""What is shown of a reading."""

_ROWS: Final = 200_000
"""How many annotations are loaded at a time."""


class CallReadings:
    """Annotations, of which only those are held whose calls have not been asked for yet.

    They stand in the order of the answers, so hardly any are loaded before they are needed. Those of a
    follow-up stand further behind; until they are found, what stands before them is held.

    Args:
        annotations: The annotation frame.

    Attributes:
        evaluators: The evaluators' names, in the order of the annotations.
    """

    def __init__(self, annotations: pl.LazyFrame) -> None:
        self._left = annotations.select(*KEYS, "evaluator", *READ).with_columns(
            pl.col(pl.Categorical).cast(pl.String)
        )
        names = annotations.select(pl.col("evaluator").cast(pl.String).unique(maintain_order=True))
        self.evaluators: list[str] = names.collect().to_series().to_list()
        self._held = self._left.head(0).collect()
        self._loaded = 0
        self._whole = False

    def of(self, calls: pl.DataFrame) -> pl.DataFrame:
        """The annotations of some calls, which are asked for once.

        Args:
            calls: `KEYS`.
        """
        found = self._take(calls)
        while not self._whole and _apart(found) < calls.height * len(self.evaluators):
            part = self._left.slice(self._loaded, _ROWS).collect()
            self._loaded += part.height
            self._whole = part.height < _ROWS
            self._held = pl.concat([self._held, part])
            found = pl.concat([found, self._take(calls)])
        return found

    def _take(self, calls: pl.DataFrame) -> pl.DataFrame:
        found = self._held.join(calls, on=KEYS, how="semi")
        if found.height:
            self._held = self._held.join(calls, on=KEYS, how="anti", maintain_order="left")
        return found


def _apart(found: pl.DataFrame) -> int:
    return found.select(pl.struct(*KEYS, "evaluator").n_unique()).item()  # type: ignore[no-any-return]
