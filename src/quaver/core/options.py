"""Options that a command and a Python function share: a typed dictionary declares each of them once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, get_args, get_type_hints


class Option(NamedTuple):
    """What is declared of an option beside its type: ``n: Annotated[int, Option("…", 50, least=1)]``."""

    help: str
    default: Any = None
    least: float | None = None
    above: float | None = None
    most: float | None = None
    flags: tuple[str, ...] = ()


def options_in(record: type) -> dict[str, tuple[Any, Option]]:
    """Each option of a record by name: its type, and what is declared of it."""
    return {name: get_args(hint) for name, hint in get_type_hints(record, include_extras=True).items()}


def with_defaults(record: type, given: Mapping[str, Any]) -> Any:
    """All options of a record: those that are given, and the defaults of the others."""
    return {name: option.default for name, (_, option) in options_in(record).items()} | dict(given)
