"""Responses become the annotation frame, chunk by chunk, in constant memory."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import polars as pl
from polars.io.plugins import register_io_source

from quaver.core.annotations import ANNOTATION_COLUMNS, GOLD_COLUMNS, Reading
from quaver.core.records import Condition, Decoding, Item, LabelSet, Response, Variant
from quaver.errors import SpecError, StoreError
from quaver.score.parsing.evaluator import Answer, Evaluator, Reader
from quaver.score.parsing.statuses import Judge, Judged

Row = tuple[int, int, int, Response, Response | None]
"""Condition position, item position, repeat, response, and the quoted response if a follow-up quotes one."""

_REMEMBERED = 20_000
_LONGEST_REMEMBERED = 2_000


def annotate(
    chunks: Iterable[Sequence[Row]],
    annotator: Annotator,
    path: Path | None = None,
) -> pl.LazyFrame:
    """Read every response with every evaluator.

    Args:
        chunks: The responses, in chunks of some thousands; iterated once.
        annotator: Knows the design and the evaluators.
        path: Parquet file for the frame, written under a temporary name and renamed when complete. Without a
            path, the frame stays in memory.

    Returns:
        The annotation frame (`core.annotations.ANNOTATION_COLUMNS` and the columns of factors and groups):
        of each chunk the rows of the first evaluator, then those of the next.

    Raises:
        StoreError: The file cannot be written.
    """
    if path is None:
        frames = [annotator.frame(chunk) for chunk in chunks]
        return pl.concat(frames).lazy() if frames else annotator.frame([]).lazy()

    def frames_of(
        columns: list[str] | None, predicate: pl.Expr | None, rows: int | None, size: int | None
    ) -> Iterator[pl.DataFrame]:
        return (annotator.frame(chunk) for chunk in chunks)

    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        register_io_source(frames_of, schema=annotator.schema).sink_parquet(temporary)
        temporary.replace(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise StoreError(
            "the annotations cannot be written",
            where=str(path),
            found=str(error),
            fix="free some space, then run `quaver rescore`",
        ) from error
    finally:
        temporary.unlink(missing_ok=True)
    return pl.scan_parquet(path)


def read(
    response: Response,
    evaluator: Evaluator,
    labels: LabelSet,
    variant: Variant,
    about: Response | None = None,
) -> Reading:
    """Read one response with one evaluator, including its status and marks."""
    if _reads(evaluator) == "pair":
        return evaluator.reader(labels, variant)(Answer(response, about))
    judged = Judge(labels, variant)(response)
    one = _Read(judged, [])
    _fill([one], evaluator.reader(labels, variant), _reads(evaluator))
    return replace(one.readings[0], truncated=judged.truncated, looping=judged.looping)


class Annotator:
    """Reads the responses of one design with some evaluators.

    Args:
        conditions: The design's conditions, in the order of the rows' first position.
        items: Its items, in the order of the rows' second position.
        variants: By id.
        labels: The task's label set.
        evaluators: Evaluators by their name in the study.
        decodings: Decodings by name; options that their grids vary become columns.
        of: The follow-up that an evaluator reads, by the evaluator's name.

    Attributes:
        schema: The columns of the frames.

    Raises:
        SpecError: A factor or a group has the name of another column of the annotations.
    """

    def __init__(
        self,
        *,
        conditions: Sequence[Condition],
        items: Sequence[Item],
        variants: Mapping[str, Variant],
        labels: LabelSet,
        evaluators: Mapping[str, Evaluator],
        decodings: Mapping[str, Decoding] | None = None,
        of: Mapping[str, str] | None = None,
    ) -> None:
        self._codes = labels.codes
        self._of_condition, self._of_item = _columns(conditions, items, variants)
        self._of_condition |= _grid_columns(conditions, decodings or {})
        self._variants = list(variants)
        places = {name: at for at, name in enumerate(variants)}
        self._variant = [places[condition.variant] for condition in conditions]
        self._judges = [Judge(labels, variant) for variant in variants.values()]
        self._follow_ups = [condition.follow_up for condition in conditions]
        self._evaluators: dict[str, list[_Evaluator]] = defaultdict(list)
        for name, one in evaluators.items():
            readers = [one.reader(labels, variant) for variant in variants.values()]
            self._evaluators[(of or {}).get(name, "")].append(_Evaluator(name, _reads(one), readers))
        self._memory: dict[_Key, _Read] = {}
        extra = {
            name: column.dtype
            for name, column in {**self._of_condition, **self._of_item}.items()
            if name not in ANNOTATION_COLUMNS
        }
        columns = {**ANNOTATION_COLUMNS, **extra}
        self.schema = pl.DataFrame(schema=columns).schema

    def frame(self, rows: Sequence[Row]) -> pl.DataFrame:
        """The annotations of some responses: a row for each evaluator and response that it reads."""
        apart: dict[str, list[Row]] = defaultdict(list)
        for row in rows:
            apart[self._follow_ups[row[0]]].append(row)
        frames = [frame for name, some in apart.items() for frame in self._frames(name, some)]
        if not frames:
            return pl.DataFrame(schema=self.schema)
        return pl.concat(frames).select(self.schema.names())

    def _frames(self, follow_up: str, rows: Sequence[Row]) -> Iterator[pl.DataFrame]:
        """A frame for each evaluator that reads this follow-up, or the answers themselves."""
        evaluators = self._evaluators.get(follow_up)
        if not evaluators:
            return
        at_condition = pl.Series([row[0] for row in rows], dtype=pl.UInt32)
        at_item = pl.Series([row[1] for row in rows], dtype=pl.UInt32)
        shared = {name: column.gather(at_condition) for name, column in self._of_condition.items()}
        shared |= {name: column.gather(at_item) for name, column in self._of_item.items()}
        shared["repeat"] = pl.Series([row[2] for row in rows], dtype=pl.Int32)
        alone = [one for one in evaluators if one.reads != "pair"]
        if alone:
            read = self._read(follow_up, alone, [(self._variant[row[0]], row[3]) for row in rows])
            marks = {
                "truncated": pl.Series([one.judged.truncated for one in read], dtype=pl.Boolean),
                "looping": pl.Series([one.judged.looping for one in read], dtype=pl.Boolean),
            }
            for at, evaluator in enumerate(alone):
                columns = self._read_columns(evaluator.name, [one.readings[at] for one in read])
                yield pl.DataFrame(shared | marks | columns)
        for evaluator in evaluators:
            if evaluator.reads == "pair":
                readings = self._read_pairs(evaluator, rows)
                marks = {
                    "truncated": pl.Series([one.truncated for one in readings], dtype=pl.Boolean),
                    "looping": pl.Series([one.looping for one in readings], dtype=pl.Boolean),
                }
                yield pl.DataFrame(shared | marks | self._read_columns(evaluator.name, readings))

    def _read_pairs(self, evaluator: _Evaluator, rows: Sequence[Row]) -> list[Reading]:
        """An evaluator's readings of follow-ups with the answers that they quote."""
        return [
            evaluator.readers[self._variant[condition]](Answer(said, about))
            for condition, _, _, said, about in rows
        ]

    def _read_columns(self, evaluator: str, readings: list[Reading]) -> dict[str, pl.Series]:
        """The columns that depend on the evaluator."""
        size = len(readings)
        codes = self._codes
        probabilities = [
            None if one.probabilities is None else [one.probabilities.get(code, 0.0) for code in codes]
            for one in readings
        ]
        return {
            "evaluator": pl.Series([evaluator], dtype=pl.Categorical).new_from_index(0, size),
            "label": pl.Series([one.label for one in readings], dtype=pl.Categorical),
            "status": pl.Series([one.status for one in readings], dtype=pl.Categorical),
            "reason": pl.Series([one.reason for one in readings], dtype=pl.String),
            "confidence": pl.Series([one.confidence for one in readings], dtype=pl.Float64),
            "probabilities": pl.Series(probabilities, dtype=pl.List(pl.Float64)),
            "label_coverage": pl.Series([one.label_coverage for one in readings], dtype=pl.Float64),
            "mass_coverage": pl.Series([one.mass_coverage for one in readings], dtype=pl.Float64),
        }

    def _read(
        self, follow_up: str, evaluators: Sequence[_Evaluator], responses: Sequence[tuple[int, Response]]
    ) -> list[_Read]:
        """The evaluators' readings of responses, given with the positions of their variants.

        Small models repeat themselves, so readings are cached. Answers with tokens never repeat, and long
        ones hardly do.
        """
        read: list[_Read] = []
        new: dict[int, list[_Read]] = defaultdict(list)
        for variant, response in responses:
            about = response.finish, response.error, response.thinking is None
            key = (follow_up, variant, response.text, about)
            known = self._memory.get(key) if _is_remembered(response) else None
            if known is None:
                known = _Read(self._judges[variant](response), [])
                new[variant].append(known)
                if _is_remembered(response):
                    self._remember(key, known)
            read.append(known)
        for variant, some in new.items():
            for evaluator in evaluators:
                _fill(some, evaluator.readers[variant], evaluator.reads)
        return read

    def _remember(self, key: _Key, read: _Read) -> None:
        if len(self._memory) >= _REMEMBERED:
            self._memory.clear()
        self._memory[key] = read


