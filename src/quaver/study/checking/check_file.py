"""The study file that a check leaves behind: commented, to be edited and run like any other."""

from __future__ import annotations

import hashlib
import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from quaver.core.replaced_file import writing
from quaver.design.items.item_data import column_template
from quaver.design.prompt_words import postfix_for_labels
from quaver.design.spec.json_schema import MODELINE, write_with_schema
from quaver.errors import QuaverError
from quaver.report.page_templates import template
from quaver.study.checking.text_table import TextTable
from quaver.study.imports.import_options import written_in

_JOINS = {"number": "max", "set": "any"}
_SEAL = "# Unchanged since `quaver check` wrote it: "


def study_text(path: Path, source: Path, table: TextTable, design: Mapping[str, Any]) -> str:
    """A commented study file for a table of texts.

    Args:
        path: Where it will be.
        source: The table.
        table: What the table holds.
        design: What is asked (`check_design.prepared_check`).
    """
    defined = {label: meaning for label in table.labels if (meaning := design["definitions"].get(label))}
    labels = [
        {"code": label, "definition": defined[label]} if label in defined else label for label in table.labels
    ]
    model, options = design["model"], design["options"]
    gold: dict[str, Any] = {}
    if table.gold or table.coders:
        gold = {"column": table.gold} if table.gold else {"coders": "majority"}
        more = {"drawn": options["hand_labels"], "map": table.also}
        gold |= {name: value for name, value in more.items() if value}
    text = template("check_study.txt").render(
        study=_one_line(shlex.quote(path.parent.name)),
        file=_one_line(source.name),
        function=shlex.quote(model["name"])
        if isinstance(model, Mapping) and model["use"] == "function"
        else None,
        table=table,
        design=design,
        options=options,
        labels=labels,
        source=_relative(source, path.parent),
        written=written_in(options),
        text="\n\n".join(map(column_template, filter(None, (table.title, table.text)))),
        joins={one.name: _JOINS.get(one.kind, "majority") for one in table.fields},
        gold=gold,
        defined=defined,
        postfix=postfix_for_labels(design["language"], defined=True),
        classes=[field.name for field in table.fields if field.kind != "number"],
        line=_one_line,
    )
    return f"{text}\n"


def write_check_file(path: Path, text: str, *, replaces: bool = True) -> None:
    """Write a check's study file, unless that would undo somebody's edits, or replace another check."""
    if path.exists():
        there = path.read_text(encoding="utf-8", errors="replace")
        if there == MODELINE + text:
            return
        if there != MODELINE + sealed(there.removeprefix(MODELINE).partition(f"\n{_SEAL}")[0]):
            raise QuaverError(
                "this study file was edited, and the check would overwrite it",
                where=str(path),
                fix=f"`quaver run {shlex.quote(str(path.parent))}` continues from it; "
                "--to FOLDER starts another check",
            )
        if not replaces and _asked(there) != _asked(MODELINE + text):
            raise QuaverError(
                "there is a check of these texts, and these options ask for another one",
                where=str(path.parent),
                fix="leave out the options of a check to continue it; --to FOLDER starts another check",
            )
    with writing(path.parent):
        write_with_schema(path, text)


def _asked(text: str) -> list[str]:
    """The lines of a check's study file that say what is asked: all but its budget and its seal."""
    return [line for line in text.splitlines() if not line.startswith(("budget:", _SEAL)) and line]


def sealed(text: str) -> str:
    """A study file's text with a line that tells whether it was edited since."""
    digest = hashlib.sha256(text.strip().encode()).hexdigest()[:16]
    return f"{text.rstrip()}\n{_SEAL}{digest}\n"


def _relative(source: Path, home: Path) -> str:
    try:
        return Path(os.path.relpath(source.resolve(), home.resolve())).as_posix()
    except ValueError:  # on another drive
        return source.resolve().as_posix()


def _one_line(text: str) -> str:
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in " ".join(text.split()))
