"""Ways to vary a prompt, one a file; each is a factor, and the factors are crossed in full."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any, Protocol

from quaver.errors import SpecError
from quaver.records import Item, LabelSet, Variant

__all__ = ["ORIGINAL", "Ground", "LevelOfFactor", "VariantFamily", "cross"]

ORIGINAL = "original"
"""The level that leaves the study file's own prompt as it is."""


@dataclass(frozen=True, slots=True)
class LevelOfFactor:
    """One level of a factor.

    Attributes:
        name: Its name, unique within the factor.
        edit: What it does to the prompt; pure.
        origin: Where it came from, for the lock file and the report.
    """

    name: str
    edit: Callable[[Variant], Variant]
    origin: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ground:
    """What a family makes its levels from.

    Attributes:
        prompt: The study file's own prompt, before any family's edit.
        labels: The task's label set.
        seed: For whatever the family draws.
        spare: The source's items outside the sample, from which examples may be taken.
        home: The folder that relative paths in the study file start from.
    """

    prompt: Variant
    labels: LabelSet
    seed: int
    spare: Sequence[Item] = ()
    home: Path = Path()


class VariantFamily(Protocol):
    """A way to vary the prompt, registered under ``quaver.variants``.

    Its constructor takes the options that stand beside its name in the study file, as keyword
    arguments with annotated types.
    """

    factor: str
    """Column of the annotation frame that holds its level, where the study names no other."""

    def levels(self, ground: Ground) -> Sequence[LevelOfFactor]:
        """The levels, in order."""
        ...


def cross(prompt: Variant, factors: Mapping[str, Sequence[LevelOfFactor]]) -> list[Variant]:
    """Every combination of the factors' levels, applied to the prompt from left to right.

    Args:
        prompt: The study file's own prompt.
        factors: Levels by factor.

    Returns:
        The variants; the id says the levels (``wording=plain,format=digits``), or ``original``
        where nothing is varied.

    Raises:
        SpecError: A factor has no level, or two of the same name; or two combinations do.
    """
    for factor, levels in factors.items():
        names = [level.name for level in levels]
        if not names:
            raise SpecError("this factor has no level", where=f"factor {factor}")
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise SpecError(f"two levels are named {twice!r}", where=f"factor {factor}")
    variants: list[Variant] = []
    for combination in product(*factors.values()):
        chosen = dict(zip(factors, combination, strict=True))
        variant = prompt
        for level in combination:
            variant = level.edit(variant)
        variants.append(
            replace(
                variant,
                id=",".join(f"{factor}={level.name}" for factor, level in chosen.items()) or ORIGINAL,
                factors={factor: level.name for factor, level in chosen.items()},
                origin={factor: dict(level.origin) for factor, level in chosen.items()},
            )
        )
    ids = [variant.id for variant in variants]
    if len(set(ids)) < len(ids):
        twice = next(name for name in ids if ids.count(name) > 1)
        raise SpecError(
            "two combinations of levels have the same name",
            found=twice,
            fix="leave commas and equals signs out of the names of levels",
        )
    return variants
