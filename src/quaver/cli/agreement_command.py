"""``quaver agreement``: measure a file of annotations that Quaver did not collect."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from quaver.cli.comma_lists import parts
from quaver.cli.screen import print_json, screen, table
from quaver.cli.terminal_tables import estimates_tables


class Missing(StrEnum):
    """What an answer without a valid label counts as."""

    drop = "drop"
    category = "category"


class Level(StrEnum):
    """Level of measurement."""

    nominal = "nominal"
    ordinal = "ordinal"
    interval = "interval"
    ratio = "ratio"


def command(
    file: Annotated[
        Path, typer.Argument(help="A CSV, TSV, JSON Lines or Parquet file, a row an annotation.")
    ],
    item: Annotated[str, typer.Option(help="The column of items.")],
    rater: Annotated[list[str], typer.Option(help="The column of raters; several are taken together.")],
    label: Annotated[str, typer.Option(help="The column of labels.")],
    by: Annotated[list[str] | None, typer.Option(help="Measure apart for each value of this column.")] = None,
    valid: Annotated[
        str | None, typer.Option(help='The valid labels, in order: a,b,"c, d". Others count as missing.')
    ] = None,
    unlabelled: Annotated[
        list[str] | None, typer.Option(help="What stands where there is no label: N/A.")
    ] = None,
    missing: Annotated[Missing, typer.Option(help="Left out, or a label of their own.")] = Missing.drop,
    level: Annotated[Level, typer.Option(help="Level of measurement.")] = Level.nominal,
    resamples: Annotated[int, typer.Option(min=0, help="Bootstrap resamples of items.")] = 1000,
    seed: Annotated[int, typer.Option(help="Root seed.")] = 0,
    encoding: Annotated[str, typer.Option(help="Of a text file.")] = "utf-8",
    separator: Annotated[
        str | None, typer.Option(help=r"Between the cells, where it is no comma: ';', '\t'.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """Agreement in anybody's annotations: Krippendorff's alpha, percent agreement, kappas, Gwet's AC."""
    from quaver.study.imports.agreement_import import measure_agreement

    estimates = measure_agreement(
        file,
        item=item,
        rater=rater,
        label=label,
        by=by or (),
        labels=parts(valid, "--valid") or None,
        unlabelled=unlabelled or (),
        level=level.value,
        missing=missing.value,
        resamples=resamples,
        seed=seed,
        encoding=encoding,
        separator="\t" if separator == r"\t" else separator,
    )
    if as_json:
        for estimate in estimates:
            print_json(asdict(estimate))
        return
    if taken := [row for one in estimates[:1] for row in one.details["taken"]]:
        screen.print(table(("taken for", "in the file", "why"), taken))
        screen.print()
    for one in estimates_tables(estimates, together=True):
        screen.print(one)
        screen.print()
