"""What a variant family or a paraphraser makes its levels from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from quaver.core.records import Item, LabelSet, Variant
from quaver.design.paraphrase.paraphrase_keeper import Keeper

__all__ = ["Ground"]


@dataclass(frozen=True, slots=True)
class Ground:
    """What a family makes its levels from.

    Attributes:
        prompt: The study file's own prompt, before any family's edit.
        labels: The task's label set.
        seed: For whatever the family draws.
        spare: The source's items outside the sample, from which examples may be taken.
        home: The folder that relative paths in the study file start from.
        sample: The items of the study.
        texts: Every template of an item's text in the study; the prompt's own if left out.
        keeper: Keeps what a family makes once and for good; without one, nothing is kept.
    """

    prompt: Variant
    labels: LabelSet
    seed: int
    spare: Sequence[Item] = ()
    home: Path = Path()
    sample: Sequence[Item] = ()
    texts: Sequence[str] = ()
    keeper: Keeper | None = None
