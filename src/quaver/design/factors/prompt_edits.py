"""Edits that a person made to the prompt's levels, with what stood there before.

What can be edited is each part of the prompt that a level changes: the instruction of a paraphrase, the
layout of a format. The edits of one part form a chain, from what the family made to what stands now.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from quaver.core.records import Variant
from quaver.design.factors.factor_level import LevelOfFactor
from quaver.design.spec.former_names import former_factor
from quaver.errors import SpecError

__all__ = ["PARTS", "Edit", "Editable", "editable", "with_edits"]

PARTS = ("system", "layout", "instruction", "postfix")


@dataclass(frozen=True, slots=True)
class Edit:
    """One change by hand: of which level, which part, from what to what."""

    factor: str
    level: str
    part: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Editable:
    """A template that can be edited.

    Attributes:
        id: ``paraphrase=t0.5-1``.
        factor: The factor.
        level: The level.
        part: Of the prompt.
        text: The template as it stands now.
        original: The study file's own.
        remarks: Why it is flagged, where it is.
    """

    id: str
    factor: str
    level: str
    part: str
    text: str
    original: str
    remarks: str = ""


def with_edits(
    factor: str, levels: Sequence[LevelOfFactor], prompt: Variant, edits: Sequence[Edit]
) -> list[LevelOfFactor]:
    """A factor's levels with the edits made to them, which their origin tells of.

    Raises:
        SpecError: An edit was made to another text than the family makes now, or to no level of it.
    """
    mine: dict[str, list[Edit]] = {}
    for edit in edits:
        if edit.factor in (factor, former_factor(factor)):
            mine.setdefault(edit.level, []).append(edit)
    found = []
    for level in levels:
        changes = mine.pop(level.name, [])
        found.append(_with(level, prompt, changes) if changes else level)
    if mine:
        first = next(iter(mine.values()))[0]
        raise _stale(first, "no such level")
    return found


def _with(level: LevelOfFactor, prompt: Variant, changes: Sequence[Edit]) -> LevelOfFactor:
    made = level.edit(prompt)
    texts: dict[str, Any] = {}
    for change in changes:
        now = texts.get(change.part, getattr(made, change.part))
        if now != change.before:
            raise _stale(change, now)
        texts[change.part] = change.after
    told = [{key: value for key, value in asdict(change).items() if key != "factor"} for change in changes]
    return replace(
        level,
        edit=lambda variant: replace(level.edit(variant), **texts),
        origin={**level.origin, "edits": told},
    )


def _stale(edit: Edit, found: str) -> SpecError:
    return SpecError(
        f"an edit of {edit.factor}={edit.level} was made to another text than stands there now",
        where=f"paraphrases.json: edits: {edit.factor}={edit.level}: {edit.part}",
        expected=edit.before[:120],
        found=found[:120],
        fix="undo what changed in the study file, or take the edit out of paraphrases.json "
        "(`quaver variants STUDY --again` makes all paraphrases anew and forgets the edits)",
    )


def editable(prompt: Variant, factors: Mapping[str, Sequence[LevelOfFactor]]) -> list[Editable]:
    """Every template that a level puts into the prompt."""
    return [
        one for factor, levels in factors.items() for level in levels for one in _of(prompt, factor, level)
    ]


def _of(prompt: Variant, factor: str, level: LevelOfFactor) -> Iterator[Editable]:
    if level.turn > 0:  # an order of what other levels made: there is nothing to write
        return
    made = level.edit(prompt)
    name = f"{factor}={level.name}" if factor else level.name
    remarks = str(level.covariates.get("flags", ""))
    for part in PARTS:
        text, original = getattr(made, part), getattr(prompt, part)
        if text != original:
            yield Editable(name, factor, level.name, part, text, original, remarks)
