"""``quaver paper``, ``table``, ``figure``, ``export``, ``bundle``, ``verify`` and ``schema``: for others."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import typer

from quaver.cli.command_options import (
    HERE,
    FieldOption,
    FileArgument,
    FileOption,
    FolderOption,
    FunctionOption,
    ItemsOption,
    NameArgument,
    NumberOption,
    StudyArgument,
    open_fields,
    open_study,
    studies_of,
)
from quaver.cli.console import give, give_each, gives, printer, say, screen, show_published, table
from quaver.cli.run_display import phase
from quaver.errors import UnknownName

Form = Literal["markdown", "latex", "html"]
"""A format that papers are written in."""


def paper_command(
    study: StudyArgument = HERE,
    form: Annotated[Form, typer.Option("--as")] = "markdown",
    to: FolderOption = None,
    field: FieldOption = None,
    function: FunctionOption = None,
) -> None:
    """Print a table, a methods paragraph and BibTeX for a paper.

    Of several fields, each has its own. The paragraph of a bundle names its digest.

    Options:
      form: The format of the table and the paragraph.
      to: Write every format to this folder instead of printing one.

    Examples:
      quaver paper study.yaml
      quaver paper study.yaml --as latex > results.tex
      quaver paper study.quaver.zip --to paper
    """
    documents = dict[str, object]()
    for name, opened in open_fields(study, function, field).items():
        paper = opened.paper()
        parts = {"table": paper.table_as(form), "methods": paper.methods_as(form), "bibtex": paper.bibtex}
        documents[name] = parts
        if to is None:
            say("\n".join(parts.values()).rstrip())
        else:
            written = paper.write(to / name)
            say(f"Wrote {', '.join(path.name for path in written)} to {to / name}")
            documents[name] = parts | {"files": written}
    give_each("fields", documents)


TableForm = Literal["markdown", "latex", "html", "csv"]
"""A format that a table is printed in."""


TableLayout = Literal["long", "paper"]
"""How a table is laid out."""


def table_command(
    study: StudyArgument,
    name: NameArgument = None,
    form: Annotated[TableForm | None, typer.Option("--as", "--format")] = None,
    item: ItemsOption = None,
    layout: TableLayout = "long",
    small: bool = False,
    field: FieldOption = None,
    function: FunctionOption = None,
) -> None:
    """Print a table as one of the papers prints it.

    It takes a study, a bundle, or a file that lists studies, which are the table's data sets. No model is
    asked.

    Options:
      name: The table; without one, all are listed.
      form: The table's format: markdown, latex, html or csv; by default Markdown, and on a terminal drawn.
      item: The id of an item that the table is about; may be repeated.
      layout: A row an answer to a question, or as the paper prints it.
      small: Of the small version.

    Examples:
      quaver table study.yaml
      quaver table study.yaml intra-stability
      quaver table tasks.yaml stability-views --as latex > views.tex
      quaver table barrie-2025.yaml intra-stability --small
      quaver table study.yaml matrix --item 12 --item 45
      quaver table study.yaml factor-levels --layout paper --as latex
      quaver table study.yaml poor-prompts --as csv > prompts.csv
    """
    from quaver.papers.catalogue import TABLES, kind_of, printed
    from quaver.papers.catalogue import table as published

    if name is not None:
        kind_of(name)  # a wrong name is said before answers are read
    stored = studies_of(study, function, small=small, field=field)
    if name is None:
        rows = [(kind.name, kind.title, kind.paper) for kind in TABLES.values()]
        screen.print(table(("table", "what it shows", "paper"), rows))
        heads = ("name", "caption", "paper")
        give(lambda: {"tables": [dict(zip(heads, row, strict=True)) for row in rows]})
        return
    items = item or ()
    tables = (
        printed(stored, name, items=items) if layout == "paper" else [published(stored, name, items=items)]
    )
    if gives():
        parts = ("name", "caption", "notes", "rows")
        cells = [
            (published.name, published.caption, published.notes, published.rows()) for published in tables
        ]
        give(lambda: {"tables": [dict(zip(parts, row, strict=True)) for row in cells]})
        return
    if form is None and screen.is_terminal:
        for printed_table in tables:
            show_published(printed_table)
        return
    text = "\n".join(published.as_(form or "markdown") for published in tables)
    say(text.replace("\r\n", "\n").rstrip("\n"))


def figure_command(
    study: StudyArgument,
    name: NameArgument = None,
    to: FileOption = None,
    width: Annotated[int, typer.Option(min=200)] = 720,
    model: list[str] | None = None,
    strategy: list[str] | None = None,
    label: Annotated[list[str] | None, typer.Option("--class")] = None,
    item: ItemsOption = None,
    columns: NumberOption = None,
    page: Annotated[int, typer.Option(min=1)] = 1,
    small: bool = False,
    field: FieldOption = None,
    function: FunctionOption = None,
) -> None:
    """Draw a figure as one of the papers draws it, from stored answers.

    It takes a study, a bundle, or a file that lists studies, which are the figure's data sets. No model is
    asked.

    Options:
      name: PAPER:NUMBER, or the number alone in a paper's own recipe; without one, all are listed.
      to: The file: .svg, .png or .pdf; by default SVG, called after it.
      width: In pixels; 360 is a column, 720 a page.
      model: A model that is drawn; all if left out. May be repeated, as the next three.
      strategy: A strategy that is drawn.
      label: A class whose items are drawn, by code or name.
      item: The id of an item that is drawn.
      columns: Panels side by side, 110 pixels each at least; as many as fit if left out.
      page: The page that is drawn; the caption says how many there are.
      small: Of the small version.

    Examples:
      quaver figure study.yaml
      quaver figure barrie-2025.yaml 2
      quaver figure study.yaml errica-2025:6 --to items.pdf --width 360
      quaver figure study.yaml errica-2025:4 --model gpt-4 --class sport --page 2
    """
    from quaver.papers.catalogue import drawn, figure_of, figures, paper_of

    if name is not None:
        own = paper_of(study)
        name = f"{own}:{name}" if own and ":" not in name else name
        figure_of(name)  # a wrong name is said before answers are read
    stored = studies_of(study, function, small=small, field=field)
    if name is None:
        rows = list(figures().items())
        screen.print(table(("figure", "what it shows"), rows))
        give(lambda: {"figures": [{"name": name, "caption": caption} for name, caption in rows]})
        return
    from quaver.papers.paper_figures import save

    path = to or Path(f"figure-{name.replace(':', '-')}{f'-{page}' if page > 1 else ''}.svg")
    chosen = {"models": model, "strategies": strategy, "classes": label, "items": item}
    some = {name: values for name, values in chosen.items() if values}
    save(drawn(stored, name, width=width, columns=columns, page=page, **some), path)
    say(f"Wrote {path}")
    give(lambda: {"file": path})


def export_command(
    study: StudyArgument,
    file: FileArgument,
    function: FunctionOption = None,
) -> None:
    """Write every call to a file, with prompt, answer and labels.

    Options:
      file: A .jsonl, .csv or .parquet file.

    Examples:
      quaver export study.yaml calls.parquet
      quaver export study.yaml calls.csv
    """
    written = open_study(study, function).export(file)
    say(f"{written:,} calls are in {file}.")
    give(lambda: {"file": file, "calls": written})


def bundle_command(
    study: StudyArgument = HERE,
    out: Path | None = None,
    without_texts: bool = False,
    with_tables: bool = False,
    function: FunctionOption = None,
) -> None:
    """Pack a study into one archive with checksums.

    It holds answers, annotations, estimates and report; of the items, the rows and columns that the study
    uses. `quaver verify` makes again what follows from the answers. Publish the digest that it prints:
    `quaver verify --digest` compares it.

    Options:
      out: The archive; by default NAME.quaver.zip beside the study's folder.
      without_texts: Leave the items' texts out of every file.
      with_tables: Pack tables of items whole, also what the study does not use of them.

    Examples:
      quaver bundle study.yaml
      quaver bundle study.yaml --without-texts --out shared.quaver.zip
    """
    from quaver.bundles.packing import pack_study

    opened = open_study(study, function)
    with phase("Packing"):
        path, digest, said = pack_study(opened, out, texts=not without_texts, tables=with_tables)
    give(lambda: {"file": path, "sha256": digest, "notes": said})
    say(f"Wrote {path}")
    for line in said:
        say(line)
    say(f"SHA-256 {digest}")


def verify_command(
    path: Annotated[Path, typer.Argument(metavar="BUNDLE")],
    digest: Annotated[str | None, typer.Option(metavar="SHA256")] = None,
    design: Annotated[str | None, typer.Option(metavar="SHA256")] = None,
) -> None:
    """Make again what follows from a bundle's answers, and compare it.

    Shows what was made again and compared, what was not, and what nobody can find out from an archive. Exits
    with 1 if anything differs, with 3 if nothing does and a part was not compared.

    Options:
      path: The bundle.
      digest: The archive's SHA-256 as the authors published it.
      design: The SHA-256 of the design as the authors published it before they had results.

    Examples:
      quaver verify study.quaver.zip
      quaver verify study.quaver.zip --digest 9a41…
      quaver verify study.quaver.zip --design 3f0c9a…
    """
    from quaver.bundles.verification import verify

    with phase("Reading the answers again, and comparing"):
        verification = verify(path, digest=digest, design=design)
    printer("verify")("bundle", verification)
    give(lambda: {"outcome": verification.outcome, **asdict(verification)})
    raise typer.Exit({"holds": 0, "differs": 1, "not fully compared": 3}[verification.outcome])


def schema_command(command: NameArgument = None) -> None:
    """Print the study file's JSON Schema, which editors read.

    Options:
      command: A command, whose --json has the schema that is printed instead.

    Examples:
      quaver schema > study.schema.json
      quaver schema check
    """
    if command is not None:
        print(json.dumps(document_schema(command), indent=2))
        return
    from quaver.design.spec.json_schema import json_schema

    print(json.dumps(json_schema(), indent=2))


_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

_SEVERAL: Final = {
    "studies": ("variants", "plan", "run", "status", "report"),
    "fields": ("accept", "paper"),
}
"""The key under which a command gives one object for each study of a list, or each field of a task."""


def document_schema(command: str) -> dict[str, Any]:
    """The JSON Schema of what a command prints with ``--json``.

    >>> document_schema("export")["properties"]["calls"]
    {'type': 'integer', 'description': 'calls in it'}
    """
    documents = _documents()
    names = {*documents} - {"part"}
    if command not in names:
        raise UnknownName("command", command, names, where="quaver schema")
    own = _object(documents[command])
    for key, commands in _SEVERAL.items():
        if command in commands:
            named = {"type": "object", "additionalProperties": own}
            own = {"anyOf": [own, {"type": "object", "properties": {key: named}, "required": [key]}]}
    return {"$schema": _DIALECT, "title": f"quaver {command} --json", **own}


@cache
def _documents() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("documents.toml").read_text(encoding="utf-8"))


def _object(keys: Mapping[str, str]) -> dict[str, Any]:
    """The schema of an object with these keys."""
    properties = {}
    for key, written in keys.items():
        kind, _, text = written.partition("  ")
        properties[key.rstrip("?")] = {**_typed(kind), "description": text}
    required = [key for key in keys if not key.endswith("?")]
    return {"type": "object", "properties": properties, "required": required}


def _typed(kind: str) -> dict[str, Any]:
    """The schema of a type."""
    if kind.endswith("?"):
        return {"anyOf": [_typed(kind[:-1]), {"type": "null"}]}
    if kind.endswith("[]"):
        return {"type": "array", "items": _typed(kind[:-2])}
    if kind in _documents()["part"]:
        return _object(_documents()["part"][kind])
    return {} if kind == "any" else {"type": kind}
