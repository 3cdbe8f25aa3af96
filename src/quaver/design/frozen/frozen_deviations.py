"""What of a frozen design is as it was, and what was changed since."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from quaver.design.frozen.frozen_parts import OF_TEXTS, TITLES, Parts, canonical

State = Literal["as frozen", "changed", "not checked"]

_MOST_NAMED = 4


@dataclass(frozen=True, slots=True)
class PartState:
    """A part of the design, as it is beside what was frozen.

    Attributes:
        part: Its name.
        state: ``as frozen``, ``changed``, or ``not checked`` where what it takes is not here.
        size: How many things it holds.
        changed: The names whose value is another.
        added: The names that are new.
        removed: The names that are gone.
        why: Why it was not checked, or not in full.
    """

    part: str
    state: State
    size: int
    changed: Sequence[str] = ()
    added: Sequence[str] = ()
    removed: Sequence[str] = ()
    why: str = ""

    @property
    def title(self) -> str:
        """What it is called for people."""
        return TITLES.get(self.part, self.part)

    @property
    def said(self) -> str:
        """What changed, in words."""
        kinds = (("changed", self.changed), ("added", self.added), ("removed", self.removed))
        words = [f"{kind}: {_listed(names)}" for kind, names in kinds if names]
        return "; ".join([*words, *([self.why] if self.why else [])])


def deviations(
    frozen: Parts, now: Parts, *, texts: bool = True, hidden: Collection[str] = ()
) -> list[PartState]:
    """Each part of the design as it is now beside what was frozen.

    Args:
        frozen: The design as it was frozen.
        now: The design as it is.
        texts: Whether the items' texts are here, without which some parts can be compared by name only.
        hidden: Prompts of which something was left out, and which cannot be compared.

    >>> [one.state for one in deviations({"models": {"a": "1"}}, {"models": {"a": "1", "b": "2"}})]
    ['changed']
    """
    order = [*TITLES, *(name for name in frozen if name not in TITLES)]
    return [
        _state(name, frozen[name], now.get(name, {}), not texts and name in OF_TEXTS, hidden)
        for name in order
        if name in frozen
    ]


def _state(
    part: str, frozen: Mapping[str, Any], now: Mapping[str, Any], by_name: bool, hidden: Collection[str]
) -> PartState:
    added = [name for name in now if name not in frozen]
    removed = [name for name in frozen if name not in now]
    if by_name and part == "examples" and frozen:
        return PartState(part, "not checked", len(frozen), why="the texts are not here")
    unseen = set(frozen) if by_name else set(hidden) & set(frozen) if part == "prompts" else set()
    both = [name for name in frozen if name in now and name not in unseen]
    changed = [name for name in both if canonical(frozen[name]) != canonical(now[name])]
    why = "without the texts, only names were compared" if by_name else ""
    if unseen and not by_name:
        why = f"{len(unseen):,} that quote a text were compared by name"
    state: State = "changed" if added or removed or changed else "not checked" if unseen else "as frozen"
    return PartState(part, state, len(frozen), changed, added, removed, why)


def _listed(names: Collection[str]) -> str:
    some = list(names)[:_MOST_NAMED]
    left = len(names) - len(some)
    return ", ".join(some) + (f" and {left:,} more" if left else "")
