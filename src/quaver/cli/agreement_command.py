"""``quaver agreement``: measure a file of annotations that Quaver did not collect."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from quaver.cli.console import JsonLinesOption, print_estimates, show, table
from quaver.cli.label_file_options import (
    EncodingOption,
    Level,
    LevelOption,
    SeparatorOption,
    SheetOption,
    UnlabelledOption,
    parts,
    separator_of,
)
from quaver.cli.terminal_tables import estimates_tables


class Missing(StrEnum):
    """What an answer without a valid label counts as."""

    drop = "drop"
    category = "category"


def command(
    file: Annotated[
        Path,
        typer.Argument(help="A CSV, Excel, ODS, JSON Lines or Parquet file with one annotation a row."),
    ],
    item: Annotated[str, typer.Option(help="The column of items.")],
    rater: Annotated[list[str], typer.Option(help="The column of raters; several together name a rater.")],
    label: Annotated[str, typer.Option(help="The column of labels.")],
    by: Annotated[
        list[str] | None, typer.Option(help="Measure each value of this column separately.")
    ] = None,
    valid: Annotated[
        str | None, typer.Option(help='The valid labels, in order: a,b,"c, d". Others count as missing.')
    ] = None,
    unlabelled: UnlabelledOption = None,
    missing: Annotated[
        Missing, typer.Option(help="Leave missing labels out, or count them as a category.")
    ] = Missing.drop,
    level: LevelOption = Level.nominal,
    resamples: Annotated[int, typer.Option(min=0, help="Resamples of items; 0 for no interval.")] = 1000,
    seed: Annotated[int, typer.Option(help="Root seed.")] = 0,
    encoding: EncodingOption = "utf-8",
    separator: SeparatorOption = None,
    sheet: SheetOption = None,
    as_json: JsonLinesOption = False,
) -> None:
    """Measure agreement in any table of annotations.

    Krippendorff's alpha, percent agreement, kappas and Gwet's AC, with intervals.

    Examples:
      quaver agreement coded.csv --item id --rater who --label tag
      quaver agreement coded.csv --item id --rater who --label tag --level ordinal
      quaver agreement coded.csv --item id --rater who --label tag --by topic
    """
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
        separator=separator_of(separator),
        sheet=sheet,
    )
    if as_json:
        print_estimates(estimates)
        return
    if taken := [row for one in estimates[:1] for row in one.details["taken"]]:
        show([table(("taken for", "in the file", "why"), taken)])
    show(estimates_tables(estimates, together=True))
