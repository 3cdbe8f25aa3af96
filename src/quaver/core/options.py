"""Options that a command and a Python function share: a typed dictionary declares each of them once."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from inspect import cleandoc
from types import NoneType
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints


class Option(NamedTuple):
    """What is declared of an option beside its type: ``n: Annotated[int, Option(50, least=1)]``.

    Most need none: left out, an option is None, no list, or false, as its type has it. What a command says of
    it is the first sentence that the record's docstring has on it.
    """

    default: Any = None
    least: float | None = None
    above: float | None = None
    most: float | None = None
    flags: tuple[str, ...] = ()
    help: str = ""


@cache
def options_in(record: type) -> dict[str, tuple[Any, Option]]:
    """Each option of a record by name: its type, and what is declared of it."""
    about, options = _about(record), dict[str, tuple[Any, Option]]()
    for name, hint in get_type_hints(record, include_extras=True).items():
        kind, option = get_args(hint) if get_origin(hint) is Annotated else (hint, Option())
        default = _left_out(kind) if option.default is None else option.default
        options[name] = kind, option._replace(default=default, help=about.get(name, ""))
    return options


def _left_out(kind: Any) -> Any:
    """What an option is that is left out."""
    kinds = get_args(kind) or (kind,)
    is_list = NoneType not in kinds and Sequence in (get_origin(kind), *map(get_origin, kinds))
    return () if is_list else False if kind is bool else None


_ATTRIBUTE = re.compile(r"^    (\w+): (.*(?:\n {5,}.*)*)", re.MULTILINE)


def _about(record: type) -> dict[str, str]:
    """The first sentence on each option in the docstrings of a record and of those that it extends."""
    helps: dict[str, str] = {}
    for base in getattr(record, "__orig_bases__", ()):
        helps |= _about(base)
    for name, text in _ATTRIBUTE.findall(cleandoc(record.__doc__ or "").partition("Attributes:\n")[2]):
        helps[name] = re.split(r"(?<=\.) ", " ".join(text.replace("`", "").split()))[0]
    return helps


def with_defaults(record: type, given: Mapping[str, Any]) -> Any:
    """All options of a record: those that are given, and the defaults of the others."""
    return {name: option.default for name, (_, option) in options_in(record).items()} | dict(given)
