"""Predictors to compare with: one that guesses, and the model with half of its predictions swapped.

Source: Errica, Siracusano, Sanvito & Bifulco (2025), NAACL, section 4.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import polars as pl

from quaver.core.records import LabelSet
from quaver.core.seeds import derive
from quaver.errors import MeasureError
from quaver.estimation.arrangement import UnknownColumn
from quaver.estimation.encoding import encode_labels, ordered
from quaver.estimation.gathered import frame_of
from quaver.estimation.signature import guarded


@guarded
def baseline(
    annotations: Any,
    kind: Literal["noisy", "random"],
    *,
    labels: LabelSet | None = None,
    label: str = "label",
    share: float = 0.5,
    seed: int = 0,
) -> pl.DataFrame:
    """The annotations that a baseline would have given, for any measure to be taken of.

    Args:
        annotations: A row an annotation.
        kind: ``"random"``: every label is drawn, all alike likely. ``"noisy"``: a share of the labels is
            swapped for another one, all others alike likely.
        labels: The label set; without it, the labels that occur.
        label: The column of labels. The unanswered stay so.
        share: Which share ``"noisy"`` swaps.
        seed: Root seed.

    Returns:
        The frame with other labels (as text).

    Raises:
        MeasureError: The column does not exist, fewer than two labels, or the kind is unknown.

    >>> frame = pl.DataFrame({"item": [1, 2, 3, 4], "label": ["a", "b", "a", None]})
    >>> noisy = baseline(frame, "noisy", share=1.0)
    >>> noisy["label"].to_list()
    ['b', 'a', 'b', None]
    """
    frame = frame_of(annotations)
    if label not in frame.columns:
        raise UnknownColumn(label, frame.columns, where="label")
    if not 0 <= share <= 1:
        raise MeasureError("not a share", where="share", expected="from 0 to 1", found=repr(share))
    codes, values = encode_labels(frame[label], label)
    names = labels.codes if labels else tuple(ordered(values))
    given = np.flatnonzero(codes >= 0)
    if len(names) < 2:
        raise MeasureError("fewer than two labels", where="labels", expected="two to choose from")
    rng = np.random.default_rng(derive(seed, "baseline", kind))
    place = np.array([names.index(value) if value in names else -1 for value in values] + [-1])
    found = place[codes]
    if kind == "random":
        found[given] = rng.integers(0, len(names), given.size)
    else:
        swapped = rng.choice(given, round(share * given.size), replace=False)
        shift = rng.integers(1, len(names), swapped.size)
        # A label outside the set is swapped for any of them.
        found[swapped] = (np.maximum(found[swapped], 0) + shift) % len(names)
    text = [names[code] if code >= 0 else None for code in found.tolist()]
    kept = [
        values[old] if new < 0 <= old else said for old, new, said in zip(codes, found, text, strict=True)
    ]
    return frame.with_columns(pl.Series(label, kept, dtype=pl.String))
