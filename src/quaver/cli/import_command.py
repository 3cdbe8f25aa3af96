"""``quaver import``: make a study of labels that exist already."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quaver.cli.agreement_command import Level
from quaver.cli.comma_lists import parts
from quaver.cli.screen import screen, table


def command(
    file: Annotated[Path, typer.Argument(help="A CSV, TSV, JSON Lines or Parquet file of labels.")],
    folder: Annotated[
        Path | None, typer.Argument(help="The study's folder; one of the file's name, if left out.")
    ] = None,
    item: Annotated[str | None, typer.Option(help="The column of items.")] = None,
    label: Annotated[str | None, typer.Option(help="The column of labels, a row an annotation.")] = None,
    raw: Annotated[
        str | None, typer.Option(help="The column of raw answers, for evaluators to read, instead of labels.")
    ] = None,
    thinking: Annotated[str | None, typer.Option(help="The column of thinking beside raw answers.")] = None,
    evaluator: Annotated[
        list[str] | None, typer.Option(help="Reads the raw answers; first_label, if left out.")
    ] = None,
    coders: Annotated[
        str | None, typer.Option(help="The coders' columns, a row an item: anna,ben,cleo.")
    ] = None,
    coder: Annotated[str | None, typer.Option(help="The column of who labelled.")] = None,
    variant: Annotated[list[str] | None, typer.Option(help="A column of prompts; may be repeated.")] = None,
    decoding: Annotated[str | None, typer.Option(help="The column of how the answer was drawn.")] = None,
    repeat: Annotated[str | None, typer.Option(help="The column of which asking it was.")] = None,
    repeats_in_order: Annotated[
        bool, typer.Option("--repeats-in-order", help="Rows that nothing tells apart are repeats.")
    ] = False,
    prompt: Annotated[str | None, typer.Option(help="The column of the prompts' texts.")] = None,
    original: Annotated[
        str | None, typer.Option(help="The column that marks the original prompt: true, yes or 1.")
    ] = None,
    text: Annotated[str | None, typer.Option(help="The column of texts.")] = None,
    gold: Annotated[str | None, typer.Option(help="The column of true labels.")] = None,
    group: Annotated[list[str] | None, typer.Option(help="A column that groups the items.")] = None,
    ignore: Annotated[list[str] | None, typer.Option(help="A column that plays no role.")] = None,
    labels: Annotated[
        str | None, typer.Option(help='The label set, in order: a,b,"c, d". All that occur, if left out.')
    ] = None,
    unlabelled: Annotated[
        list[str] | None, typer.Option(help="What stands where there is no label: N/A.")
    ] = None,
    level: Annotated[Level, typer.Option(help="Level of measurement.")] = Level.nominal,
    encoding: Annotated[str, typer.Option(help="Of a text file.")] = "utf-8",
    separator: Annotated[
        str | None, typer.Option(help=r"Between the cells, where it is no comma: ';', '\t'.")
    ] = None,
) -> None:
    """Make a study of labels that exist already: promptstability's files, coders, any long table."""
    from quaver.study.imports.label_import import Roles, import_annotations

    roles = Roles(
        item=item,
        label=label,
        raw=raw,
        thinking=thinking,
        coders=parts(coders, "--coders"),
        coder=coder,
        variant=tuple(variant or ()),
        decoding=decoding,
        repeat=repeat,
        repeats_in_order=repeats_in_order,
        prompt=prompt,
        original=original,
        text=text,
        gold=gold,
        groups=tuple(group or ()),
        ignore=tuple(ignore or ()),
    )
    study, taken = import_annotations(
        file,
        folder,
        roles=roles,
        labels=parts(labels, "--labels"),
        unlabelled=unlabelled or (),
        level=level.value,
        evaluators=evaluator or (),
        encoding=encoding,
        separator="\t" if separator == r"\t" else separator,
    )
    rows = [(one.role, one.column, one.why) for one in taken]
    screen.print(table(("taken for", "column", "why"), rows, f"{file.name}:"))
    experiment, frame = study.experiment, study.annotations()
    screen.print(
        f"{frame.height:,} annotations of {len(experiment.items):,} items, "
        f"{frame['label'].null_count():,} of them without a label.",
    )
    screen.print(
        f"Wrote {study.folder / 'study.yaml'}. Next: quaver measure {study.folder}",
        soft_wrap=True,
    )
