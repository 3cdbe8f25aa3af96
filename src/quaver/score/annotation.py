"""Responses become the annotation frame, chunk by chunk, in constant memory."""

from __future__ import annotations

import gc
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars.io.plugins import register_io_source

from quaver.core.annotations import ANNOTATION_COLUMNS, FIELD, GOLD_COLUMNS, AnswerRows, Reading, Row
from quaver.core.label_values import TaskField, fields_in
from quaver.core.records import Condition, Decoding, Item, LabelSet, Response, Variant
from quaver.errors import SpecError, StoreError
from quaver.score.distinct_readings import DistinctReadings, Named, alone, distinct, reads_of
from quaver.score.parsing.evaluator import Evaluator, readers_of
from quaver.score.parsing.label_forms import forms_of
from quaver.score.parsing.statuses import Judge


def columns_of(
    conditions: Sequence[Condition],
    items: Sequence[Item],
    variants: Mapping[str, Variant],
    fields: Sequence[TaskField] = (),
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
    taken = dict.fromkeys([*ANNOTATION_COLUMNS, *([FIELD] if fields else [])], "annotations")
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


def _of_field(field: TaskField, items: Sequence[Item]) -> dict[str, pl.Series]:
    """What is a field's own: its name, once, and its gold label of each item."""
    return {
        FIELD: pl.Series(FIELD, [field.name], dtype=pl.Categorical),
        "gold": pl.Series("gold", [item.golds.get(field.name) for item in items], dtype=pl.Categorical),
    }


def _typed(name: str, values: Sequence[str | float | bool | None]) -> pl.Series:
    """Booleans as such, numbers as numbers, anything else as text."""
    known = [value for value in values if value is not None]
    if all(isinstance(value, bool) for value in known):
        return pl.Series(name, values, dtype=pl.Boolean)
    if all(isinstance(value, int | float) for value in known):
        return pl.Series(name, values, dtype=pl.Float64, strict=False)
    texts = [None if value is None else str(value) for value in values]
    return pl.Series(name, texts, dtype=pl.Categorical)


def grid_columns(conditions: Sequence[Condition], decodings: Mapping[str, Decoding]) -> dict[str, pl.Series]:
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


def annotate(
    chunks: Iterable[Sequence[Row] | AnswerRows],
    annotator: Annotator,
    path: Path | None = None,
) -> pl.LazyFrame:
    """Read every response with every evaluator.

    Args:
        chunks: The responses.
        annotator: Reads them.
        path: A new file for the annotations, which its caller puts in place or removes; None for memory.

    Returns:
        The annotation frame (`core.annotations.ANNOTATION_COLUMNS` and the columns of factors and groups):
        of each chunk the rows of the first evaluator, then those of the next.
    """
    if path is None:
        frames = [annotator.frame(chunk) for chunk in chunks]
        return pl.concat(frames).lazy() if frames else annotator.frame([]).lazy()

    def frames_of(
        columns: list[str] | None, predicate: pl.Expr | None, rows: int | None, size: int | None
    ) -> Iterator[pl.DataFrame]:
        return (annotator.frame(chunk) for chunk in chunks)

    try:
        with path.open("wb") as file:  # polars opens a file of that name later, even once this has failed
            register_io_source(frames_of, schema=annotator.schema).sink_parquet(file)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise StoreError(
            "the annotations cannot be written",
            where=str(path),
            found=str(error),
            fix="free some space, then run `quaver rescore`",
        ) from error
    return pl.scan_parquet(path)


def read(
    response: Response,
    evaluator: Evaluator,
    labels: LabelSet,
    variant: Variant,
    about: Response | None = None,
) -> Reading:
    """Read one response with one evaluator, including its status and marks."""
    rows = AnswerRows.of([(0, 0, 0, response, about)])
    return alone(evaluator, labels, variant).of(np.zeros(1, np.intp), rows).reading(0)


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
        gold: The columns about gold labels, a row for each item, where they are not the items' own.

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
        gold: pl.DataFrame | None = None,
    ) -> None:
        fields = fields_in(labels)
        self._codes = [field.labels.codes for field in fields] or [labels.codes]
        self._of_condition, self._of_item = columns_of(conditions, items, variants, fields)
        if gold is not None:
            self._of_item |= {column.name: column for column in gold}
        self._of_field = [_of_field(field, items) for field in fields] or [{}]
        self._is_asked = [
            None if all(own) else np.array(own)
            for field in fields
            if (own := [field.is_asked(variant) for variant in variants.values()])
        ] or [None]
        self._of_condition |= grid_columns(conditions, decodings or {})
        places = {name: index for index, name in enumerate(variants)}
        self._variant = np.array([places[condition.variant] for condition in conditions], np.intp)
        self._follow_ups = [condition.follow_up for condition in conditions]
        judges = [Judge(forms_of(labels, variant)) for variant in variants.values()]
        reading: dict[str, list[Named]] = defaultdict(list)
        for name, evaluator in evaluators.items():
            by_variant = [readers_of(evaluator, labels, variant) for variant in variants.values()]
            reading[(of or {}).get(name, "")] += [
                Named(name, reads_of(evaluator), [own[field] for own in by_variant], field)
                for field in range(len(self._codes))
            ]
        self._readings = {follow_up: _groups(some, judges) for follow_up, some in reading.items()}
        self._order = {
            # Those that read pairs come last.
            follow_up: [(one.name, one.field) for one in sorted(some, key=lambda one: one.reads == "pair")]
            for follow_up, some in reading.items()
        }
        extra = {
            name: column.dtype
            for name, column in {**self._of_condition, **self._of_item}.items()
            if name not in ANNOTATION_COLUMNS
        }
        columns = {**ANNOTATION_COLUMNS, **extra, **({FIELD: pl.Categorical} if fields else {})}
        self.schema = pl.DataFrame(schema=columns).schema

    def frame(self, rows: Sequence[Row] | AnswerRows) -> pl.DataFrame:
        """The annotations of some responses: a row for each evaluator and response that it reads."""
        answers = rows if isinstance(rows, AnswerRows) else AnswerRows.of(rows)
        frames = [frame for name, some in self._by_follow_up(answers) for frame in self._frames(name, some)]
        if not frames:
            return pl.DataFrame(schema=self.schema)
        return pl.concat(frames).select(self.schema.names())

    def _by_follow_up(self, answers: AnswerRows) -> Iterator[tuple[str, AnswerRows]]:
        """The answers themselves and those to each follow-up, apart."""
        if not any(self._follow_ups):
            yield from [("", answers)] if len(answers) else []
            return
        apart: dict[str, list[int]] = defaultdict(list)
        for index, condition in enumerate(answers.conditions):
            apart[self._follow_ups[condition]].append(index)
        yield from ((name, answers.at(some)) for name, some in apart.items())

    def _frames(self, follow_up: str, rows: AnswerRows) -> Iterator[pl.DataFrame]:
        """A frame for each evaluator that reads this follow-up, or the answers themselves."""
        groups = self._readings.get(follow_up)
        if not groups:
            return
        at_condition = np.array(rows.conditions, np.intp)
        at_item = np.array(rows.items, np.intp)
        shared = {name: column.gather(at_condition) for name, column in self._of_condition.items()}
        shared |= {name: column.gather(at_item) for name, column in self._of_item.items()}
        shared["repeat"] = pl.Series(rows.repeats, dtype=pl.Int32)
        variants = self._variant[at_condition]
        made: dict[tuple[str, int], pl.DataFrame] = {}
        for group in groups:
            found = group.of(variants, rows)
            marks = {
                "truncated": pl.Series(found.truncated, dtype=pl.Boolean).gather(found.codes),
                "looping": pl.Series(found.looping, dtype=pl.Boolean).gather(found.codes),
            }
            for evaluator, readings in zip(group.evaluators, found.readings, strict=True):
                columns = self._read_columns(readings, found.codes, self._codes[evaluator.field])
                name = pl.Series([evaluator.name], dtype=pl.Categorical).new_from_index(0, len(rows))
                own = {
                    name: column.new_from_index(0, len(rows)) if len(column) == 1 else column.gather(at_item)
                    for name, column in self._of_field[evaluator.field].items()
                }
                frame = pl.DataFrame(shared | marks | {"evaluator": name} | columns | own)
                asked = self._is_asked[evaluator.field]
                made[evaluator.name, evaluator.field] = (
                    frame if asked is None else frame.filter(asked[variants])
                )
        yield from (made[place] for place in self._order[follow_up])

    @staticmethod
    def _read_columns(
        readings: Sequence[Reading], codes: NDArray[np.intp], labels: Sequence[str]
    ) -> dict[str, pl.Series]:
        """The columns that depend on the evaluator, from readings and which of them is whose."""
        places, which = distinct(map(id, readings), len(readings))
        at_reading = which[codes]
        some = [readings[position] for position in places]
        probabilities = [
            None if one.probabilities is None else [one.probabilities.get(code, 0.0) for code in labels]
            for one in some
        ]
        columns = {
            "label": pl.Series([one.label for one in some], dtype=pl.Categorical),
            "status": pl.Series([one.status for one in some], dtype=pl.Categorical),
            "reason": pl.Series([one.reason for one in some], dtype=pl.String),
            "confidence": pl.Series([one.confidence for one in some], dtype=pl.Float64),
            "probabilities": pl.Series(probabilities, dtype=pl.List(pl.Float64)),
            "label_coverage": pl.Series([one.label_coverage for one in some], dtype=pl.Float64),
            "mass_coverage": pl.Series([one.mass_coverage for one in some], dtype=pl.Float64),
        }
        return {name: column.gather(at_reading) for name, column in columns.items()}


@contextmanager
def no_search_for_cycles() -> Iterator[None]:
    """Without Python's search for cycles, which takes as long as reading where every answer is another."""
    searched = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if searched:
            gc.enable()


def _groups(evaluators: Sequence[Named], judges: Sequence[Judge]) -> list[DistinctReadings]:
    """Evaluators that are shown the same, together; one that reads pairs sets its own marks."""
    apart: dict[str, list[Named]] = defaultdict(list)
    for evaluator in evaluators:
        apart[f"pair {evaluator.name}" if evaluator.reads == "pair" else evaluator.reads].append(evaluator)
    return [DistinctReadings(some, judges) for some in apart.values()]
