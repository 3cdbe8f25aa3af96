"""The measures, by name: ``quaver.measures.inter_pss``, ``from quaver.measures import accuracy``.

Each registered measure is here, a plug-in's too, and is loaded when it is first used. ``help`` of one shows
its formula and all its arguments; type checkers read these from ``__init__.pyi``, which
``python -m quaver.measures._stub`` writes. How a measure is made: `quaver.estimation.declaration`.
"""

from __future__ import annotations

from typing import Any

from quaver.core import registry


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return registry.names("measures")
    if name not in registry.names("measures"):
        raise AttributeError(f"module {__name__!r} has no measure {name!r}")
    found = registry.load("measures", name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return registry.names("measures")
