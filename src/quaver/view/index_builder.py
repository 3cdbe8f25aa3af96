"""Makes and continues the index of a study: what ``quaver view`` reads instead of the study itself.

An index is a folder that may be deleted at any time. It follows the stored answers while a study runs, and
reads the store without changing it. Its answers lie in files that never change once they are written.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

import polars as pl

from quaver.collect.store.response_store import Store
from quaver.core.records import Numbers
from quaver.core.replaced_file import replace_text, replacing
from quaver.design.prompts.rendering import PromptWriter
from quaver.errors import QuaverError
from quaver.score.annotation import Annotator, mark_of_rules
from quaver.study.analysis.annotation_frame import annotator_of, gold_labels, readable
from quaver.study.analysis.field_source import FieldSource
from quaver.study.sources.study_source import StudySource
from quaver.view.study_index import CURRENT, STATUSES, IndexDesign, State, scanned, state_in, write_json

_FORM: Final = 7
"""Changes with what the files of an index mean."""

_AT_ONCE: Final = 20_000
"""Answers that are taken in together."""

_PART: Final = 2 << 20
"""Bytes up to which a file of answers is written anew to grow."""

_READ: Final = 60.0
"""Seconds for which a file stays that another has taken the place of: it may be read just now."""

_MOST_VALUES: Final = 65_535
_CONDITION: Final = ["model", "variant", "decoding"]
_CALL: Final = """
    SELECT a.response, c.model, c.variant, c.decoding, i.id, a.repeat, r.id, ifnull(length(r.text), 0)
    FROM calls a JOIN conditions c ON c.position = a.condition JOIN items i ON i.position = a.item
    LEFT JOIN responses r ON r.id = ifnull(a.parent, a.response) WHERE"""
_FACTS: Final = pl.Schema(
    {"last": pl.Int64(), **dict.fromkeys((*_CONDITION, "item"), pl.String())}
    | dict.fromkeys(("repeat", "response", "length"), pl.Int64())
)


class IndexBuilder:
    """Makes and continues an index.

    Args:
        study: The study.
        root: The folder of its indexes, of which one is in use.

    Attributes:
        folder: The index.
        design: What it says of the study.
        state: How far it has come.
    """

    def __init__(self, study: StudySource, root: Path) -> None:
        self.study, self._noted, self._outgrown = study, 0.0, False
        with reading(study) as store:
            self.design = _design(study)
            self._placed = _placed_in(store)
        self.folder = root / _digest(study, self.design, self._placed)
        self.state = self._begun(root)
        ids = pl.Series("item", [item.id for item in study.experiment.items], dtype=pl.String)
        self._items = ids.to_frame().with_row_index("row")
        names = pl.DataFrame(self.design.conditions, schema=[*_CONDITION, "repeats"], orient="row")
        names = names.cast({**dict.fromkeys(_CONDITION, pl.String), "repeats": pl.Int64})
        self._conditions = names.with_columns(start=pl.col("repeats").cum_sum() - pl.col("repeats"))

    def _begun(self, root: Path) -> State:
        """Begin an index where there is none, and have it be the one in use."""
        if not (self.folder / "state.json").exists():
            shutil.rmtree(self.folder, ignore_errors=True)  # what a process that was killed has left
            self.folder.mkdir(parents=True)
            _write_items(self.folder, self.study, self.design)
            write_json(self.folder / "design.json", asdict(self.design))
            write_json(self.folder / "state.json", State()._asdict())
        replace_text(root / CURRENT, self.folder.name)
        for other in root.iterdir():
            if other.is_dir() and (other / "state.json").exists() and other != self.folder:
                shutil.rmtree(other, ignore_errors=True)
        return state_in(self.folder)

    def update(self, *, running: bool = False) -> bool:
        """Bring the index up to date.

        Args:
            running: Whether answers come in just now: those that take the place of errors wait until then.

        Returns:
            Whether the store still holds the calls of this design, and their labels are among its own; if
            not, another index is to be made.
        """
        before = self.state
        with reading(self.study) as store:
            if _placed_in(store) != self._placed:
                return False
            if store is not None:
                if not running and self._has_replaced(store):
                    self.state = State(changed=self.state.changed + 1)
                self._follow(store)
            elif (frame := self.study.annotations) is not None and not before.complete:
                self._append(labels := self._labels(frame))
                self.state = self.state._replace(done=labels.height, of=labels.height)
        if self._outgrown:
            return False
        if self.state != before or not before.complete:
            self._note(complete=True)
        return True

    def _follow(self, store: Store) -> None:
        """Take in the answers that have come since."""
        total = int(store.rows("SELECT count(*) FROM calls")[0][0])
        later = f"{_CALL} a.response > ? ORDER BY a.response LIMIT ?"
        while rows := store.rows(later, (self.state.last, _AT_ONCE)):
            self._put(rows, self._read(store, store.read_after(self.state.last, _AT_ONCE)))
            done = self.state.done + len(rows)
            self.state = self.state._replace(last=rows[-1][0], done=done, of=max(total, done))
            if time.monotonic() - self._noted > 1.0:
                self._note(complete=False)
        self.state = self.state._replace(of=max(total, self.state.done))

    def _has_replaced(self, store: Store) -> bool:
        """Whether a response that was an error when it was read is an answer now."""
        error = len(self.design.codes) + 1 + STATUSES.index("error")
        frame = scanned(self.folder, self.state.files, self.design.schema)
        errors = frame.filter(pl.col("legend") == error).select(pl.col("response").unique()).collect()
        known = "SELECT count(*) FROM responses WHERE finish != 'error' AND id IN"
        numbers = json.dumps(errors["response"].to_list())
        return bool(store.rows(f"{known} (SELECT value FROM json_each(?))", (numbers,))[0][0])

    def _put(self, rows: Sequence[Any], labels: pl.DataFrame) -> None:
        """Add labels with their responses; a follow-up's are those of the answer that it is about."""
        calls = self._places(pl.DataFrame([*map(tuple, rows)], schema=_FACTS, orient="row", strict=False))
        facts = calls.unique(["row", "column"]).select("row", "column", "response", "length")
        self._append(labels.join(facts, on=["row", "column"]))

    def _append(self, labels: pl.DataFrame) -> None:
        """Add rows: the last file is written anew, as long as that is small."""
        schema, files = self.design.schema, [*self.state.files]
        missing = [pl.lit(None, kind).alias(name) for name, kind in schema.items() if name not in labels]
        frame = labels.with_columns(missing).select(*schema).cast(schema)
        if frame.is_empty():
            return
        if files and (last := self.folder / files[-1]).stat().st_size < _PART:
            frame = pl.concat([pl.read_parquet(last), frame])
            last.touch()  # from now on, nobody begins to read it
            files.pop()
        self.state = self.state._replace(files=[*files, self._written(frame)])

    def _written(self, frame: pl.DataFrame) -> str:
        path = self.folder / f"answers-{time.time_ns()}.parquet"
        frame.write_parquet(path, row_group_size=65_536)
        return path.name

    def _places(self, frame: pl.DataFrame) -> pl.DataFrame:
        """What has a place in the grid, with its ``row`` and ``column``."""
        names = pl.col(*_CONDITION, "item").cast(pl.String)
        placed = frame.with_columns(names).join(self._conditions, on=_CONDITION, maintain_order="left")
        placed = placed.join(self._items, on="item", maintain_order="left")
        placed = placed.filter(pl.col("repeat").is_between(0, pl.col("repeats") - 1))
        return placed.with_columns(column=(pl.col("start") + pl.col("repeat")).cast(pl.UInt16))

    def _labels(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Annotations with their places, the numbers of their evaluators, and legend codes."""
        design, kinds = self.design, self.design.schema
        labels = {label: code for code, (label, _) in enumerate(design.meanings) if label is not None}
        statuses = {status: code for code, status in enumerate(STATUSES, len(design.codes) + 1)}
        statuses["valid"] = statuses["tied"]
        numbers = {name: position for position, name in enumerate(design.evaluators)}

        def coded(name: str, codes: dict[str, int], kind: Any) -> pl.Expr:
            return pl.col(name).cast(pl.String).replace_strict(codes, default=None, return_dtype=kind)

        legend = pl.coalesce(
            coded(name, codes, kinds["legend"]) for name, codes in (("label", labels), ("status", statuses))
        )
        known = frame.select(
            *_CONDITION,
            "item",
            "repeat",
            "label",
            "status",
            *(name for name in kinds if name in frame.columns),
        )
        placed = self._places(known).with_columns(
            coded("evaluator", numbers, kinds["evaluator"]), legend=legend
        )
        placed = placed.select(name for name in kinds if name in placed.columns)
        return placed.drop_nulls(["evaluator", "legend"])

    def _read(self, store: Store, answers: Sequence[tuple[int, Any]]) -> pl.DataFrame:
        """The labels that the evaluators read in answers, by their places."""
        conditions, items = self._numbers(store)
        rows = [
            (conditions[row[0]], items[row[1]], *row[2:])
            for _, row in answers
            if row[0] in conditions and row[1] in items
        ]
        frame = self._reader.frame(rows)
        if isinstance(self.study, FieldSource):  # an answer has all fields
            frame = self.study.rows(frame)
            self._outgrown |= not {*frame["label"].drop_nulls()} <= {*self.design.codes}
        return self._labels(frame)

    def _numbers(self, store: Store) -> tuple[dict[int, int], dict[int, int]]:
        """The study's numbers of a store's conditions and items, which may be of another version of it."""
        if self._numbered is None:
            places = {
                (one.model, one.variant, one.decoding, one.follow_up): position
                for position, one in enumerate(self.study.experiment.conditions)
            }
            items = dict(self._items.select("item", "row").iter_rows())
            sql = "SELECT position, model, variant, decoding, ifnull(follow_up, '') FROM conditions"
            self._numbered = (
                {row[0]: places[row[1:]] for row in map(tuple, store.rows(sql)) if row[1:] in places},
                {n: items[name] for n, name in store.rows("SELECT position, id FROM items") if name in items},
            )
        return self._numbered

    _numbered: tuple[dict[int, int], dict[int, int]] | None = None

    @cached_property
    def _reader(self) -> Annotator:
        study = self.study.whole if isinstance(self.study, FieldSource) else self.study
        of = readable(study, study.plugins.follow_ups())
        return annotator_of(study, study.plugins.evaluators(), of)

    def _note(self, *, complete: bool) -> None:
        """Write down how far the index has come; what is noted nowhere and read no more goes."""
        self.state, self._noted = self.state._replace(complete=complete), time.monotonic()
        write_json(self.folder / "state.json", self.state._asdict())
        for path in self.folder.glob("answers-*.parquet"):
            if path.name not in self.state.files and time.time() - path.stat().st_mtime > _READ:
                path.unlink()


@contextmanager
def reading(study: StudySource) -> Iterator[Store | None]:
    """A study's stored answers, only read; None where there are none."""
    path = study.files.responses
    if not path.exists() or not study.has_answers:
        yield None
        return
    store = Store(path, only_read=True)
    try:
        yield store
    finally:
        store.close()


def _placed_in(store: Store | None) -> str:
    """Whose calls a store holds; empty without one."""
    return "" if store is None else str(store.noted("study"))


def _design(study: StudySource) -> IndexDesign:
    """The fixed part of a study's index."""
    experiment, spec, frame = study.experiment, study.spec, study.annotations
    evaluators = [evaluator.title for evaluator in spec.evaluators]
    if frame is not None and not study.has_answers:
        evaluators = frame["evaluator"].unique(maintain_order=True).cast(pl.String).to_list()
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
        conditions=tuple(
            (one.model, one.variant, one.decoding, one.repeats)
            for one in experiment.conditions
            if not one.follow_up
        ),
        variants=tuple(experiment.variants),
        # A group of too many values to choose from is left out.
        groups={name: tuple(values) for name, values in groups.items() if len(values) <= _MOST_VALUES},
        has={
            "texts": study.has_texts,
            "answers": study.has_answers,
            "numbers": isinstance(experiment.labels, Numbers),
        },
        task={"instruction": experiment.variants[0].instruction, "kind": study.kind},
        decodings={name: asdict(decoding) for name, decoding in experiment.decodings.items()},
        store=str(study.files.responses.resolve()) if study.has_answers else "",
        folder=str(study.folder.resolve()),
        marks=str(study.results.resolve() / "marks"),
    )


