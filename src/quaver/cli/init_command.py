"""``quaver init``: a study file to start from: for a table, or of a kind of study."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from quaver.cli.console import screen, table
from quaver.cli.label_file_options import SeparatorOption, SheetOption, parts, separator_of
from quaver.core.replaced_file import replace_text
from quaver.design.study_kinds import KINDS, PAPERS, listed, study_of_kind
from quaver.errors import QuaverError


def command(
    kind: Annotated[
        str | None,
        typer.Argument(
            metavar="[KIND]",
            help=f"The kind of study: {', '.join(KINDS)}; or a paper: {', '.join(PAPERS)}. "
            "By default stability.",
        ),
    ] = None,
    path: Annotated[Path | None, typer.Argument()] = None,
    source: Annotated[Path | None, typer.Option("--from", metavar="FILE")] = None,
    text: str | None = None,
    labels: str | None = None,
    gold: str | None = None,
    coders: str | None = None,
    fields: str | None = None,
    model: str | None = None,
    encoding: str | None = None,
    separator: SeparatorOption = None,
    sheet: SheetOption = None,
    list_: bool = False,
) -> None:
    """Write a study file to start from.

    With a table of your own, the file names its columns and labels. With a kind of study, it is ready to run.
    Without either, it is a study of stability.

    Options:
      path: The file to write; by default KIND.yaml or study.yaml; - prints it.
      source: Write it for this table: CSV, XLSX, ODS, Parquet.
      text: With --from: the column of texts.
      labels: With --from: the labels: "favor, against".
      gold: With --from: the column of true labels.
      coders: With --from: the coders' columns: anna,ben.
      fields: With --from: the columns of several variables: tone,topics.
      model: With --from: PROVIDER/MODEL, as in check.
      encoding: With --from: encoding of a text file.
      list_: List the kinds of study and the papers.

    Examples:
      quaver init --from texts.xlsx --text tweet --labels "favor, against, none"
      quaver init
      quaver init --list
      quaver init stability
      quaver init stability my-study.yaml
      quaver init sensitivity -        # print it
      quaver init barrie-2025            # a paper's study, with its tables
    """
    if list_:
        screen.print(table(("name", "what it is about"), listed()))
        return
    if kind is not None and path is None and (kind == "-" or Path(kind).suffix):
        path, kind = Path(kind), None  # the default, under a name of its own
    if source is not None and kind is not None:
        raise QuaverError(
            "a study file is made for a table or of a kind, not both",
            where="--from",
            found=f"the kind {kind}",
            fix="leave one of them out",
        )
    if source is not None:
        options = {"encoding": encoding, "separator": separator_of(separator), "sheet": sheet}
        columns = {"text": text, "gold": gold, "model": model}
        given = {"labels": labels, "coders": coders, "fields": fields}
        lists = {name: parts(one, f"--{name}") for name, one in given.items()}
        _from_table(source, path, columns, lists, {k: v for k, v in options.items() if v is not None})
        return
    path = path or Path(f"{kind or 'study'}.yaml")
    then = f"For a first look: quaver run {shlex.quote(str(path))} --small"
    _write(path, study_of_kind(kind or KINDS[0]), then)


def _from_table(
    source: Path,
    path: Path | None,
    named: Mapping[str, str | None],
    lists: Mapping[str, Sequence[str]],
    written: Mapping[str, str],
) -> None:
    """Write the study file of a table, and show what its columns were taken for."""
    from quaver.study.checking.check_design import starting_file

    usual = Path(f"{source.stem}.yaml")
    path = path or usual
    given: dict[str, Any] = {
        name: one for name, one in (*named.items(), *lists.items(), *written.items()) if one
    }
    place = usual if str(path) == "-" else path
    made, decisions = starting_file(source, place, **given)
    if str(path) != "-":
        rows = [(decision.role, decision.column, decision.why) for decision in decisions]
        screen.print(table(("taken for", "what", "why"), rows, f"{source.name}:"))
    _write(path, made, f"Edit it, then: quaver plan {shlex.quote(str(path))}")


def _write(path: Path, text: str, then: str) -> None:
    """Write a study file, or print it."""
    if str(path) == "-":
        print(text, end="")
        return
    if path.exists():
        raise QuaverError(
            "the file exists already", where=str(path), fix="choose another name, or remove the file"
        )
    from quaver.design.spec.json_schema import write_with_schema

    if "\nstudies:" in text:
        replace_text(path, text)  # a collection, which the schema of a study does not describe
    else:
        write_with_schema(path, text)
    screen.print(f"Wrote {path}. {then}")
