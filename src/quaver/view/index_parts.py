"""The files of an index: what no answer changes, and frames that grow in files that never change."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from hashlib import blake2b
from pathlib import Path
from typing import Any

import polars as pl

from quaver.core.replaced_file import replacing
from quaver.design.prompts.rendering import PromptWriter
from quaver.errors import QuaverError
from quaver.score.distinct_readings import mark_of_rules
from quaver.study.analysis.annotation_frame import gold_labels
from quaver.study.sources.study_source import StudySource
from quaver.view.study_index import IndexDesign, write_json

_FORM = 6
"""Changes with what the files of an index mean."""

_MOST_VALUES = 65_535


def design_of_study(study: StudySource, evaluators: Sequence[str]) -> IndexDesign:
    """The fixed part of a study's index."""
    experiment, spec = study.experiment, study.spec
    readers = [evaluator.model_dump(mode="json") for evaluator in spec.evaluators]
    named = None if list(evaluators) == [evaluator.title for evaluator in spec.evaluators] else evaluators
    of = study.plugins.follow_ups(named) if study.has_answers else {}
    groups: dict[str, dict[str, None]] = {}
    for item in experiment.items:
        for name, value in item.groups.items():
            groups.setdefault(name, {})[value] = None
    return IndexDesign(
        name=spec.name,
        kind=study.kind,
        items=len(experiment.items),
        labels=experiment.labels,
        evaluators=tuple(evaluators),
        of={name: follow_up for name, follow_up in of.items() if follow_up},
        conditions=tuple(
            (one.model, one.variant, one.decoding, one.repeats)
            for one in experiment.conditions
            if not one.follow_up
        ),
        variants=tuple(experiment.variants),
        # A group of too many values to choose from is left out.
        groups={name: tuple(values) for name, values in groups.items() if len(values) <= _MOST_VALUES},
        has={"texts": study.has_texts, "answers": study.has_answers},
        task={"instruction": experiment.variants[0].instruction, "kind": study.kind},
        decodings={name: asdict(decoding) for name, decoding in experiment.decodings.items()},
        readers=readers if study.has_answers else [],
        store=str(study.files.responses.resolve()) if study.has_answers else "",
        folder=str(study.folder.resolve()),
        marks=str(study.results.resolve() / "marks"),
    )


def digest_of(study: StudySource, design: IndexDesign, placed: str) -> str:
    """Changes with everything that an index rests on, but for further answers."""
    parts: list[Any] = [_FORM, asdict(design), study.experiment.items_hash, placed]
    parts.append([dict(item.groups) for item in study.experiment.items] if design.groups else [])
    if study.has_answers:
        parts.append(mark_of_rules(study.plugins.evaluators().values()))
    if (frame := study.annotations) is not None:
        parts.append(int(frame.select(pl.exclude(pl.List)).hash_rows(seed=0).sum() or 0))
    text = json.dumps(parts, sort_keys=True, default=str)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=10).hexdigest()


def write_design(folder: Path, study: StudySource, design: IndexDesign) -> None:
    """Write the design and the items: ids, groups, and their texts and fields."""
    items = study.experiment.items
    columns: dict[str, list[Any]] = {"item": [item.id for item in items]}
    for position, name in enumerate(design.groups):
        columns[f"group-{position}"] = [item.groups.get(name) for item in items]
    if design.has["texts"]:
        writer = PromptWriter(study.experiment.variants[0], study.experiment.labels)
        columns["text"] = [_shown(writer, item) for item in items]
        columns["fields"] = [json.dumps(dict(item.fields), default=str) for item in items]
    frame = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String)).with_row_index("row")
    with replacing(folder / "items.parquet") as part:
        frame.write_parquet(part, row_group_size=_ROW_GROUP)
    write_json(folder / "design.json", asdict(design))


def write_gold(folder: Path, study: StudySource, design: IndexDesign) -> bool:
    """Write the gold labels as they are now; whether they differ from those that were there."""
    labels = [label if label in design.codes else None for label in gold_labels(study)]
    gold, path = pl.DataFrame({"gold": pl.Series(labels, dtype=pl.String)}), folder / "gold.parquet"
    if path.exists() and pl.read_parquet(path).equals(gold):
        return False
    with replacing(path) as part:
        gold.write_parquet(part)
    return True


def text_of(text: str | None) -> str:
    """A text without halves of surrogate pairs, which are no text."""
    return (text or "").encode("utf-8", "replace").decode()


def _shown(writer: PromptWriter, item: Any) -> str:
    """An item's text as the first variant shows it."""
    try:
        return text_of(writer.text(item))
    except QuaverError:
        return ""


_ROW_GROUP, _PART = 4_096, 2 << 20
"""Rows of a file that are read together, and the bytes up to which a file is written anew to grow."""

_READ = 60.0
"""Seconds for which a file stays that another has taken the place of: it may be read just now."""


class GrowingFrames:
    """The frames of an index; what a killed process did not note is forgotten.

    Args:
        folder: The index.
        files: The files of each frame.

    Attributes:
        files: The same as they are now.
    """

    def __init__(self, folder: Path, files: Mapping[str, Sequence[str]]) -> None:
        self._folder = folder
        self.files = {name: [*some] for name, some in files.items()}

    def append(self, name: str, frame: pl.DataFrame) -> None:
        """Add rows: the last file of a frame is written anew, as long as that is small."""
        if frame.is_empty():
            return
        files = self.files.setdefault(name, [])
        if files and (last := self._folder / files[-1]).stat().st_size < _PART:
            frame = pl.concat([pl.read_parquet(last), frame])
            last.touch()  # from now on, nobody begins to read it
            files.pop()
        files.append(self._written(name, frame))

    def drop(self, responses: Sequence[int]) -> None:
        """Take the rows of responses out."""
        for name, files in self.files.items():
            for position, file in enumerate(files):
                before = pl.read_parquet(self._folder / file)
                after = before.filter(~pl.col("response").is_in(responses))
                if after.height < before.height:
                    files[position] = self._written(name, after)

    def tidy(self) -> None:
        """Delete files that are no longer read."""
        held = {file for files in self.files.values() for file in files}
        for path in (path for name in self.files for path in self._folder.glob(f"{name}-*.parquet")):
            if path.name not in held and time.time() - path.stat().st_mtime > _READ:
                path.unlink()

    def _written(self, name: str, frame: pl.DataFrame) -> str:
        path = self._folder / f"{name}-{time.time_ns()}.parquet"
        frame.write_parquet(path, row_group_size=16 * _ROW_GROUP)
        return path.name
