"""Checks that an engine's extra is installed, and that what came with it fits."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

from quaver.errors import Unavailable

_PICTURES_AND_SOUND = ("torchvision", "torchaudio", "torchcodec")
"""Libraries that are built for one PyTorch each, and that language models do without."""


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


def unfit_library(error: BaseException) -> str | None:
    """What to do about an error that comes from a library for pictures or sound, built for another PyTorch.

    Args:
        error: What was raised; the library may be named by what it was raised from.
    """
    said = " ".join(str(one) for one in _causes(error))
    if any(library in said for library in _PICTURES_AND_SOUND):
        return f"pip uninstall {' '.join(_PICTURES_AND_SOUND)}; they were built for another PyTorch"
    return None


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
