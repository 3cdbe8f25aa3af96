"""Checks that an engine's extra is installed."""

from __future__ import annotations

from importlib.util import find_spec

from quaver.errors import Unavailable


def require(extra: str, *modules: str) -> None:
    """Refuse an engine whose library is not installed, before anything is loaded.

    Args:
        extra: The extra of ``quaver`` that installs it.
        *modules: The modules that it needs.

    Raises:
        Unavailable: A module is missing.
    """
    missing = [module for module in modules if find_spec(module) is None]
    if missing:
        raise Unavailable(
            f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not installed",
            expected=f"the extra {extra!r}",
            fix=f'pip install "quaver[{extra}]"',
        )
