"""Quaver measures how far the labels that a language model gives to texts can be trusted.

``Study.open("study.yaml")`` is the way in; the measures work on anybody's annotations.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from quaver.errors import (
    ContextOverflow,
    ItemError,
    MeasureError,
    MissingKey,
    ModelError,
    QuaverError,
    RateLimited,
    SpecError,
    StoreError,
    Unavailable,
    UnknownName,
)

if TYPE_CHECKING:
    from quaver.measure.agreement import krippendorff_alpha
    from quaver.records import Estimate, Label, LabelSet
    from quaver.study import Study

__version__ = version("quaver")

__all__ = [
    "ContextOverflow",
    "Estimate",
    "ItemError",
    "Label",
    "LabelSet",
    "MeasureError",
    "MissingKey",
    "ModelError",
    "QuaverError",
    "RateLimited",
    "SpecError",
    "StoreError",
    "Study",
    "Unavailable",
    "UnknownName",
    "__version__",
    "krippendorff_alpha",
]

_HOMES = {
    "Estimate": "quaver.records",
    "Label": "quaver.records",
    "LabelSet": "quaver.records",
    "Study": "quaver.study",
    "krippendorff_alpha": "quaver.measure.agreement",
}
"""Where names live whose modules take a while to load: they are, when they are first used."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'quaver' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