def _is_remembered(response: Response) -> bool:
    return not response.tokens and len(response.text) <= _LONGEST_REMEMBERED


_Key = tuple[str, int, str, tuple[str, str | None, bool]]


class _Read(NamedTuple):
    judged: Judged
    readings: list[Reading]


class _Evaluator(NamedTuple):
    name: str
    reads: str
    readers: list[Reader]


def _reads(evaluator: Evaluator) -> str:
    return getattr(evaluator, "reads", "text")


def _fill(some: Sequence[_Read], reader: Reader, reads: str) -> None:
    """Add a reader's readings to earlier ones."""
    settled = [one.judged.tokens if reads == "tokens" else one.judged.text for one in some]
    if many := getattr(reader, "many", None):
        answers = [one.judged.answer for one, known in zip(some, settled, strict=True) if known is None]
        readings = iter(many(answers))
        for one, known in zip(some, settled, strict=True):
            one.readings.append(next(readings) if known is None else known)
        return
    for one, known in zip(some, settled, strict=True):
        one.readings.append(reader(one.judged.answer) if known is None else known)


def _columns(
    conditions: Sequence[Condition], items: Sequence[Item], variants: Mapping[str, Variant]
) -> tuple[dict[str, pl.Series], dict[str, pl.Series]]:
    """The columns that depend on the condition (a row each), and those that depend on the item."""
    of_condition: dict[str, list[str | None]] = {
        "model": [condition.model for condition in conditions],
        "variant": [condition.variant for condition in conditions],
        "decoding": [condition.decoding for condition in conditions],
    }
    of_item: dict[str, list[str | None]] = {
        "item": [item.id for item in items],
        "gold": [item.gold for item in items],
    }
    taken = dict.fromkeys(ANNOTATION_COLUMNS, "annotations")
    for name in dict.fromkeys(name for variant in variants.values() for name in variant.factors):
        _claim(name, "a factor of the variants", taken)
        of_condition[name] = [variants[condition.variant].factors.get(name) for condition in conditions]
    covariates: dict[str, pl.Series] = {}
    for name in dict.fromkeys(name for variant in variants.values() for name in variant.covariates):
        _claim(name, "a covariate of the variants", taken)
        values = [variants[condition.variant].covariates.get(name) for condition in conditions]
        covariates[name] = _typed(name, values)
    for name in dict.fromkeys(name for item in items for name in item.groups):
        _claim(name, "a group of the items", taken)
        of_item[name] = [item.groups.get(name) for item in items]
    sample = {
        name: pl.Series([None] * len(items), dtype=ANNOTATION_COLUMNS[name]) for name in GOLD_COLUMNS[1:]
    }
    return _categorical(of_condition) | covariates, _categorical(of_item) | sample