def _digest(study: StudySource, design: IndexDesign, placed: str) -> str:
    """Changes with everything that an index rests on, but for further answers."""
    parts: list[Any] = [_FORM, asdict(design), study.experiment.items_hash, placed, gold_labels(study)]
    parts.append([dict(item.groups) for item in study.experiment.items] if design.groups else [])
    if study.has_answers:
        parts.append([evaluator.model_dump(mode="json") for evaluator in study.spec.evaluators])
        parts.append(mark_of_rules(study.plugins.evaluators().values()))
    if (frame := study.annotations) is not None:
        parts.append(int(frame.select(pl.exclude(pl.List)).hash_rows(seed=0).sum() or 0))
    text = json.dumps(parts, sort_keys=True, default=str)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=10).hexdigest()


def _write_items(folder: Path, study: StudySource, design: IndexDesign) -> None:
    """Write the items: ids, gold labels, groups, and their texts and fields."""
    items = study.experiment.items
    columns: dict[str, list[Any]] = {"item": [item.id for item in items]}
    columns["gold"] = [label if label in design.codes else None for label in gold_labels(study)]
    for position, name in enumerate(design.groups):
        columns[f"group-{position}"] = [item.groups.get(name) for item in items]
    if design.has["texts"]:
        writer = PromptWriter(study.experiment.variants[0], study.experiment.labels)
        columns["text"] = [_shown(writer, item) for item in items]
        by_hand = {*study.gold_columns, *study.spec.items.coders}  # who judges blind must not see these
        fields = (
            {name: value for name, value in item.fields.items() if name not in by_hand} for item in items
        )
        columns["fields"] = [json.dumps(some, default=str) for some in fields]
    frame = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String)).with_row_index("row")
    with replacing(folder / "items.parquet") as part:
        frame.write_parquet(part, row_group_size=4_096)


def _shown(writer: PromptWriter, item: Any) -> str:
    """An item's text as the first variant shows it, without halves of surrogate pairs, which are no text."""
    try:
        return writer.text(item).encode("utf-8", "replace").decode()
    except QuaverError:
        return ""
