"""``quaver measure``, ``report``, ``rescore`` and ``agreement``: estimates from answers and labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import Group
from typing_extensions import Unpack

from quaver.cli.command_options import (
    HERE,
    FieldOption,
    FileArgument,
    FolderOption,
    FunctionOption,
    LevelOption,
    StudyArgument,
    open_study,
    parts,
    studies_of,
    with_options,
)
from quaver.cli.console import give, give_each, gives, say, say_heading, screen, show, table
from quaver.cli.run_display import phase, say_quality
from quaver.core.number_format import decimals, p_heading, rounded, short_name, span
from quaver.study.imports.import_options import TableOptions

if TYPE_CHECKING:
    from quaver.core.records import Estimate


def measure_command(
    study: StudyArgument,
    name: Annotated[list[str] | None, typer.Argument()] = None,
    undefined: bool = False,
    field: FieldOption = None,
    function: FunctionOption = None,
) -> None:
    """Print estimates with their intervals, after a summary.

    Estimates that are undefined are counted; --undefined lists them, each with its reason.

    Options:
      name: Measures; by default the study's own.
      undefined: Also list what is undefined, each with its reason.

    Examples:
      quaver measure study.yaml
      quaver measure study.yaml accuracy inter_pss
      quaver measure study.yaml --field tone
      quaver measure study.yaml --undefined
      quaver measure study.yaml --json > estimates.jsonl
    """
    for title, opened in studies_of(study, function, field=field).items():
        with phase("Measuring"):
            estimates = opened.estimates(name)
        if gives():
            own = {"study": title} if title else {}
            _give(replace(estimate, cell=own | dict(estimate.cell)) for estimate in estimates)
            continue
        say_heading("Study", title)
        from quaver.core.estimate_frame import summarized, undefined_because

        say_quality(opened.quality())
        measured = [estimate for estimate in estimates if "conclusion" not in estimate.cell]
        heads, rows = summarized(measured)
        if len(rows) > 1:
            show([table(heads, rows, "Summary")])
        show(
            estimates_tables([estimate for estimate in estimates if undefined or estimate.value is not None])
        )
        if not undefined and (because := undefined_because(measured)):
            say(f"{because}. `--undefined` lists them.")


def _give(estimates: Iterable[Estimate]) -> None:
    """Give estimates, one a line."""
    for estimate in estimates:
        give(partial(asdict, estimate))


def report_command(
    study: StudyArgument = HERE,
    to: FolderOption = None,
    small: bool = False,
    field: FieldOption = None,
    function: FunctionOption = None,
) -> None:
    """Write the report: one HTML file that opens anywhere.

    Beside it go estimates.csv, tables/ and figures/.

    Options:
      to: The folder to write to; by default the study's own.
      small: Of the small version.

    Examples:
      quaver report study.yaml
      quaver report study.quaver.zip --to checked
    """
    documents = {}
    for name, opened in studies_of(study, function, small=small, field=field).items():
        with phase("Measuring, and drawing the report"):
            written = opened.report(to / name if to else None)
        documents[name] = {"report": written}
        say(f"Wrote {written}")
    give_each("studies", documents)


def rescore_command(
    study: StudyArgument = HERE,
    evaluator: list[str] | None = None,
    function: FunctionOption = None,
) -> None:
    """Read the stored answers again, with these evaluators or others.

    Asks nothing.

    Options:
      evaluator: An evaluator's name; by default the study's own.

    Examples:
      quaver rescore study.yaml
      quaver rescore study.yaml --evaluator exact --evaluator marked_label
    """
    from quaver.study.analysis.annotation_frame import rescored  # loads polars

    opened = open_study(study, function)
    opened.source.require("has_answers")
    annotations = rescored(opened.source, evaluator)  # never held as a whole
    places = ("evaluator", "field") if opened.fields else ("evaluator",)
    counts = annotations.group_by(*places, "status").len().sort("len", descending=True)
    rows = counts.sort(places, maintain_order=True).collect().rows()
    screen.print(table((*places, "status", "answers"), rows))
    with opened.source.answers() as store:
        keeps = opened.source.owns_folder and not store.read_only  # a bundle stays as it is
    file = opened.folder / "annotations.parquet" if keeps else None
    say(f"Wrote {file}" if file else f"{opened.folder} stays as it is: nothing was written.")
    heads = (*places, "status", "answers")
    give(lambda: {"file": file, "counts": [dict(zip(heads, row, strict=True)) for row in rows]})


Missing = Literal["drop", "category"]
"""What an answer without a valid label counts as."""


@with_options(TableOptions)
def agreement_command(
    file: FileArgument,
    label: list[str],
    item: str | None = None,
    rater: list[str] | None = None,
    by: list[str] | None = None,
    valid: str | None = None,
    missing: Missing = "drop",
    level: LevelOption = "nominal",
    weights: str | None = None,
    resamples: Annotated[int, typer.Option(min=0)] = 1000,
    seed: int = 0,
    distinct: bool = False,
    **options: Unpack[TableOptions],
) -> None:
    """Measure agreement in any table of annotations.

    Krippendorff's alpha, percent agreement, kappas and Gwet's AC; of numbers also ICC(2,1). With intervals.

    Options:
      file: A CSV, Excel, ODS, JSON Lines or Parquet file with an annotation a row, or a column a rater.
      label: The column of labels. May be repeated: each is then the column of a rater.
      item: The column of items; with several columns of labels each row is one.
      rater: The column of raters; several together name a rater.
      by: Measure each value of this column separately.
      valid: The valid labels, in order: a,b,"c, d". Others count as missing.
      missing: Leave missing labels out, or count them as a category.
      weights: Of two labels in kappa and Gwet's AC: linear, quadratic, or a file with a row and a column for
        each label. By default, the level's.
      resamples: 0 for no interval.
      seed: Root seed.
      distinct: Keep labels apart that differ only in capitals, white space or how a number is written.

    Examples:
      quaver agreement coded.csv --item id --rater who --label tag
      quaver agreement coded.csv --item id --rater who --label tag --level ordinal
      quaver agreement coded.csv --label anna --label ben --weights near.csv
      quaver agreement coded.csv --item id --rater who --label tag --by topic
      quaver agreement speeches.csv --label tone --label tone_b
    """
    from quaver.study.imports.agreement_import import measure_agreement

    estimates = measure_agreement(
        file,
        item=item,
        rater=rater or "rater",
        label=label,
        by=by or (),
        labels=parts(valid, "--valid") or None,
        distinct=distinct,
        level=level,
        weights=weights,
        missing=missing,
        resamples=resamples,
        seed=seed,
        **options,
    )
    if gives():
        _give(estimates)
        return
    if taken := [row for estimate in estimates[:1] for row in estimate.details["taken"]]:
        show([table(("taken for", "in the file", "why"), taken)])
    show(estimates_tables(estimates, together=True))


_SAID_BY_UNIT = "estimand"
"""A column of cells that tables leave out: the unit says in words which prompts an interval holds for."""


def estimates_tables(estimates: Sequence[Estimate], *, together: bool = False) -> Iterator[Group]:
    """Tables of estimates; the title holds what all rows of a table share."""

    def kind(estimate: Estimate) -> tuple[str, ...]:
        return tuple(estimate.cell) if together else (estimate.measure, *estimate.cell)

    for _, group in groupby(estimates, key=kind):
        yield _estimates_table(list(group))


def _estimates_table(estimates: Sequence[Estimate]) -> Group:
    """A table of estimates whose cells have the same columns."""
    places: list[dict[str, str]] = []
    for estimate in estimates:
        cell = {column: short_name(level) for column, level in estimate.cell.items()}
        cell.pop(_SAID_BY_UNIT, None)
        places.append({"measure": estimate.measure, **cell})
    differing = [name for name, value in places[0].items() if any(place[name] != value for place in places)]
    shared = {name: value for name, value in places[0].items() if name not in differing}
    title = ", ".join(value if name == "measure" else f"{name} {value}" for name, value in shared.items())
    heads = [*differing, "value", f"{estimates[0].confidence_level:.0%} interval"]
    rows: list[list[Any]] = [
        [*(place[name] for name in differing), *numbers(estimate)]
        for place, estimate in zip(places, estimates, strict=True)
    ]
    if tested := [estimate for estimate in estimates if "p_holm" in estimate.details]:
        heads.append(p_heading(tested))
        for row, estimate in zip(rows, estimates, strict=True):
            row.append(rounded(estimate.details["p_holm"]) if estimate in tested else "")
    heads += ["n", "unit"]
    for row, estimate in zip(rows, estimates, strict=True):
        row += [estimate.n, estimate.resampled]
    if any("verdict" in estimate.details for estimate in estimates):
        heads.append("verdict")
        for row, estimate in zip(rows, estimates, strict=True):
            limit, verdict = (str(estimate.details.get(name, "")) for name in ("limit", "verdict"))
            row.append(f"{verdict} ({limit})" if limit else verdict)
    return table(heads, rows, title)


def numbers(estimate: Estimate) -> tuple[str, str]:
    """Value and interval, or why it is undefined."""
    if estimate.value is None:
        return "undefined", estimate.reason or ""
    return decimals(estimate.value), span(estimate.low, estimate.high, decimals)
