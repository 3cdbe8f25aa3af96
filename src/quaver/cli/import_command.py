"""``quaver import``: make a study of labels that exist already."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typing_extensions import Unpack

from quaver.cli.console import say, screen, table
from quaver.cli.label_file_options import separator_of, with_options
from quaver.study.imports.import_options import ImportOptions

if TYPE_CHECKING:
    from quaver.study.session import Study


@with_options(ImportOptions)
def command(
    file: Annotated[Path, typer.Argument()],
    folder: Annotated[Path | None, typer.Argument()] = None,
    **options: Unpack[ImportOptions],
) -> None:
    """Make a study of labels that you already have.

    Reads any long table, a column for each coder, and promptstability's files. Columns that you do not name
    are detected and shown.

    Options:
      file: A CSV, Excel, ODS, JSON Lines or Parquet file.
      folder: The study's folder; by default the file's name.

    Examples:
      quaver import annotations.csv
      quaver import coded.csv --item id --coders anna,ben,cleo --gold truth
      quaver import answers.csv --item id --raw reply --variant prompt
    """
    from quaver.study.imports.label_import import import_annotations

    options["separator"] = separator_of(options["separator"])
    study, decisions = import_annotations(file, folder, **options)
    rows = [(decision.role, decision.column, decision.why) for decision in decisions]
    screen.print(table(("taken for", "column", "why"), rows, f"{file.name}:"))
    _show(study)


def _show(study: Study) -> None:
    labels = study.annotations(lazy=True).select("label").collect()["label"]
    screen.print(
        f"{len(labels):,} annotations of {len(study.experiment.items):,} items, "
        f"{labels.null_count():,} of them without a label."
    )
    say(f"Wrote {study.folder / 'study.yaml'}. Next: quaver measure {shlex.quote(str(study.folder))}")
