"""Edits by hand of the texts that factor levels put into the prompt, with the text before each edit.

Each part of the prompt that a level changes can be edited: the instruction of a paraphrase, the layout of a
format. The edits of a part form a chain, from what the family made to the present text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from quaver.core.records import Variant
from quaver.design.factors.factor_level import LevelOfFactor
from quaver.design.spec.former_names import former_factor
from quaver.errors import SpecError

PARTS = ("system", "layout", "instruction", "postfix")


@dataclass(frozen=True, slots=True)
class Edit:
    """An edit by hand: the level, the part, the text before and after."""

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
        part: The part of the prompt.
        text: The present template.
        original: The study file's own template.
        remarks: Why it is flagged, if it is.
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
    """A factor's levels with their edits, which their origin records.

    Raises:
        SpecError: An edit belongs to a text that the family no longer makes, or to none of its levels.
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
    recorded = [
        {key: value for key, value in asdict(change).items() if key != "factor"} for change in changes
    ]
    return replace(
        level,
        edit=lambda variant: replace(level.edit(variant), **texts),
        origin={**level.origin, "edits": recorded},
    )


def _stale(edit: Edit, found: str) -> SpecError:
    return SpecError(
        f"an edit of {edit.factor}={edit.level} belongs to a text that has changed",
        where=f"paraphrases.json: edits: {edit.factor}={edit.level}: {edit.part}",
        expected=edit.before[:120],
        found=found[:120],
        fix="undo the change in the study file, or remove the edit from paraphrases.json "
        "(`quaver variants STUDY --again` makes all paraphrases again and discards the edits)",
    )


def editable(prompt: Variant, factors: Mapping[str, Sequence[LevelOfFactor]]) -> list[Editable]:
    """Every template that a level puts into the prompt."""
    return [
        one for factor, levels in factors.items() for level in levels for one in _of(prompt, factor, level)
    ]


def _of(prompt: Variant, factor: str, level: LevelOfFactor) -> Iterator[Editable]:
    if level.turn > 0:  # it only orders what other levels made: there is no text
        return
    made = level.edit(prompt)
    name = f"{factor}={level.name}" if factor else level.name
    remarks = str(level.covariates.get("flags", ""))
    for part in PARTS:
        text, original = getattr(made, part), getattr(prompt, part)
        if text != original:
            yield Editable(name, factor, level.name, part, text, original, remarks)
