"""``quaver import``: make a study of labels that exist already."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quaver.cli.console import say, screen, table
from quaver.cli.label_file_options import (
    EncodingOption,
    LevelOption,
    SeparatorOption,
    SheetOption,
    UnlabelledOption,
    parts,
    separator_of,
)
from quaver.cli.study_options import one_of_plugins
from quaver.core.number_format import decimals

if TYPE_CHECKING:
    from quaver.study.session import Study

Text = str | None
Texts = list[str] | None
_column = typer.Option


def command(
    file: Annotated[Path, typer.Argument()],
    folder: Annotated[Path | None, typer.Argument()] = None,
    item: Text = None,
    label: Text = None,
    raw: Text = None,
    thinking: Text = None,
    evaluator: Annotated[Texts, typer.Option(autocompletion=one_of_plugins("evaluators"))] = None,
    coders: Text = None,
    coder: Text = None,
    variant: Texts = None,
    decoding: Text = None,
    repeat: Text = None,
    repeats_in_order: bool = False,
    prompt: Text = None,
    original: Text = None,
    text: Text = None,
    gold: Text = None,
    group: Texts = None,
    ignore: Texts = None,
    labels: Text = None,
    unlabelled: UnlabelledOption = None,
    level: LevelOption = "nominal",
    encoding: EncodingOption = "utf-8",
    separator: SeparatorOption = None,
    sheet: SheetOption = None,
) -> None:
    """Make a study of labels that you already have.

    Reads promptstability's files, a column for each coder, or any long table. Columns that you do not
    name are detected and shown.

    Options:
      file: A CSV, Excel, ODS, JSON Lines or Parquet file of labels.
      folder: The study's folder; by default the file's name.
      item: The column of items.
      label: The column of labels, with one annotation a row.
      raw: The column of raw answers, which evaluators read.
      thinking: The column of thinking beside raw answers.
      evaluator: Reads the raw answers; by default first_label.
      coders: The coders' columns, with one item a row: anna,ben,cleo.
      coder: The column of who labelled.
      variant: A column of prompts; may be repeated.
      decoding: The column of decodings, such as the temperature.
      repeat: The column that numbers the repeats.
      repeats_in_order: Number rows that no column tells apart as repeats.
      prompt: The column of the prompts' texts.
      original: The column that marks the original prompt: true, yes, 1.
      text: The column of texts.
      gold: The column of true labels.
      group: A column of the items to compare by; may be repeated.
      ignore: A column to ignore; may be repeated.
      labels: The label set, in order: a,b,"c, d". By default all found.

    Examples:
      quaver import annotations.csv
      quaver import coded.csv --item id --coders anna,ben,cleo --gold truth
      quaver import answers.csv --item id --raw reply --variant prompt
    """
    from quaver.study.imports.label_columns import Roles
    from quaver.study.imports.label_import import import_annotations

    one = {"item": item, "label": label, "raw": raw, "thinking": thinking, "coder": coder, "gold": gold}
    one |= {"decoding": decoding, "repeat": repeat, "prompt": prompt, "original": original, "text": text}
    several = {"variant": variant, "groups": group, "ignore": ignore, "coders": parts(coders, "--coders")}
    columns: dict[str, Any] = one | {role: tuple(names or ()) for role, names in several.items()}
    study, taken = import_annotations(
        file,
        folder,
        roles=Roles(**columns, repeats_in_order=repeats_in_order),
        labels=parts(labels, "--labels"),
        unlabelled=unlabelled or (),
        level=level,
        evaluators=evaluator or (),
        encoding=encoding,
        separator=separator_of(separator),
        sheet=sheet,
    )
    rows = [(one.role, one.column, one.why) for one in taken]
    screen.print(table(("taken for", "column", "why"), rows, f"{file.name}:"))
    _show(study)


def _show(study: Study) -> None:
    from quaver.study.imports.stability_summary import stability_summary

    labels = study.annotations(lazy=True).select("label").collect()["label"]
    screen.print(
        f"{len(labels):,} annotations of {len(study.experiment.items):,} items, "
        f"{labels.null_count():,} of them without a label."
    )
    if summary := stability_summary(study):
        beside = any(one.published is not None for one in summary)
        heads = ("stability", "value", "in the file")[: 3 if beside else 2]
        lines = [(one.name, _written(one.value), _written(one.published))[: len(heads)] for one in summary]
        screen.print(table(heads, lines))
    say(f"Wrote {study.folder / 'study.yaml'}. Next: quaver measure {study.folder}")


def _written(number: float | None) -> str:
    """A number of the summary: a count as it is, another with three decimals."""
    if number is None:
        return "–"
    return f"{number:g}" if number.is_integer() and number > 1 else decimals(number)
