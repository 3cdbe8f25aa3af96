"""Many stored answers become annotations in parts, so that no more than one part is ever held."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import polars as pl

from quaver.collect.store.response_store import CHUNK, Store
from quaver.errors import StoreError
from quaver.score.annotation import Annotator, annotate, no_search_for_cycles
from quaver.study.sources.kept_annotations import part_of, replacing_kept

PART: Final = 5 * CHUNK
"""Answers in a part."""

_FILE: Final = 2
"""The most parts that are kept as one file."""


def score(store: Store, design: Mapping[str, Any], kept: Path) -> None:
    """Score a store's answers and keep the annotations: a file, or a folder of parts where there are many."""
    spans = store.spans(PART)
    with replacing_kept(kept) as path:
        if len(spans) <= _FILE:
            annotate(store.read(), Annotator(**design), path)
            return
        path.mkdir()
        annotator = Annotator(**design)
        for number, (after, last) in enumerate(spans):
            with no_search_for_cycles():
                part = pl.concat([annotator.frame(rows) for rows in store.read(after, last)])
            write_part(part, part_of(path, number))


def write_part(part: pl.DataFrame, file: Path) -> None:
    """Write the annotations of one part."""
    try:
        part.write_parquet(file)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise StoreError(
            "the annotations cannot be written",
            where=str(file),
            found=str(error),
            fix="free some space, then run `quaver rescore`",
        ) from error
