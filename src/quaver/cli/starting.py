"""``quaver start``, ``view``, ``init`` and ``import``: pages in the browser, and studies to start from."""

from __future__ import annotations

import shlex
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from typing_extensions import Unpack

from quaver.cli.command_options import (
    HERE,
    FieldOption,
    FileArgument,
    FolderArgument,
    PortOption,
    with_options,
)
from quaver.cli.console import give, gives, say, say_command, say_taken, screen, table, taken_document
from quaver.core.replaced_file import replace_text
from quaver.design.study_kinds import KINDS, PAPERS, listed, study_of_kind
from quaver.errors import QuaverError
from quaver.study.imports.import_options import ImportOptions


def start_command(
    folder: FileArgument = Path(),
    port: PortOption = None,
    no_open: bool = False,
) -> None:
    """Go from a spreadsheet to trusted labels in the browser.

    Seven pages lead there; each shows the command that does the same. Everything is kept in the folder, one
    folder a study, and the pages go on where you left them. The server listens on this machine alone, and
    answers nobody who does not have its address; Ctrl-C ends it.

    Options:
      folder: Where your tables and studies are; the present folder by default. A table, or the folder of
        its check, opens the page that goes on with it.
      port: Where to listen; a free port by default.
      no_open: Only print the address.

    Examples:
      quaver start
      quaver start ~/tweets --no-open
      quaver start tweets.xlsx
    """
    from quaver.start import start_server

    start_server.serve(folder, port=port, begun=_opening(no_open=no_open))


def view_command(
    study: Annotated[list[Path] | None, typer.Argument()] = None,
    port: PortOption = None,
    no_open: bool = False,
    at: str = "",
    field: FieldOption = None,
) -> None:
    """Look at every answer of a study in the browser.

    You can do so while the study runs. The server listens on this machine alone, and answers nobody who
    does not have its address. It changes no answer; Ctrl-C ends it. Where the task has several fields, each
    is shown as a study.

    Options:
      study: Study files, files that list studies, their folders, or bundles.
      port: Where to listen; a free port by default.
      no_open: Only print the address.
      at: The part of an address after #: what to show first.

    Examples:
      quaver view study.yaml
      quaver view study.yaml --field tone
      quaver view study.yaml other.quaver.zip --no-open
    """
    from quaver.study.sources.opening import list_of_studies, studies_in
    from quaver.view import serving

    studies: list[Path] = []
    for path in study or [HERE]:
        listed_there = list_of_studies(path)
        studies += studies_in(listed_there).values() if listed_there else [path]
    serving.serve(studies, port=port, field=field, begun=_opening(at, no_open=no_open))


def _opening(at: str = "", *, no_open: bool) -> Callable[[str], None]:
    """What a server calls with its address: it is printed, and opened in the browser."""

    def begun(address: str) -> None:
        shown = f"{address}#{at.removeprefix('#')}" if at else address
        give(lambda: {"address": shown})
        say(f"Open {shown}")
        say("Ctrl-C ends it.", style="dim")
        if not no_open:
            webbrowser.open(shown)

    return begun


def init_command(
    kind: Annotated[
        str | None,
        typer.Argument(
            metavar="[KIND]",
            help=f"The kind of study: {', '.join(KINDS)}; or a paper: {', '.join(PAPERS)}. "
            "By default stability.",
        ),
    ] = None,
    path: FolderArgument = None,
    list_: bool = False,
) -> None:
    """Write a study file to start from.

    It is ready to run. Of a table of your own, `quaver check` writes a study file.

    Options:
      path: The file to write; by default KIND.yaml or study.yaml; - prints it.
      list_: List the kinds of study and the papers.

    Examples:
      quaver init
      quaver init --list
      quaver init stability
      quaver init stability my-study.yaml
      quaver init sensitivity -        # print it
      quaver init barrie-2025            # a paper's study, with its tables
    """
    if list_:
        rows = listed()
        screen.print(table(("name", "what it is about"), rows))
        give(lambda: {"kinds": [{"name": name, "about": about} for name, about in rows]})
        return
    if kind is not None and path is None and (kind == "-" or Path(kind).suffix):
        path, kind = Path(kind), None  # the default, under a name of its own
    path = path or Path(f"{kind or 'study'}.yaml")
    then = f"For a first look: quaver run {shlex.quote(str(path))} --small"
    _write(path, study_of_kind(kind or KINDS[0]), then)


def _write(path: Path, text: str, then: str) -> None:
    """Write a study file, or print it."""
    if str(path) == "-":
        give(lambda: {"file": None, "text": text})
        if not gives():
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
    screen.print(f"Wrote {path}.\n{then}")
    give(lambda: {"file": path, "text": text})


@with_options(ImportOptions)
def import_command(
    file: FileArgument,
    folder: FolderArgument = None,
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

    study, decisions = import_annotations(file, folder, **options)
    say_taken(decisions, file.name, "column")
    labels = study.annotations(lazy=True).select("label").collect()["label"]
    screen.print(
        f"{len(labels):,} annotations of {len(study.experiment.items):,} items, "
        f"{labels.null_count():,} of them without a label."
    )
    file, then = study.folder / "study.yaml", shlex.join(["quaver", "measure", str(study.folder)])
    say_command(f"Wrote {file}. Next:", then)
    counts = {"annotations": len(labels), "items": len(study.experiment.items)}
    unlabelled = labels.null_count()
    give(
        lambda: {
            "taken": taken_document(decisions),
            **counts,
            "without_label": unlabelled,
            "study": file,
            "next": then,
        }
    )
