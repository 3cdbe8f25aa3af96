"""Dense arrays of label codes, one for each cell of the annotations, and what tells cells apart.

Every measure reads its frame here, so every measure accepts the same frames and rejects the same
mistakes, with one `MeasureError` that names the argument.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TypeAlias, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quaver.core import arguments
from quaver.core.arguments import excerpt
from quaver.core.records import NO_LABEL, LabelSet
from quaver.errors import MeasureError
from quaver.estimation.arrangement import Arrangement, ColumnReader, Columns, split
from quaver.estimation.encoding import Codes, Ints, smallest
from quaver.estimation.gathered import Gathered
from quaver.estimation.statistic import Cell

if TYPE_CHECKING:
    import pandas as pd

    from quaver.estimation.gathered import Gathered

Missing = Literal["drop", "category", "wrong"]
"""What an answer without a label counts as: it is left out, it is one more label, or (for
measures of correctness) it is a wrong answer."""


def checked(missing: Missing, known: Sequence[Missing]) -> Missing:
    """What an answer without a label counts as, where a measure knows that treatment."""
    if missing not in known:
        raise MeasureError(
            "unknown treatment", where="missing", expected=" or ".join(known), found=repr(missing)
        )
    return missing


def cells(
    annotations: Any,
    *,
    raters: Sequence[str],
    within: Sequence[str] = (),
    by: Sequence[str] = (),
    labels: LabelSet | None = None,
    columns: Columns | None = None,
    group: str | None = None,
    missing: Missing = "drop",
    gold: bool = False,
) -> list[Cell]:
    """Arrange annotations as items × strata × raters, a cell at a time.

    Returns:
        The cells in the order of their values; one, with an empty ``where``, where ``by`` is empty.
    """
    gathered, by = Gathered.of(annotations), names_of(by)
    _check_kind("labels", labels, LabelSet, "a label set")
    checked(missing, ("drop", "category"))
    _check_kind("columns", columns, Mapping, "the frame's columns by role: {'label': 'code'}")
    reader = ColumnReader(gathered, dict(columns or {}))
    if "evaluator" not in raters:
        reader.one_evaluator(by)
    apart, layers = reader.beside(by, raters), reader.beside(by, within)
    roles = tuple(reader.of(role) for role in ("item", "label", "gold", "status"))
    key = (by, apart, layers, roles, labels, missing, group, gold)

    def cut() -> list[Cell]:
        reader.items()
        parts = reader.by(by)
        columns_of = _arrangement(reader, labels, missing, group, gold, layers, apart)
        rows = gathered.kept(("rows", by), lambda: split(parts.codes, len(parts.values)))
        if not by and not rows:
            return [columns_of.cell({}, np.zeros(0, np.int32))]
        return [columns_of.cell(dict(parts.values[index]), some) for index, some in rows]

    return gathered.cells(key, cut)


def _arrangement(
    reader: ColumnReader,
    labels: LabelSet | None,
    missing: Missing,
    group: str | None,
    gold: bool,
    layers: tuple[str, ...],
    apart: tuple[str, ...],
) -> Arrangement:
    """What the cells are cut out of."""
    items = reader.items()
    names, label, truth = reader.labels(labels, gold)
    status = reader.status(labels, gold)
    if missing == "category":
        if NO_LABEL in names:
            raise MeasureError(
                f"a label called {NO_LABEL!r}, which is what answers without a label are called",
                where="annotations['label']",
                expected="another name for it, where missing='category'",
                found=NO_LABEL,
            )
        kind = smallest(len(names) + 1)
        names, label = (*names, NO_LABEL), np.where(label < 0, kind(len(names)), label).astype(kind)
    return Arrangement(
        items=items,
        names=reader.gathered.kept(
            ("names", reader.of("item")), lambda: tuple(" | ".join(value.values()) for value in items.values)
        ),
        strata=reader.gathered.together(*layers),
        raters=reader.gathered.together(*apart),
        label=label,
        labels=names,
        status=status,
        gold=None
        if truth is None
        else reader.gathered.kept(
            ("gold", reader.of("item"), reader.of("gold"), labels), lambda: _per_item(items, truth, "gold")
        ),
        clusters=_clusters(reader, items, group),
        unit=group or "item",
    )


def _clusters(reader: ColumnReader, items: Codes, group: str | None) -> Ints | None:
    """Each item's group."""
    _check_kind("group", group, str, "the name of a column")
    if group is None:
        return None
    reader.column(group, "group")
    return _per_item(items, reader.gathered.encoded(group).codes, f"group {group!r}")