def _typed(name: str, values: Sequence[str | float | bool | None]) -> pl.Series:
    """Booleans as such, numbers as numbers, anything else as text."""
    known = [value for value in values if value is not None]
    if all(isinstance(value, bool) for value in known):
        return pl.Series(name, values, dtype=pl.Boolean)
    if all(isinstance(value, int | float) for value in known):
        return pl.Series(name, values, dtype=pl.Float64, strict=False)
    texts = [None if value is None else str(value) for value in values]
    return pl.Series(name, texts, dtype=pl.Categorical)


def _grid_columns(conditions: Sequence[Condition], decodings: Mapping[str, Decoding]) -> dict[str, pl.Series]:
    """The options that grids vary, with a row for each condition."""
    names = dict.fromkeys(name for decoding in decodings.values() for name in decoding.grid)
    return {
        name: pl.Series(name, [getattr(decodings[c.decoding], name) for c in conditions], dtype=pl.Float64)
        for name in names
    }


def _claim(name: str, claimant: str, taken: dict[str, str]) -> None:
    if name in taken:
        raise SpecError(
            f"two columns of the annotations would be named {name!r}",
            found=f"{name!r} of {taken[name]}, and {claimant}",
            fix="give one of them another name",
        )
    taken[name] = claimant


def _categorical(columns: Mapping[str, list[str | None]]) -> dict[str, pl.Series]:
    return {name: pl.Series(name, values, dtype=pl.Categorical) for name, values in columns.items()}
