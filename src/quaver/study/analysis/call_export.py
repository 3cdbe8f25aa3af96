"""Every call of a study as a table: prompt, answer, how each evaluator read it, whether that is right."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

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
from quaver.study.analysis.annotation_frame import read_in_parts, rescored, scan
from quaver.study.sources.outgoing_check import check_outgoing
from quaver.study.sources.study_source import StudySource

KEYS: Final = ("model", "variant", "decoding", "item", "repeat")
"""Which call an annotation belongs to."""

READ: Final = ("label", "status", "reason", "confidence")
"""What is shown of a reading."""

_CALL: Final = (*KEYS, "follow_up")
"""Which call a stored answer belongs to; annotations are of answers that follow no other."""

FORMATS = (".jsonl", ".csv", ".parquet")

_CHUNK = 50_000
"""How many calls are written at a time."""
_STORED: Final[Mapping[str, str]] = {
    **{name: f"c.{name}" for name in ("model", "variant", "decoding")},
    "follow_up": "ifnull(c.follow_up, '')",
    "item": "i.id",
    "repeat": "a.repeat",
    "prompt": "p.messages",
    "output": "r.text",
    **{name: f"r.{name}" for name in ("thinking", "finish", "error", "prompt_tokens", "cached_tokens")},
    **{name: f"r.{name}" for name in ("completion_tokens", "thinking_tokens", "latency", "received", "seed")},
    **{name: f"r.{name}" for name in ("served_model", "fingerprint")},
    "instrument": "t.asked",
    "reused_from": "s.reused",
    "key": "lower(hex(r.key))",
}
"""What is stored of a call, and where."""
_FIRST, _LAST = [*_STORED][:4], [*_STORED][6:]
"""The columns before those of the design, and after them."""
_SQL = f"""
    SELECT {", ".join(_STORED.values())}
    FROM calls a JOIN responses r ON r.id = a.response LEFT JOIN prompts p ON p.id = r.prompt
    LEFT JOIN terms t ON t.id = r.terms LEFT JOIN sources s ON s.id = r.source
    JOIN conditions c ON c.position = a.condition JOIN items i ON i.position = a.item ORDER BY a.response"""
_NUMBERS: Final = {"repeat": pl.Int32, "latency": pl.Float64, "received": pl.Float64, "seed": pl.Int64}
_SCHEMA: Final[Mapping[str, type[pl.DataType]]] = {
    name: _NUMBERS.get(name, pl.Int64 if name.endswith("_tokens") else pl.String) for name in _STORED
}


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
    are ``gold.FIELD``, ``NAME.FIELD.label`` and so on. An answer about a part of a text has the part's label,
    and no gold label, since that is the whole text's. Where labels are asked for level by level, an answer
    has the label of its level, which is neither correct nor not; its ``follow_up`` is what it follows.

    Returns:
        How many calls were written.
    """
    check_ending(path, FORMATS, "calls")
    if study.experiment.in_parts is not study.experiment:
        return _export(path, study, read_in_parts(study))
    try:
        return _export(path, study, scan(study))
    except pl.exceptions.PolarsError:  # what was kept is damaged, and nothing is lost with it
        return _export(path, study, rescored(study))


def _export(path: Path, study: StudySource, annotations: pl.LazyFrame) -> int:
    written, rows_of = 0, _call_table(study, annotations)

    def frames(store: Store) -> Iterator[pl.DataFrame]:
        nonlocal written
        with store.reading() as reader:
            stored = reader.execute(_SQL)
            while chunk := stored.fetchmany(_CHUNK):
                written += len(chunk)
                yield rows_of(chunk)

    with study.answers() as store, replacing(path) as part:
        WRITERS[path.suffix](part, frames(store), rows_of([]))
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
    what = [_STORED[name] for name in KEYS]
    # damage can make a text a blob
    sql = f"""SELECT {", ".join(what)}, CAST(r.text AS TEXT)
        FROM calls a JOIN responses r ON r.id = a.response JOIN conditions c ON c.position = a.condition
        JOIN items i ON i.position = a.item WHERE {_STORED["follow_up"]} = ''"""
    some = "" if items is None else " AND i.id IN (SELECT value FROM json_each(?))"
    with study.answers() as store, store.reading() as reader:
        wanted = () if items is None else (json.dumps([*items]),)
        rows = reader.execute(f"{sql}{some} ORDER BY a.response", wanted).fetchall()
    return pl.DataFrame(rows, schema=schema, orient="row")


