"""Options of the commands that read a file of labels, and lists such as ``a,b,c`` in them."""

from __future__ import annotations

import csv
from enum import StrEnum
from typing import Annotated

import typer

from quaver.errors import QuaverError


class Level(StrEnum):
    """Level of measurement."""

    nominal = "nominal"
    ordinal = "ordinal"
    interval = "interval"
    ratio = "ratio"


LevelOption = Annotated[Level, typer.Option(help="Level of measurement.")]
UnlabelledOption = Annotated[
    list[str] | None, typer.Option(help="A cell that means “no label”, such as N/A. May be repeated.")
]
EncodingOption = Annotated[str, typer.Option(help="Encoding of a text file.")]
SeparatorOption = Annotated[
    str | None, typer.Option(help=r"What separates the cells, if it is not a comma: ';', '\t'.")
]
SheetOption = Annotated[
    str | None, typer.Option(help="The sheet of a spreadsheet, where several hold something.")
]


def separator_of(option: str | None) -> str | None:
    """The separator that an option names; a shell passes a tab as two characters."""
    return "\t" if option == r"\t" else option


def parts(text: str | None, option: str) -> tuple[str, ...]:
    """The parts of an option's value; one that holds a comma stands in double quotes.

    >>> parts('left, "right, far"', "--labels")
    ('left', 'right, far')
    """
    if text is None:
        return ()
    try:
        found = next(csv.reader([text], skipinitialspace=True, strict=True), [])
    except csv.Error:
        found = [""]
    found = [part.strip() for part in found]
    if not found or not all(found):
        raise QuaverError(
            "this is not a list",
            where=option,
            expected='names with commas between them; one that holds a comma in double quotes: a,"b, c"',
            found=text,
        )
    return tuple(found)
