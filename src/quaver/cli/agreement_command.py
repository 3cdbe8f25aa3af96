"""``quaver agreement``: measure a file of annotations that Quaver did not collect."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer
from typing_extensions import Unpack

from quaver.cli.console import JsonLinesOption, print_estimates, show, table
from quaver.cli.label_file_options import (
    EncodingOption,
    LevelOption,
    SeparatorOption,
    SheetOption,
    parts,
    separator_of,
    with_options,
)
from quaver.cli.terminal_tables import estimates_tables
from quaver.study.imports.import_options import CellOptions

Missing = Literal["drop", "category"]
"""What an answer without a valid label counts as."""


@with_options(CellOptions)
def command(
    file: Annotated[Path, typer.Argument()],
    label: list[str],
    item: str | None = None,
    rater: list[str] | None = None,
    by: list[str] | None = None,
    valid: str | None = None,
    missing: Missing = "drop",
    level: LevelOption = "nominal",
    resamples: Annotated[int, typer.Option(min=0)] = 1000,
    seed: int = 0,
    encoding: EncodingOption = "utf-8",
    separator: SeparatorOption = None,
    sheet: SheetOption = None,
    quote: Literal["none"] | None = None,
    distinct: bool = False,
    as_json: JsonLinesOption = False,
    **cells: Unpack[CellOptions],
) -> None:
    """Measure agreement in any table of annotations.

    Krippendorff's alpha, percent agreement, kappas and Gwet's AC, with intervals.

    Options:
      file: A CSV, Excel, ODS, JSON Lines or Parquet file with an annotation a row, or a column a rater.
      label: The column of labels. May be repeated: each is then the column of a rater.
      item: The column of items; with several columns of labels each row is one.
      rater: The column of raters; several together name a rater.
      by: Measure each value of this column separately.
      valid: The valid labels, in order: a,b,"c, d". Others count as missing.
      missing: Leave missing labels out, or count them as a category.
      resamples: 0 for no interval.
      seed: Root seed.
      quote: none where quotation marks are text like any other.
      distinct: Keep labels apart that differ only in capitals, white space or how a number is written.

    Examples:
      quaver agreement coded.csv --item id --rater who --label tag
      quaver agreement coded.csv --item id --rater who --label tag --level ordinal
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
        quote=quote,
        distinct=distinct,
        **cells,
        level=level,
        missing=missing,
        resamples=resamples,
        seed=seed,
        encoding=encoding,
        separator=separator_of(separator),
        sheet=sheet,
    )
    if as_json:
        print_estimates(estimates)
        return
    if taken := [row for estimate in estimates[:1] for row in estimate.details["taken"]]:
        show([table(("taken for", "in the file", "why"), taken)])
    show(estimates_tables(estimates, together=True))
