"""The measures' signatures for type checkers: ``python -m quaver.measures._stub`` writes ``__init__.pyi``."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin

from quaver import measures
from quaver.core import registry
from quaver.estimation.declaration import Measure
from quaver.measures import FUNCTIONS

PATH = Path(__file__).with_name("__init__.pyi")

_QUALIFIED = re.compile(r"\b((?:[a-z_]\w*\.)+)([A-Z]\w*)")
_HEAD = (
    '"""The measures with their arguments. Written by ``python -m quaver.measures._stub``: do not edit."""'
)
_REST = "def __getattr__(name: str) -> Measure: ...  # of other packages"


def stub() -> str:
    """The text of ``__init__.pyi``: each of Quaver's own measures, and the functions beside them."""
    found = [registry.load("measures", name) for name in registry.names("measures")]
    found += [getattr(measures, name) for name in sorted(FUNCTIONS)]
    own = [
        measure
        for measure in found
        if isinstance(measure, Measure) and measure.__module__.startswith("quaver.")
    ]
    needed = {("quaver.estimation.declaration", "Measure")}
    functions = [_function(measure, needed) for measure in own]
    others = {
        name: module for name, module in FUNCTIONS.items() if name not in {measure.name for measure in own}
    }
    head = [_HEAD, "", *_imports(needed, others), "", "FUNCTIONS: dict[str, str]", ""]
    text = "\n".join([*head, *functions, _REST, ""])
    return text.replace("'", '"')


def _export(module: str, name: str) -> str:
    line = f"from {module} import {name} as {name}"
    return line if len(line) <= 110 else f"from {module} import (\n    {name} as {name},\n)"


def _function(measure: Measure, needed: set[tuple[str, str]]) -> str:
    """A measure as a function without a body; what its types need is added to ``needed``."""
    shared = inspect.signature(Measure.__call__).parameters
    needed |= _SHARED_TYPES
    lines = [f"def {measure.name}("]
    for name, parameter in measure.__signature__.parameters.items():
        kind = shared[name].annotation if name in shared else _named(parameter.annotation)
        needed |= {(match[1].rstrip("."), match[2]) for match in _QUALIFIED.finditer(kind)}
        default = "" if parameter.default is parameter.empty else f" = {parameter.default!r}"
        lines.append(f"    {name}: {_QUALIFIED.sub(_bare, kind)}{default},")
        lines += ["    *,"] * (name == "annotations")
    return "\n".join([*lines, ") -> Estimates: ..."])


def _bare(match: re.Match[str]) -> str:
    return match[2]


_SHARED_TYPES = {
    ("collections.abc", "Collection"),
    ("collections.abc", "Sequence"),
    ("typing", "Literal"),
    ("quaver.core.records", "Estimand"),
    ("quaver.core.rows", "Estimates"),
    ("quaver.core.records", "LabelSet"),
    ("quaver.estimation.arrangement", "Columns"),
    ("quaver.estimation.cells", "Frame"),
    ("quaver.estimation.statistic", "Keep"),
}
"""Of the arguments that all measures share, which stand in the stub as they stand in the code."""


def _named(annotation: Any) -> str:
    """A type with the modules of its names."""
    if get_origin(annotation) in (Union, UnionType):
        return " | ".join(_named(one) for one in get_args(annotation))
    if annotation is type(None):
        return "None"
    if annotation is Any:
        return "typing.Any"
    return inspect.formatannotation(annotation).replace("Literal[", "typing.Literal[")


def _imports(needed: Iterable[tuple[str, str]], functions: Mapping[str, str]) -> Iterator[str]:
    """Import lines, the standard library's first; the functions beside the measures are exported again."""
    modules: dict[str, list[str]] = {}
    for module, name in sorted(needed):
        modules.setdefault(module, []).append(name)
    lines = [(module, f"from {module} import {', '.join(names)}") for module, names in modules.items()]
    lines += [(module, _export(module, name)) for name, module in sorted(functions.items())]
    for own in (False, True):
        yield from (line for module, line in sorted(lines) if module.startswith("quaver") == own)
        yield from () if own else ("",)


if __name__ == "__main__":
    PATH.write_text(stub(), encoding="utf-8")
