"""Every call of a study as a table: prompt, answer, how each evaluator read it, whether that is right."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
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
from quaver.errors import QuaverError, StoreError
from quaver.score.parsing.parsed_answer import without_thinking
from quaver.study.analysis.annotation_frame import rescored, scan
from quaver.study.sources.outgoing_check import check_outgoing
from quaver.study.sources.study_source import StudySource

KEYS: Final = ("model", "variant", "decoding", "item", "repeat")
"""Which call an annotation belongs to."""

READ: Final = ("label", "status", "reason", "confidence")
"""What is shown of a reading."""

FORMATS = (".jsonl", ".csv", ".parquet")

_CHUNK = 50_000
"""How many calls are written at a time."""
_SQL = """
    SELECT a.condition, a.item, a.repeat, p.messages, r.text, r.thinking, r.finish, r.error, r.prompt_tokens,
           r.cached_tokens, r.completion_tokens, r.thinking_tokens, r.latency, r.received, r.seed,
           r.served_model, r.fingerprint, t.asked, s.reused, lower(hex(r.key))
    FROM calls a JOIN responses r ON r.id = a.response LEFT JOIN prompts p ON p.id = r.prompt
    LEFT JOIN terms t ON t.id = r.terms LEFT JOIN sources s ON s.id = r.source ORDER BY a.response"""
_OF_CONDITION: Final = ("model", "variant", "decoding", "follow_up")
_STORED: Final[Mapping[str, type[pl.DataType]]] = {
    "condition": pl.UInt32,
    "place": pl.UInt32,
    "repeat": pl.Int32,
    **dict.fromkeys(("prompt", "output", "thinking", "finish", "error"), pl.String),
    **dict.fromkeys(("prompt_tokens", "cached_tokens", "completion_tokens", "thinking_tokens"), pl.Int64),
    "latency": pl.Float64,
    "received": pl.Float64,
    "seed": pl.Int64,
    **dict.fromkeys(("served_model", "fingerprint", "instrument", "reused_from", "key"), pl.String),
}
"""What is stored of a call, in the order of the query; its condition and its item by their places."""


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
    written = 0
    table = _CallTable(study, annotations)

    def frames(store: Store) -> Iterator[pl.DataFrame]:
        nonlocal written
        with store.reading() as reader:
            stored = reader.execute(_SQL)
            while chunk := stored.fetchmany(_CHUNK):
                written += len(chunk)
                yield table.rows(chunk)

    with study.answers() as store, replacing(path) as part:
        WRITERS[path.suffix](part, frames(store), table.rows([]))
        check_outgoing([part])
    return written


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


class _CallTable:
    """A study's calls as a table, some rows at a time: the design, what is stored, and the readings."""

    def __init__(self, study: StudySource, annotations: pl.LazyFrame) -> None:
        experiment = study.experiment
        self._where = str(study.files.responses)
        self._annotations = annotations.select(*KEYS, "evaluator", *READ).with_columns(
            pl.col(pl.Categorical).cast(pl.String)
        )
        evaluators = self._annotations.select(pl.col("evaluator").unique(maintain_order=True)).collect()
        self._evaluators: list[str] = evaluators.to_series().to_list()
        variants = {variant.id: dict(variant.factors) for variant in experiment.variants}
        self._conditions = _indexed(
            _OF_CONDITION,
            [
                {name: getattr(one, name) for name in _OF_CONDITION} | variants[one.variant]
                for one in experiment.conditions
            ],
            "condition",
        )
        self._fields = [field.name for field in fields_in(experiment.labels)]
        names = self._fields or [""]
        golds = [f"gold.{name}".strip(".") for name in names]
        labelled = [item.golds if self._fields else {"": item.gold} for item in experiment.items]
        self._items = _indexed(
            ("item",),
            [
                {"item": item.id, **item.groups}
                | {f"gold.{name}".strip("."): one.get(name) for name in names}
                for item, one in zip(experiment.items, labelled, strict=True)
            ],
            "place",
        )
        groups = [name for name in self._items.columns if name not in ("place", *golds)]
        self._columns = [*self._conditions.columns[1:], *groups, "repeat", *golds, *[*_STORED][3:]]

    def rows(self, chunk: Sequence[tuple[object, ...]]) -> pl.DataFrame:
        """The rows of some stored calls.

        Raises:
            StoreError: What is stored of one is damaged.
        """
        try:
            stored = pl.DataFrame(chunk, schema=dict(_STORED), orient="row")
            texts = stored.select("output", "thinking", "instrument").iter_rows()
            read = [(_thinking(output, own), terms and record_text(terms)) for output, own, terms in texts]
            frame = stored.with_columns(
                *pl.DataFrame(
                    read, schema=dict.fromkeys(("thinking", "instrument"), pl.String), orient="row"
                ),
                pl.col("received").mul(1e6).cast(pl.Int64).cast(pl.Datetime("us", "UTC")),
            )
            frame = frame.join(self._conditions, on="condition", maintain_order="left")
            frame = frame.join(self._items, on="place", maintain_order="left").select(self._columns)
            if frame.height < len(chunk):
                raise LookupError("a call of no condition or item of the study")
        except (TypeError, ValueError, OverflowError, LookupError, pl.exceptions.PolarsError) as error:
            raise StoreError(
                "a stored answer is damaged",
                where=self._where,
                expected="what Quaver stored",
                found=error_line(error).partition("\n")[0],
                fix=REPAIR,
            ) from None
        is_read = pl.col("follow_up") == ""  # readings stand beside the answer itself
        calls = frame.filter(is_read).select(KEYS)
        readings = self._annotations.join(calls.lazy(), on=KEYS, how="semi").collect()
        for name in self._evaluators:
            own = readings.filter(pl.col("evaluator") == name).unique(KEYS, keep="first").drop("evaluator")
            own = own.rename({column: f"{name}.{column}" for column in READ})
            gold = pl.col(f"gold.{name.rpartition('.')[2]}" if self._fields else "gold")
            right = pl.when(gold.is_not_null()).then(pl.col(f"{name}.label").eq_missing(gold))
            frame = frame.join(own, on=KEYS, how="left", maintain_order="left").with_columns(
                right.alias(f"{name}.correct")
            )
        added = [name for name in frame.columns if name not in self._columns]
        return frame.with_columns(pl.when(is_read).then(pl.col(name)).alias(name) for name in added)


def _indexed(first: Sequence[str], rows: Sequence[Mapping[str, object]], index: str) -> pl.DataFrame:
    """Rows of texts with their places, these columns first."""
    names = dict.fromkeys([*first, *(name for row in rows for name in row)])
    return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String)).with_row_index(index)


def _thinking(output: str | None, own: str | None) -> str | None:
    """What a model thought, in a field of its own and between marks in its output."""
    return "\n\n".join(one for one in (own, without_thinking(str(output))[1]) if one) or None


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
