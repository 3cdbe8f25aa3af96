"""Options of the commands that read a file of labels, and lists such as ``a,b,c`` in them."""

from __future__ import annotations

import csv
import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import typer

from quaver.core.options import options_in
from quaver.core.records import Level
from quaver.errors import QuaverError

LevelOption = Annotated[
    Level,
    typer.Option(help="Level of measurement; jaccard or masi for cells such as a;b."),
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


def _check_above(flag: str, value: Any, least: float | None) -> None:
    """Refuse a number at or below a bound, which the command line's own parser does not know."""
    if least is not None and value is not None and value <= least:
        raise QuaverError(
            "this option does not fit", where=flag, expected=f"more than {least:g}", found=f"{value:g}"
        )


def with_options(record: type) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Makes a command take the options of a record (`core.options`) beside its own.

    A list is given as ``a,b,c``, or by an option that is repeated.
    """
    options = options_in(record)
    lists = [
        name
        for name, (kind, _) in options.items()
        if any(get_origin(one) is Sequence for one in (kind, *get_args(kind)))
    ]

    def decorated(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def run(**given: Any) -> None:
            for name in lists:
                some = [part for text in given[name] or () for part in parts(text, f"--{name}")]
                given[name] = some or options[name][1].default
            for name, (_, option) in options.items():
                _check_above(f"--{name.replace('_', '-')}", given[name], option.above)
            command(**given)

        own = inspect.signature(command, eval_str=True).parameters.values()
        parameters = [
            parameter.replace(kind=parameter.KEYWORD_ONLY)
            for parameter in own
            if parameter.kind is parameter.POSITIONAL_OR_KEYWORD
        ]
        for name, (kind, option) in options.items():
            choice = any(get_origin(one) is Literal for one in get_args(kind))  # which the function checks
            text = kind is Any or choice
            shown = str | None if text else Path | None if Path in get_args(kind) else kind
            if name in lists:
                shown = list[str] | None
            sign = "a,b,c" if name in lists else None
            asked = typer.Option(
                *option.flags, help=option.help, min=option.least, max=option.most, metavar=sign
            )
            default = None if name in lists else option.default
            hint = Annotated[shown, asked]  # type: ignore[valid-type]
            parameters.append(Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=hint))
        parameters += [parameter for parameter in own if parameter.kind is parameter.KEYWORD_ONLY]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return run

    return decorated
