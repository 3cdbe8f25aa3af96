"""Options of the commands that read a file of labels."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer


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


def separator_of(option: str | None) -> str | None:
    """The separator that an option names; a shell passes a tab as two characters."""
    return "\t" if option == r"\t" else option
