"""A measure's signature and documentation, put together from its function's and the shared arguments'."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

__all__ = ["documented", "signed"]

_TREATMENTS = {
    "drop": "it is left out",
    "category": "it is one more label",
    "wrong": "it is wrong",
}
_SECTION = re.compile(r"(Args|Returns|Raises):$")
_ENTRY = re.compile(r"    (\*{0,2}\w+):")


def signed(
    function: Callable[..., Any],
    shared: Callable[..., Any],
    missing: Sequence[str],
    defaults: Mapping[str, Any],
) -> tuple[Mapping[str, inspect.Parameter], inspect.Signature]:
    """A function's own parameters, and the signature of the measure that it makes.

    Args:
        function: A measure's arithmetic.
        shared: The method that has the arguments of all measures.
        missing: The treatments of answers without a label.
        defaults: The measure's own defaults of shared arguments.

    Raises:
        TypeError: The function is not one of a cell or a reading and of options by name.
    """
    first, *rest = _resolved(function).parameters.values()
    own = {one.name: one for one in rest}
    if first.kind is first.KEYWORD_ONLY or any(one.kind is not one.KEYWORD_ONLY for one in rest):
        raise TypeError(f"{function.__qualname__}: a measure's options are keyword-only")
    common = {
        name: one for name, one in _resolved(shared).parameters.items() if name not in ("self", "options")
    }
    if taken := sorted(own.keys() & common.keys()):
        raise TypeError(f"{function.__qualname__}: {', '.join(taken)} belongs to all measures")
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
    annotations = common.pop("annotations")
    parameters = [annotations, *shown.values(), *common.values()]
    return own, inspect.Signature(parameters, return_annotation=_resolved(shared).return_annotation)


def _resolved(function: Callable[..., Any]) -> inspect.Signature:
    """A signature with types, not their names; with the names where one is there for type checkers only."""
    try:
        return inspect.signature(function, eval_str=True)
    except NameError:
        return inspect.signature(function)


def documented(own: str, shared: str, missing: Sequence[str], source: str) -> str:
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
    if missing and "missing" not in described:
        told = "; ".join(f'``"{one}"``: {_TREATMENTS[one]}' for one in missing)
        described["missing"] = f"    missing: What becomes of an answer without a label. {told}."
    shown = {
        "Args": {"annotations": arguments["annotations"], **described, **arguments, **described},
        "Returns": sections.get("Returns", common["Returns"]),
        "Raises": common["Raises"] | sections.get("Raises", {}),
    }
    del shown["Args"]["**options"]
    lines = [text, f"Source: {source or 'the definition'}."]
    lines += ["\n".join([f"{title}:", *entries.values()]) for title, entries in shown.items()]
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
