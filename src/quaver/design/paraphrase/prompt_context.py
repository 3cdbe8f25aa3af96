"""The study's own prompt and what goes with it: what variant families and paraphrasers work from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from quaver.core.records import Item, LabelSet, Variant

if TYPE_CHECKING:
    from quaver.design.paraphrase.paraphrase_keeper import Keeper


@dataclass(frozen=True, slots=True)
class PromptContext:
    """The study's own prompt, and all that a family may draw on to vary it.

    Attributes:
        prompt: The prompt of the study file, before any family edits it.
        labels: The task's label set.
        seed: The seed of whatever the family draws at random.
        spare: The items from which examples may be taken: those outside the sample, or of another table.
        home: The folder that relative paths in the study file start from.
        sample: The study's items.
        texts: Every template of an item's text in the study; only the prompt's own if empty.
        keeper: Stores what is expensive to make; None stores nothing.
    """

    prompt: Variant
    labels: LabelSet
    seed: int
    spare: Sequence[Item] = ()
    home: Path = Path()
    sample: Sequence[Item] = ()
    texts: Sequence[str] = ()
    keeper: Keeper | None = None
