"""A gold sample in a bundle: packed with it, and held against what its seed and its labels give."""

from __future__ import annotations

import shutil
from pathlib import Path

import polars as pl

from quaver.core.annotations import GOLD_COLUMNS, with_added_columns
from quaver.gold.gold_draw import in_sample
from quaver.gold.prompt_labels import with_gold
from quaver.study.sources.gold_files import LABELS, GoldFiles
from quaver.study.sources.study_source import StudySource


def pack_gold(files: GoldFiles, folder: Path, *, texts: bool) -> None:
    """Copy a gold sample to a folder that is packed; without the coders' notes where texts stay behind.

    Args:
        files: The sample.
        folder: What is packed.
        texts: Whether the items' texts go along: a note may quote one.
    """
    state = files.state()
    for name, path in files.there.items():
        shutil.copyfile(path, folder / name)
    if not texts and state.coded["note"].is_not_null().any():
        bare = state.coded.with_columns(note=pl.lit(None, pl.String))
        GoldFiles(folder).write_table(LABELS, bare)


def gold_differences(source: StudySource, stored: pl.DataFrame) -> list[str]:
    """What of a bundle's gold sample does not follow from its seed, its probabilities and its labels.

    Args:
        source: The bundle.
        stored: Its annotations, as they were packed.

    Returns:
        The differences in words; none where there is no sample.
    """
    state = GoldFiles(source.folder).state()
    found: list[str] = []
    if state.design is not None and state.draw is not None:
        again = in_sample(state.draw, state.design["seed"], state.design["design"])
        if not again.equals(state.draw["drawn"], check_names=False):
            found.append("the items of the gold sample are not those that its seed and probabilities draw")
    if state.draw is None and state.coded.is_empty():
        columns = with_added_columns(stored).select(GOLD_COLUMNS[1:])
        filled = columns.null_count().sum_horizontal().item() < columns.height * columns.width
        return ["annotations speak of a gold sample that is not there"] if filled else []
    known = {item.id: item.gold for item in source.experiment.items}
    anew = with_gold(stored, known, state.draw, state.settled.gold, state.apart)
    text = pl.col(pl.Categorical).cast(pl.String)
    pairs = [one.select("item", *GOLD_COLUMNS).with_columns(text) for one in (stored, anew)]
    other = pairs[0].filter(
        pl.any_horizontal(pairs[0][name].ne_missing(pairs[1][name]) for name in GOLD_COLUMNS)
    )
    items = other["item"].unique(maintain_order=True).to_list()
    return found + [f"item {item}: its gold label or its draw differs" for item in items[:20]]
