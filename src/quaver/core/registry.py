"""Plug-ins by name, found through entry points and loaded when they are first used.

A plug-in is one object (a class or a function) that an installed package names in its metadata::

    [project.entry-points."quaver.evaluators"]
    shouting = "my_package:Shouting"

Quaver's own plug-ins are named the same way in its ``pyproject.toml``: to add one, write its file and add its
line there. Each kind has its protocol:

=================== ==============================================
group               protocol
=================== ==============================================
quaver.items        ``quaver.design.items.item_table.ItemSource``
quaver.variants     ``quaver.design.variants.rewordings.VariantFamily``
quaver.paraphrasers ``quaver.design.paraphrase.paraphraser.Paraphraser``
quaver.models       ``quaver.core.model.Model``
quaver.follow_ups   ``quaver.design.prompts.follow_ups.FollowUp``
quaver.evaluators   ``quaver.score.parsing.evaluator.Evaluator``
quaver.measures     ``quaver.estimation.declaration.Measure``
quaver.charts       a function that yields `quaver.report.charts.chart.Figure`
=================== ==============================================
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal

from quaver.errors import QuaverError, UnknownName

Kind = Literal[
    "items", "variants", "paraphrasers", "follow_ups", "models", "evaluators", "measures", "charts"
]


@cache
def _entries(kind: Kind) -> dict[str, EntryPoint]:
    result: dict[str, EntryPoint] = {}
    for entry in entry_points(group=f"quaver.{kind}"):
        other = result.setdefault(entry.name, entry)
        if other.value != entry.value:
            raise QuaverError(
                f"two packages register {entry.name!r} among the {kind}",
                found=f"{_package(other)} and {_package(entry)}",
                fix="uninstall one of them",
            )
    return result


def _package(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist else entry.value


def _one_of(kind: Kind) -> str:
    return kind.rstrip("s").replace("_", "-")


def names(kind: Kind) -> list[str]:
    """The registered names of a kind, sorted, without loading anything."""
    return sorted(_entries(kind))


def load(kind: Kind, name: str, *, where: str | None = None) -> Any:
    """Load the implementation registered under a name.

    Args:
        kind: The plug-in's kind, one of the groups in this module's table.
        name: The registered name.
        where: Where the name is used, for the error.

    Raises:
        UnknownName: Nothing of that kind has that name.
        QuaverError: It is registered but cannot be imported.
    """
    entries = _entries(kind)
    if name not in entries:
        raise UnknownName(_one_of(kind), name, entries, where=where)
    entry = entries[name]
    try:
        return entry.load()
    except Exception as error:  # whatever another package's import raises
        raise QuaverError(
            f"the {_one_of(kind)} {name!r} of {_package(entry)} cannot be loaded",
            where=where,
            found=f"{type(error).__name__}: {error}",
            fix=f"install what it needs, or fix the entry point {entry.value!r}",
        ) from error


def lazy_names(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """The package's ``__getattr__``.

    Args:
        package: The package's ``__name__``.
        homes: The module of each name; a module's own name stands for the module itself.
    """

    def found(name: str) -> Any:
        home = homes.get(name)
        if home is None:
            raise AttributeError(
                f"module {package!r} has no attribute {name!r}", name=name, obj=sys.modules[package]
            )
        module = import_module(home)
        value = module if home == f"{package}.{name}" else getattr(module, name)
        setattr(sys.modules[package], name, value)
        return value

    return found
