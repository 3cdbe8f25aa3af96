"""Every call of a study as a table: prompt, answer, how each evaluator read it, whether that is right."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

import polars as pl
from polars.io.plugins import register_io_source

from quaver.collect.store.response_store import Store
from quaver.collect.store.store_lock import REPAIR
from quaver.core.annotations import FIELD
from quaver.core.instrument import record_text
from quaver.core.label_values import fields_in
from quaver.core.replaced_file import replacing
from quaver.core.response_validation import error_line
from quaver.core.spreadsheet import write_csv
from quaver.design.calls.experiment import Experiment
from quaver.errors import QuaverError, StoreError
from quaver.score.parsing.parsed_answer import without_thinking
from quaver.study.analysis.annotation_frame import rescored, scan
from quaver.study.sources.outgoing_check import check_outgoing
from quaver.study.sources.study_source import StudySource

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
        """The annotations of some calls, which are asked for once."""
        frame = self._take(calls)
        apart, wanted = pl.struct(*KEYS, "evaluator").n_unique(), calls.height * len(self.evaluators)
        while not self._whole and frame.select(apart).item() < wanted:
            part = self._left.slice(self._loaded, _ROWS).collect()
            self._loaded += part.height
            self._whole = part.height < _ROWS
            self._held = pl.concat([self._held, part])
            frame = pl.concat([frame, self._take(calls)])
        return frame

    def _take(self, calls: pl.DataFrame) -> pl.DataFrame:
        frame = self._held.join(calls, on=KEYS, how="semi")
        if frame.height:
            self._held = self._held.join(calls, on=KEYS, how="anti", maintain_order="left")
        return frame


FORMATS = (".jsonl", ".csv", ".parquet")

_CHUNK = 20_000
_SQL = """
    SELECT a.condition, a.item, a.repeat, p.messages, r.text, r.thinking, r.finish, r.error, r.prompt_tokens,
           r.cached_tokens, r.completion_tokens, r.thinking_tokens, r.latency, r.received, r.seed,
           r.served_model, r.fingerprint, t.asked, s.reused, lower(hex(r.key))
    FROM calls a JOIN responses r ON r.id = a.response LEFT JOIN prompts p ON p.id = r.prompt
    LEFT JOIN terms t ON t.id = r.terms LEFT JOIN sources s ON s.id = r.source ORDER BY a.response"""
_STORED = {
    "prompt": pl.String,
    "output": pl.String,
    "thinking": pl.String,
    "finish": pl.String,
    "error": pl.String,
    "prompt_tokens": pl.Int64,
    "cached_tokens": pl.Int64,
    "completion_tokens": pl.Int64,
    "thinking_tokens": pl.Int64,
    "latency": pl.Float64,
    "received": pl.Float64,
    "seed": pl.Int64,
    "served_model": pl.String,
    "fingerprint": pl.String,
    "instrument": pl.String,
    "reused_from": pl.String,
    "key": pl.String,
}
_OUTPUT, _THINKING = 4, 5
"""Where these two stand in a row."""


def export(path: Path, study: StudySource) -> int:
    """Write every answered call to a file: a row each, in the order in which the answers came.

    The columns: ``model``, ``variant``, ``decoding``, ``follow_up``, one for each factor, ``item``, one for
    each group (a factor ``output`` is ``factor_output``: see `core.column_names`), ``repeat``, ``gold``,
    ``prompt`` (the messages: role and content), ``output`` (as it came), ``thinking`` (from a field of its
    own, and from between marks in the output), ``finish``, ``error``, tokens, ``latency`` (seconds),
    ``received`` (UTC), ``seed``, ``served_model``, ``fingerprint``, ``instrument`` (what was asked, sent and
    honoured of each knob, as JSON), ``reused_from``, ``key``; and for each evaluator ``NAME.label``,
    ``NAME.status``, ``NAME.reason``, ``NAME.confidence`` and ``NAME.correct`` (empty where the item has no
    gold label; an answer without a label is not correct). Of a task with fields they
    are ``gold.FIELD``, ``NAME.FIELD.label`` and so on.

    Returns:
        How many calls were written.
    """
    check_ending(path, FORMATS, "calls")
    try:
        return _export(path, study, scan(study))
    except pl.exceptions.PolarsError:  # what was kept is damaged, and nothing is lost with it
        return _export(path, study, rescored(study))


def _export(path: Path, study: StudySource, annotations: pl.LazyFrame) -> int:
    if fields_in(study.experiment.labels):
        read = pl.concat_str(pl.col("evaluator", FIELD).cast(pl.String), separator=".")
        annotations = annotations.with_columns(read.cast(pl.Categorical).alias("evaluator")).drop(FIELD)
    rows, written = _Rows(study.experiment, CallReadings(annotations)), 0

    def frames(store: Store) -> Iterator[pl.DataFrame]:
        nonlocal written
        for chunk in _chunks(store):
            written += len(chunk)
            yield _intact(rows, chunk, study)

    with study.answers() as store, replacing(path) as part:
        WRITERS[path.suffix](part, frames(store), rows.frame([]))
        check_outgoing([part])
    return written


def _intact(rows: _Rows, chunk: Sequence[tuple[object, ...]], study: StudySource) -> pl.DataFrame:
    """The rows of some stored calls."""
    try:
        return rows.frame(chunk)
    except (TypeError, ValueError, OverflowError, LookupError) as error:
        raise StoreError(
            "a stored answer is damaged",
            where=str(study.files.responses),
            expected="what Quaver stored",
            found=error_line(error).partition("\n")[0],
            fix="save what is left with `quaver repair`",
        ) from None


def raw_answers(study: StudySource, items: Collection[str] | None = None) -> pl.DataFrame:
    """The answers to some items as they came, without those to follow-ups; none where there are labels only.

    Returns:
        ``model``, ``variant``, ``decoding``, ``item``, ``repeat``, ``output`` (null where there is none).
    """
    schema = dict.fromkeys(KEYS, pl.String) | {"repeat": pl.Int32, "output": pl.String}
    if not study.files.responses.exists():
        return pl.DataFrame(schema=schema)
    experiment = study.experiment
    places = [index for index, item in enumerate(experiment.items) if items is not None and item.id in items]
    own = {index for index, condition in enumerate(experiment.conditions) if not condition.follow_up}
    what = "c.condition, c.item, c.repeat, CAST(r.text AS TEXT)"  # damage can make a text a blob
    sql = f"SELECT {what} FROM calls c JOIN responses r ON r.id = c.response"
    some = "" if items is None else f" WHERE c.item IN ({', '.join('?' * len(places))})"
    with study.answers() as store, store.reading() as reader:
        found = reader.execute(f"{sql}{some} ORDER BY c.response", places).fetchall()
    rows = []
    for at, item, repeat, output in found:
        if at in own:
            one = experiment.conditions[at]
            rows.append((one.model, one.variant, one.decoding, experiment.items[item].id, repeat, output))
    return pl.DataFrame(rows, schema=schema, orient="row")


def _chunks(store: Store) -> Iterator[list[tuple[object, ...]]]:
    with store.reading() as reader:
        found = reader.execute(_SQL)
        while chunk := list(islice(found, _CHUNK)):
            yield chunk


class _Rows:
    """Makes rows of the table."""

    def __init__(self, experiment: Experiment, readings: CallReadings) -> None:
        self._experiment, self._readings = experiment, readings
        self._variants = {variant.id: variant for variant in experiment.variants}
        self._factors = list(dict.fromkeys(f for v in experiment.variants for f in v.factors))
        self._groups = list(dict.fromkeys(g for item in experiment.items for g in item.groups))
        self._fields = [field.name for field in fields_in(experiment.labels)]

    def frame(self, chunk: Sequence[tuple[object, ...]]) -> pl.DataFrame:
        """The rows of some stored calls."""
        conditions = [self._experiment.conditions[int(row[0])] for row in chunk]  # type: ignore[call-overload]
        items = [self._experiment.items[int(row[1])] for row in chunk]  # type: ignore[call-overload]
        columns: dict[str, pl.Series] = {}

        def put(name: str, values: Sequence[object], dtype: type[pl.DataType] = pl.String) -> None:
            columns[name] = pl.Series(name, values, dtype=dtype)

        for name in ("model", "variant", "decoding"):
            put(name, [getattr(condition, name) for condition in conditions])
        put("follow_up", [getattr(condition, "follow_up", "") for condition in conditions])
        for name in self._factors:
            put(name, [self._variants[condition.variant].factors.get(name) for condition in conditions])
        put("item", [item.id for item in items])
        for name in self._groups:
            put(name, [item.groups.get(name) for item in items])
        put("repeat", [row[2] for row in chunk], pl.Int32)
        if not self._fields:
            put("gold", [item.gold for item in items])
        for name in self._fields:
            put(f"gold.{name}", [item.golds.get(name) for item in items])
        for index, (name, dtype) in enumerate(_STORED.items(), start=3):
            values = [_thinking(row) if name == "thinking" else row[index] for row in chunk]
            if name == "instrument":
                values = [record_text(terms) if isinstance(terms, str) else None for terms in values]
            put(name, values, dtype)
        frame = pl.DataFrame(columns).with_columns(
            pl.col("received").mul(1e6).cast(pl.Int64).cast(pl.Datetime("us", "UTC"))
        )
        found = self._readings.of(frame.filter(pl.col("follow_up") == "").select(KEYS))
        for name in self._readings.evaluators:
            frame = self._read(frame, name, found.filter(pl.col("evaluator") == name))
        return frame

    def _read(self, frame: pl.DataFrame, name: str, found: pl.DataFrame) -> pl.DataFrame:
        readings = found.select(*KEYS, *(pl.col(column).alias(f"{name}.{column}") for column in READ))
        joined = frame.join(readings.unique(KEYS, keep="first"), on=KEYS, how="left", maintain_order="left")
        expression = pl.col("follow_up") == ""  # the readings stand beside the answer itself
        label = pl.col(f"{name}.label")
        gold = pl.col(f"gold.{name.rpartition('.')[2]}" if self._fields else "gold")
        right = pl.when(gold.is_not_null() & expression).then(label.eq_missing(gold))
        read = [
            pl.when(expression).then(pl.col(f"{name}.{column}")).alias(f"{name}.{column}") for column in READ
        ]
        return joined.with_columns(*read, right.alias(f"{name}.correct"))


def _thinking(row: Sequence[object]) -> str | None:
    """What a model thought, in a field of its own and between marks in its output."""
    found = [row[_THINKING], without_thinking(str(row[_OUTPUT])).thinking]
    return "\n\n".join(str(one) for one in found if one) or None


def check_ending(path: Path, formats: Sequence[str], what: str) -> None:
    """See to it that a file's name says how it is to be written."""
    if path.suffix not in formats:
        raise QuaverError(
            f"{what} cannot be written in this format",
            where=str(path),
            expected=f"a file name that ends in {', '.join(formats[:-1])} or {formats[-1]}",
            found=path.suffix or "no ending",
        )