def _call_table(study: StudySource, annotations: pl.LazyFrame) -> Callable[[Sequence[Any]], pl.DataFrame]:
    """What makes rows of stored calls: with factors, groups and gold labels, and the readings beside."""
    experiment = study.experiment.in_parts
    whole = {item.id for item in study.experiment.items}
    fields = [field.name for field in fields_in(experiment.labels)]
    golds = [f"gold.{name}" for name in fields] or ["gold"]
    reader = pl.concat_str("evaluator", FIELD, separator=".") if fields else pl.col("evaluator")
    texts = annotations.with_columns(pl.col(pl.Categorical).cast(pl.String))
    tops = {asked: top for asked, (top, _) in experiment.tops.items()}
    follows = pl.col("variant").replace_strict(
        {asked: label for asked, (_, label) in experiment.tops.items()}
    )
    known = texts.select(*KEYS, *READ, reader.alias("reader"), follow_up=follows)
    factors = _texts([{"variant": name, **one.factors} for name, one in experiment.every_variant.items()])
    items = _texts([{"item": item.id, **item.groups} for item in experiment.items])
    judged = [item if item.id in whole else replace(item, gold=None, golds={}) for item in experiment.items]
    of_items = [list(map(item.golds.get, fields)) or [item.gold] for item in judged]
    labelled = items.hstack(pl.DataFrame(of_items, schema=dict.fromkeys(golds, pl.String), orient="row"))
    columns = [*_FIRST, *factors.columns[1:], *items.columns, "repeat", *golds, *_LAST]
    readings, correct = list[pl.Expr](), list[pl.Expr]()
    for name in known.select(pl.col("reader").unique(maintain_order=True)).collect().to_series():
        own = pl.col("reader") == name
        readings += [pl.col(column).filter(own).first().alias(f"{name}.{column}") for column in READ]
        gold = pl.col(f"gold.{name.rpartition('.')[2]}" if fields else "gold")
        is_right = pl.col(f"{name}.label").eq_missing(gold)
        is_known = gold.is_not_null() & (pl.col("follow_up") == "") & (not experiment.below)
        correct.append(pl.when(is_known).then(is_right).alias(f"{name}.correct"))
        columns += [f"{name}.{column}" for column in (*READ, "correct")]

    def rows_of(chunk: Sequence[Any]) -> pl.DataFrame:
        frame = _stored(chunk, str(study.files.responses))
        frame = frame.join(factors, on="variant", how="left", maintain_order="left")
        frame = frame.join(labelled, on="item", how="left", maintain_order="left")
        own = known.join(frame.lazy(), on=_CALL, how="semi").group_by(_CALL).agg(readings).collect()
        read = frame.join(own, on=_CALL, how="left", maintain_order="left")
        return read.with_columns(*correct, pl.col("variant").replace(tops)).select(columns)

    return rows_of


def _texts(rows: Sequence[Mapping[str, object]]) -> pl.DataFrame:
    """Rows of texts, with the columns of all of them."""
    return pl.DataFrame(rows, schema=dict.fromkeys((name for row in rows for name in row), pl.String))


def _stored(chunk: Sequence[Any], where: str) -> pl.DataFrame:
    """What is stored of some calls.

    Raises:
        StoreError: What is stored of one is damaged.
    """
    try:
        stored = pl.DataFrame(chunk, schema=dict(_SCHEMA), orient="row")
        texts = stored.select("output", "thinking", "instrument").iter_rows()
        read = [
            (
                ("\n\n".join(part for part in (own, without_thinking(str(output))[1]) if part) or None),
                terms and record_text(terms),
            )
            for output, own, terms in texts
        ]
        schema = dict.fromkeys(("thinking", "instrument"), pl.String)
        received = pl.col("received").mul(1e6).cast(pl.Int64).cast(pl.Datetime("us", "UTC"))
        return stored.with_columns(*pl.DataFrame(read, schema=schema, orient="row"), received)
    except (TypeError, ValueError, OverflowError, LookupError, pl.exceptions.PolarsError) as error:
        raise StoreError(
            "a stored answer is damaged",
            where=where,
            expected="what Quaver stored",
            found=error_line(error).partition("\n")[0],
            fix=REPAIR,
        ) from None


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
