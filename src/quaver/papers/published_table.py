"""What a paper's tables are made of, and how they are laid out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal, get_args

import polars as pl
from markupsafe import Markup

from quaver import measures
from quaver.core.annotations import rows_with
from quaver.core.number_format import decimals, span
from quaver.core.records import Estimate, LabelSet, Variant
from quaver.core.rows import Estimates
from quaver.design.prompts.rendering import PromptWriter
from quaver.errors import QuaverError, StoreError, UnknownName
from quaver.estimation.cells import OUTPUT
from quaver.estimation.estimands import ORIGINAL, in_every_group
from quaver.report.tables.printed_tables import as_text
from quaver.report.tables.table import Table
from quaver.report.tables.written_tables import csv_text, tidy
from quaver.study.analysis.call_export import raw_answers
from quaver.study.analysis.report_evidence import evidence_of

if TYPE_CHECKING:
    from quaver.report.tables.study_tables import Cost, PartCost
    from quaver.study.session import Study


Intervals = Literal["all", "rows", "none"]


@dataclass(frozen=True)
class StoredAnswers:
    """The answers of one study: one data set, one task.

    Attributes:
        name: What the tables call the data set: the study's name in its collection, or its own.
        study: The study.
        frame: Its annotations by its first evaluator.
        every: Its annotations by every evaluator.
        intervals: Which intervals what is taken of them has: those of resampled rows alone, or none.
        coded: Whether what stands as a label is one of the task's, and not an answer as it was written.
    """

    name: str
    study: Study
    frame: pl.DataFrame
    every: pl.DataFrame
    intervals: Intervals = "all"
    coded: bool = True

    @property
    def labels(self) -> LabelSet:
        """The task's label set."""
        return self.study.experiment.labels

    @property
    def unlabelled(self) -> str:
        """What an answer without a label is in the papers: one more label; on a scale, left out."""
        return "category" if self.labels.level == "nominal" else "drop"

    @property
    def models(self) -> list[str]:
        """The models that answered, in the study's order."""
        answered = set(self.frame["model"].cast(pl.String).unique())
        return [model.name for model in self.study.spec.models if model.name in answered]

    @property
    def items(self) -> int:
        """How many items have answers."""
        return self.frame["item"].n_unique()

    @property
    def variants(self) -> Sequence[Variant]:
        """The prompts, in the study's order."""
        return self.study.experiment.variants

    @cached_property
    def texts(self) -> dict[str, str]:
        """The items' texts by id, in a line each."""
        writer = PromptWriter(self.variants[0], self.labels)
        return {item.id: shortened(writer.text(item)) for item in self.study.experiment.items}

    def levels(self, column: str) -> list[str]:
        """The levels of a factor, in the study's order."""
        return list(
            dict.fromkeys(variant.factors[column] for variant in self.variants if column in variant.factors)
        )

    def take(self, measure: str, frame: pl.DataFrame | None = None, **options: Any) -> Estimates:
        """A registered measure of the first evaluator's annotations, or of a part of them.

        The original prompt counts in every group that it is compared with, as it does in the study's own
        estimates. A measure that these annotations do not allow gives one estimate with the reason.
        """
        taken: Callable[..., Estimates] = getattr(measures, measure)
        some = self.frame if frame is None else frame
        if some.is_empty():
            return Estimates([Estimate(measure, None, reason="no annotations")])
        by = options.setdefault("by", ["model"])
        options.setdefault("seed", self.study.spec.seed)
        wanted = options.get("resample", "items") if self.intervals == "rows" else self.intervals
        if wanted not in ("all", "rows"):
            options["resamples"] = 0
        try:
            return taken(in_every_group(some, by), labels=self.labels if self.coded else None, **options)
        except QuaverError as error:
            return Estimates([Estimate(measure, None, reason=str(error.problem))])

    def points(self, measure: str, frame: pl.DataFrame | None = None, **options: Any) -> Estimates:
        """`take` without intervals, in a fraction of its time."""
        return self.take(measure, frame, resamples=0, **options)

    def one(self, measure: str, model: str, frame: pl.DataFrame | None = None, **options: Any) -> Estimate:
        """A measure of one model's annotations, as one estimate."""
        return self.take(measure, self.of(model, frame), by=[], **options)[0]

    def of(self, model: str, frame: pl.DataFrame | None = None) -> pl.DataFrame:
        """One model's annotations: of the first evaluator, or of a part of them."""
        some = self.frame if frame is None else frame
        return rows_with(some, "model", model)

    @cached_property
    def again(self) -> pl.DataFrame:
        """The annotations of one prompt asked again and again.

        Those of the decodings that ask a single prompt, if there are any; else those of the original prompt.
        """
        lone = self._decodings(several=False)
        if lone:
            return rows_with(self.frame, "decoding", lone)
        if ORIGINAL in self.frame.columns and self.frame[ORIGINAL].dtype == pl.Boolean:
            return self.frame.filter(pl.col(ORIGINAL).fill_null(value=False))
        return self.frame

    @cached_property
    def reworded(self) -> pl.DataFrame:
        """The annotations of several prompts under one decoding."""
        return rows_with(self.frame, "decoding", self._decodings(several=True))

    def _decodings(self, *, several: bool) -> list[str]:
        prompts = self.every.group_by(pl.col("decoding").cast(pl.String)).agg(pl.col("variant").n_unique())
        return [name for name, count in prompts.sort("decoding").iter_rows() if (count > 1) == several]

    @cached_property
    def written(self) -> StoredAnswers:
        """The same answers with what was written as the label; where labels alone are kept, those labels.

        On a scale, texts have no place, and the exact codes alone are left.
        """
        return self.exact if self.labels.level != "nominal" else replace(self, frame=self._texts, coded=False)

    @cached_property
    def exact(self) -> StoredAnswers:
        """Those of the answers that are a label's code (or its name), and nothing else; 1.0 is the code 1."""
        text = pl.col("label").str.strip_chars()
        names = {label.name: label.code for label in self.labels.labels}
        names |= {code: code for code in self.labels.codes}
        places = pl.DataFrame({"code": self.labels.codes}).with_columns(
            pl.col("code").cast(pl.Float64, strict=False)
        )
        numbers = dict(zip(places["code"], self.labels.codes, strict=True))
        numbers.pop(None, None)
        each = [text.replace_strict(names, default=None, return_dtype=pl.String)]
        if numbers:
            value = text.cast(pl.Float64, strict=False)
            each.append(value.replace_strict(numbers, default=None, return_dtype=pl.String))
        return replace(self, frame=self._texts.with_columns(label=pl.coalesce(each)).drop_nulls("label"))

    @cached_property
    def _texts(self) -> pl.DataFrame:
        own = self.frame.with_columns(pl.col("label").cast(pl.String).fill_null(""))
        frame = own if self.raw.is_empty() else self.raw.drop("label").rename({OUTPUT: "label"})
        return frame.drop("status", strict=False)

    @cached_property
    def raw(self) -> pl.DataFrame:
        """The annotations, each with the answer as it was written, in ``output``; none where none is kept."""
        answers = raw_answers(self.study.source)
        if answers.is_empty():
            return self.frame.clear().with_columns(pl.lit(None, pl.String).alias(OUTPUT))
        keys = [name for name in answers.columns if name != OUTPUT]
        answers = answers.with_columns(pl.col(name).cast(self.frame.schema[name]) for name in keys)
        return self.frame.join(answers, on=keys, how="left", maintain_order="left")

    def costs(self) -> Sequence[Cost]:
        """What each model's answers cost."""
        order = {model.name: place for place, model in enumerate(self.study.spec.models)}
        with evidence_of(self.study.source) as behind:
            return sorted(
                behind.costs(), key=lambda cost: (order.get(cost.model, len(order)), cost.paraphrases)
            )

    def part_costs(self) -> Sequence[PartCost]:
        """What each level of each factor costs."""
        with evidence_of(self.study.source) as behind:
            return behind.part_costs()