def _check_kind(where: str, given: object, kind: type, expected: str) -> None:
    if given is not None and not isinstance(given, kind):
        raise MeasureError("the wrong kind of value", where=where, expected=expected, found=excerpt(given))


def names_of(names: Sequence[str]) -> tuple[str, ...]:
    """The columns that make the cells, from a list of them or the name of one."""
    result = names if isinstance(names, list | tuple | set | frozenset | dict) else (names,)
    if strange := [name for name in result if not isinstance(name, str)]:
        raise MeasureError(
            "not a column's name", where="by", expected="names of columns", found=excerpt(strange[0])
        )
    result = tuple(result)
    if len(set(result)) < len(result):
        raise MeasureError("a column is named twice", where="by", found=", ".join(result))
    return result


def _per_item(items: Codes, codes: NDArray[Any], what: str) -> Ints:
    """One code an item, from one a row; -1 for an item that has none."""
    result = np.full(len(items.values), -1, np.int64)
    known = codes >= 0
    result[items.codes[known]] = codes[known]
    clash = known & (result[items.codes] != codes)
    if clash.any():
        item = items.values[int(items.codes[int(np.argmax(clash))])]
        raise MeasureError(
            f"an item with two values of {what}",
            where="annotations",
            expected="one value in all rows of an item",
            found=f"item {' | '.join(item.values())}",
        )
    return result


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

    def __reduce__(self) -> str:
        """Another process finds it where it stands, as it finds functions."""
        return self.name

    def __repr__(self) -> str:
        """Its name and arguments."""
        return f"<{self.kind} {self.name}{self.__signature__}>"


def _signed(
    function: Callable[..., Any],
    shared: Callable[..., Any],
    missing: Sequence[str],
    defaults: Mapping[str, Any],
) -> tuple[Mapping[str, inspect.Parameter], inspect.Signature]:
    """A function's own parameters, and the signature of the measure that it makes."""
    first, *rest = _resolved(function).parameters.values()
    own = {parameter.name: parameter for parameter in rest}
    if first.kind is first.KEYWORD_ONLY or any(
        parameter.kind is not parameter.KEYWORD_ONLY for parameter in rest
    ):
        raise TypeError(f"{function.__qualname__}: its own options are keyword-only")
    common = {
        name: parameter
        for name, parameter in _resolved(shared).parameters.items()
        if name not in ("self", "options")
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
    given = [parameter for parameter in common.values() if parameter.kind is not parameter.KEYWORD_ONLY]
    named = [parameter for parameter in common.values() if parameter.kind is parameter.KEYWORD_ONLY]
    parameters = [*given, *shown.values(), *named]
    return own, inspect.Signature(parameters, return_annotation=_resolved(shared).return_annotation)


def _resolved(function: Callable[..., Any]) -> inspect.Signature:
    """A signature with types, not their names; with the names where one is there for type checkers only."""
    try:
        return inspect.signature(function, eval_str=True)
    except NameError:
        return inspect.signature(function)


def _documented(own: str, shared: str, missing: Sequence[str], source: str) -> str:
    """A measure's docstring: its function's, with the source, all arguments, and what it gives and raises."""
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
    titled = [index for index, block in enumerate(blocks) if _SECTION.match(block.partition("\n")[0])]
    tried = [index for index, block in enumerate(blocks) if block.lstrip().startswith(">>>")]
    first = min(tried, default=len(blocks))
    if first and not titled and blocks[first - 1].endswith(":"):
        first -= 1
    sections = {}
    for block in (blocks[index] for index in titled):
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