def _jsonl(path: Path, frames: Iterator[pl.DataFrame], empty: pl.DataFrame) -> None:
    with path.open("w", encoding="utf-8", errors="backslashreplace") as file:
        for row in (row for frame in frames for row in frame.iter_rows(named=True)):
            row["prompt"] = [{"role": r, "content": c} for r, c in _messages(row["prompt"])]
            file.write(json.dumps(row, ensure_ascii=False, default=str) + "\n")


def _messages(prompt: str | None) -> list[tuple[str, str]]:
    """A stored prompt's roles and texts."""
    try:
        return [(role, content) for role, content in json.loads(prompt or "[]")]
    except (ValueError, TypeError, RecursionError):
        raise StoreError(
            "a stored prompt is damaged",
            where="responses.db",
            expected="messages",
            found=(prompt or "")[:80],
            fix=REPAIR,
        ) from None


def _csv(path: Path, frames: Iterator[pl.DataFrame], empty: pl.DataFrame) -> None:
    with path.open("wb") as file:
        write_csv(empty, file, header=True)
        for frame in frames:
            write_csv(frame, file, header=False)


def _parquet(path: Path, frames: Iterator[pl.DataFrame], empty: pl.DataFrame) -> None:
    with path.open("wb") as file:  # polars opens a file of that name later, even once this has failed
        register_io_source(lambda *_: frames, schema=empty.schema).sink_parquet(file)


WRITERS: Final[Mapping[str, Callable[[Path, Iterator[pl.DataFrame], pl.DataFrame], None]]] = {
    ".jsonl": _jsonl,
    ".csv": _csv,
    ".parquet": _parquet,
}
"""What writes frames of calls to a file one after the other, given one without rows, by the name's ending."""