def answers_of(
    studies: Mapping[str, Study],
    *,
    intervals: Intervals = "all",
    only: Mapping[str, Sequence[str]] | None = None,
) -> list[StoredAnswers]:
    """The stored answers of each study that has any: all, or those of some models, strategies or items."""
    answers = []
    missing: StoreError | None = None
    for name, study in studies.items():
        try:
            every = study.annotations()
        except StoreError as error:
            missing = error
            continue
        for column, values in (only or {}).items():
            known = every[column].cast(pl.String).unique().sort() if column in every.columns else ()
            for value in values:
                if value not in known:
                    raise UnknownName(column, value, known, where=name)
            every = rows_with(every, column, list(values))
        first = study.spec.evaluators[0].title
        frame = rows_with(every, "evaluator", first)
        answers.append(StoredAnswers(name, study, every if frame.is_empty() else frame, every, intervals))
    if not answers and missing is not None:
        raise missing
    return answers


Format = Literal["markdown", "latex", "html", "csv"]
FORMATS: tuple[Format, ...] = get_args(Format)

Cell = str | Markup
"""What stands in a table: text, or a number with its full value."""

NOTHING = "—"
"""A cell without a value."""
NO_VALUE = "No value"
"""How a note begins that says why there is none."""
KEYS = ("model", "variant", "decoding", "item", "repeat")
"""The columns that name an answer."""


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """One table of a paper, made from stored answers.

    It prints as Markdown; a notebook shows it as HTML.

    Attributes:
        name: Its name on the command line.
        caption: What it shows.
        table: Its columns and rows; every number has its full value.
        notes: How it was made: what the paper does, what Quaver does instead, and why there is no value.
        data: The same with a number a cell, where the printed cells hold several.
    """

    name: str
    caption: str
    table: Table
    notes: tuple[str, ...] = ()
    data: Table | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The headings, from left to right."""
        return self.table.columns

    def rows(self) -> list[dict[str, object]]:
        """The rows by column, numbers with their full value; an interval is two columns."""
        return tidy(self.data or self.table).to_dicts()

    def as_(self, form: Format = "markdown") -> str:
        r"""The table as text.

        >>> table = Table(("data set", "α"), (("a_b", "1"),), frozenset({1}))
        >>> print(PublishedTable("pss", "PSS by data set", table, ("So.",)).as_("latex"))
        % \usepackage{booktabs, graphicx}
        \begin{table}
        \centering\footnotesize\setlength{\tabcolsep}{4pt}\setlength{\belowcaptionskip}{4pt}
        \caption{PSS by data set}
        \label{tab:pss}
        {%
        \begin{tabular}{lr}
        \toprule
        data set & $\alpha$ \\
        \midrule
        a\_b & 1 \\
        \bottomrule
        \end{tabular}
        }
        \par\smallskip\parbox{\linewidth}{\raggedright So.}
        \end{table}
        <BLANKLINE>
        """
        if form not in FORMATS:
            raise UnknownName("format", form, FORMATS, where="format")
        if form == "csv":
            return csv_text(tidy(self.data or self.table))
        return as_text(self.table, self.caption, form, self.name, self.notes)

    def __str__(self) -> str:
        return self.as_()

    def _repr_html_(self) -> str:
        return self.as_("html")


Value = str | float | Estimate | tuple[float | None, float | None] | None
"""What stands in a row before it is printed; an estimate is its value and its interval, a pair two ends."""

UNKNOWN = Estimate("", None)
"""An estimate that is not there: neither a value nor an interval."""


def number(value: float | None, form: str = "3") -> Cell:
    """A cell for a number, with its column's decimals; of a share in per cent, ``1%``.

    >>> str(number(0.12345)), number(0.12345, "1%").striptags(), number(None)
    ('<data value="0.12345">0.123</data>', '12.3%', '—')
    """
    if value is None or value != value:
        return NOTHING
    places, percent, _ = form.partition("%")
    text = decimals(100 * value if percent else value, int(places))
    return Markup('<data value="{}">{}{}</data>').format(repr(float(value)), text, percent)


def cells(row: Sequence[Value], forms: Sequence[str]) -> Iterator[Cell]:
    """A row's cells, an estimate's in two columns; how each prints numbers.

    >>> [str(one).count("data value") for one in cells(("a", 7, Estimate("α", 0.5, 0.1, 0.9)), "3333")]
    [0, 0, 1, 2]
    """
    left = iter(forms)
    for value in row:
        form = next(left)
        if isinstance(value, Estimate):
            yield number(value.value, form)
            value, form = (value.low, value.high), next(left)
        if isinstance(value, tuple):
            low, high = (None if end is None or end != end else end for end in value)
            yield span(low, high, partial(number, form=form)) or NOTHING
        elif isinstance(value, str | int):
            yield value if isinstance(value, str) else str(value)
        else:
            yield number(value, form)


@dataclass(frozen=True, slots=True)
class TableRows:
    """What a table's function makes of stored answers; `papers.toml` says the rest.

    Attributes:
        rows: The rows.
        found: Estimates beside those in the rows, each with the row that it is about: notes say why there is
            no value.
        notes: How these rows were made, beside what is always said.
        columns: The columns for ``*`` among the table's.
        subject: What stands for ``*`` in the caption.
    """

    rows: Sequence[Sequence[Value]]
    found: Iterable[tuple[str, Estimate]] = ()
    notes: Sequence[str] = ()
    columns: Sequence[str] = ()
    subject: str = ""


def reasons(found: Iterable[tuple[str, Estimate]]) -> list[str]:
    """Why there is no value, a note for each reason, with the measures and the rows that it is about.

    >>> reasons([("a", Estimate("alpha", None, reason="no variation")), ("b", Estimate("alpha", 0.1))])
    ['No value (alpha): no variation: a.']
    """
    grouped: dict[tuple[str, str], list[str]] = {}
    for row, estimate in found:
        if estimate.value is None and estimate is not UNKNOWN:
            grouped.setdefault((estimate.reason or "no reason given", estimate.measure), []).append(row)
    alike: dict[tuple[str, str], list[str]] = {}
    for (reason, measure), rows in grouped.items():
        alike.setdefault((reason, ", ".join(dict.fromkeys(rows))), []).append(measure)
    return [f"{NO_VALUE} ({', '.join(some)}): {reason}: {of}." for (reason, of), some in alike.items()]


def shortened(text: str | None) -> str:
    r"""A text in one line, and not too long for a cell.

    >>> shortened(" a\n b"), len(shortened("a" * 300))
    ('a b', 201)
    """
    line = " ".join((text or "").split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


_LONGEST = 200


def p_of(estimate: Estimate) -> float | None:
    """An estimate's p value, adjusted for several tests where it is."""
    result: float | None = estimate.details.get("p_holm", estimate.details.get("p"))
    return result


Answers = Sequence[StoredAnswers]


def each_model(answers: Answers) -> Iterator[tuple[StoredAnswers, str]]:
    """Data sets, and the models of each."""
    for one in answers:
        for model in one.models:
            yield one, model
