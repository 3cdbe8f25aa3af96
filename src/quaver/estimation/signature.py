"""A measure's signature and documentation: its function's, and the arguments that all measures share."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TypeAlias, TypeVar

import polars as pl

from quaver.core import arguments
from quaver.errors import MeasureError

if TYPE_CHECKING:
    import pandas as pd

    from quaver.estimation.gathered import Gathered

_TREATMENTS = {
    "drop": "it is left out",
    "category": "it is one more label",
    "wrong": "it is wrong",
}
_SECTION = re.compile(r"(Args|Returns|Raises|Warns):$")
_ENTRY = re.compile(r"    (\*{0,2}\w+):")


class Declared:
    """A function whose signature and documentation have the arguments of its kind beside its own.

    Args:
        function: The arithmetic, of one argument and of options by name.
        shared: The method with the arguments of all of the kind.
        missing: The treatments of answers without a label, if it has that option beside the shared ones.
        source: Where it is defined.
        defaults: Defaults of shared arguments that are other than the method's.

    Attributes:
        kind: What it is.
        name: Its name, which is its function's.
        function: Its arithmetic.
        source: Where it is defined.
        own: The function's own options.
    """

    kind = "declared function"

    def __init__(
        self,
        function: Callable[..., Any],
        shared: Callable[..., Any],
        missing: Sequence[str],
        source: str,
        defaults: Mapping[str, Any] | None = None,
    ) -> None:
        self.name, self.function, self.source = function.__name__, function, source
        self.own, self.__signature__ = _signed(function, shared, missing, defaults or {})
        self.__name__, self.__qualname__, self.__module__ = self.name, self.name, function.__module__
        self.__wrapped__ = function
        self.__doc__ = _documented(function.__doc__ or "", shared.__doc__ or "", missing, source)

    def __get__(self, instance: object, owner: type | None = None) -> Self:
        """It is documented as functions are (``inspect.isroutine``), and binds nothing."""
        return self

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str, str]]:
        """Another process finds it where it stands, as it finds functions."""
        return _found_again, (self.__module__, self.name)

    def __repr__(self) -> str:
        """Its name and arguments."""
        return f"<{self.kind} {self.name}{self.__signature__}>"


def _found_again(module: str, name: str) -> Any:
    return getattr(import_module(module), name)


def _signed(
    function: Callable[..., Any],
    shared: Callable[..., Any],
    missing: Sequence[str],
    defaults: Mapping[str, Any],
) -> tuple[Mapping[str, inspect.Parameter], inspect.Signature]:
    """A function's own parameters, and the signature of the measure that it makes.

    Raises:
        TypeError: The function is not one of a cell or a reading and of options by name.
    """
    first, *rest = _resolved(function).parameters.values()
    own = {one.name: one for one in rest}
    if first.kind is first.KEYWORD_ONLY or any(one.kind is not one.KEYWORD_ONLY for one in rest):
        raise TypeError(f"{function.__qualname__}: its own options are keyword-only")
    common = {
        name: one for name, one in _resolved(shared).parameters.items() if name not in ("self", "options")
    }
    if taken := sorted(own.keys() & common.keys()):
        raise TypeError(f"{function.__qualname__}: {', '.join(taken)} belongs to all of its kind")
    if ("missing" in own) > bool(missing):
        raise TypeError(f"{function.__qualname__}: declare what missing can be")
    shown = dict(own)
    if missing:
        default = own["missing"].default if "missing" in own else inspect.Parameter.empty
        default = missing[0] if default is inspect.Parameter.empty else default
        kind: Any = Literal[tuple(missing)]
        kind = kind if default is not None else kind | None
        shown["missing"] = inspect.Parameter(
            "missing", inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind
        )
    common |= {name: common[name].replace(default=default) for name, default in defaults.items()}
    given = [one for one in common.values() if one.kind is not one.KEYWORD_ONLY]
    named = [one for one in common.values() if one.kind is one.KEYWORD_ONLY]
    parameters = [*given, *shown.values(), *named]
    return own, inspect.Signature(parameters, return_annotation=_resolved(shared).return_annotation)


def _resolved(function: Callable[..., Any]) -> inspect.Signature:
    """A signature with types, not their names; with the names where one is there for type checkers only."""
    try:
        return inspect.signature(function, eval_str=True)
    except NameError:
        return inspect.signature(function)


def _documented(own: str, shared: str, missing: Sequence[str], source: str) -> str:
    """A measure's docstring: its function's, with the source, all arguments, and what it gives and raises.

    Args:
        own: The function's docstring.
        shared: That of the method with the arguments of all measures.
        missing: The treatments of answers without a label.
        source: Where the measure is defined.
    """
    text, sections, example = _parts(own)
    _, common, _ = _parts(shared)
    described, arguments = sections.get("Args", {}), common["Args"]
    first = next(iter(arguments))
    if missing and "missing" not in described:
        treatments = "; ".join(f'``"{one}"``: {_TREATMENTS[one]}' for one in missing)
        described["missing"] = f"    missing: What becomes of an answer without a label. {treatments}."
    shown = {
        "Args": {first: arguments[first], **described, **arguments, **described},
        "Returns": sections.get("Returns", common["Returns"]),
        "Raises": common["Raises"] | sections.get("Raises", {}),
        "Warns": sections.get("Warns", {}),
    }
    del shown["Args"]["**options"]
    lines = [text, f"Source: {source or 'the definition'}."]
    lines += ["\n".join([f"{title}:", *entries.values()]) for title, entries in shown.items() if entries]
    return "\n\n".join(part for part in [*lines, example] if part) + "\n"


def _parts(docstring: str) -> tuple[str, dict[str, dict[str, str]], str]:
    """A docstring's text, the entries of its sections by name, and its example with what leads up to it."""
    blocks = inspect.cleandoc(docstring).split("\n\n")
    titled = [at for at, block in enumerate(blocks) if _SECTION.match(block.partition("\n")[0])]
    tried = [at for at, block in enumerate(blocks) if block.lstrip().startswith(">>>")]
    first = min(tried, default=len(blocks))
    if first and not titled and blocks[first - 1].endswith(":"):
        first -= 1
    sections = {}
    for block in (blocks[at] for at in titled):
        title, _, body = block.partition(":\n")
        sections[title] = _entries(body)
    end = titled[-1] + 1 if titled else first
    return "\n\n".join(blocks[: titled[0] if titled else first]), sections, "\n\n".join(blocks[end:])


def _entries(body: str) -> dict[str, str]:
    """A section's entries, each with its indented lines."""
    entries: dict[str, str] = {}
    name = ""
    for line in body.splitlines():
        if match := _ENTRY.match(line):
            name = match[1]
        entries[name] = f"{entries[name]}\n{line}" if name in entries else line
    return entries


Frame: TypeAlias = "pl.DataFrame | pl.LazyFrame | pd.DataFrame | Gathered"

OUTPUT: Final = "output"
"""The column of the answers as they were written, for measures that read them."""

_F = TypeVar("_F", bound=Callable[..., Any])


def guarded(function: _F) -> _F:
    """Have a function refuse an argument that does not fit its signature with a `MeasureError`."""
    return arguments.guarded(function, MeasureError, "{1}")
