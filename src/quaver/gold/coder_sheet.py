"""A coder's sheet: the items, the codes with their definitions, and nothing that a model said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from quaver.core.records import LabelSet

ITEM: Final = "item"
CODER: Final = "coder"
TEXT: Final = "text"
LABEL: Final = "label"
NOTE: Final = "note"


@dataclass(frozen=True, slots=True)
class SheetRow:
    """One item to label.

    Attributes:
        item: Its id.
        text: Its text, as prompts show it.
        options: What each label stands for, by code, where items have options of their own.
        given: For adjudication: the coders' labels, by coder. Empty on a coder's sheet.
    """

    item: str
    text: str
    options: Mapping[str, str] = field(default_factory=dict)
    given: Mapping[str, str] = field(default_factory=dict)

    @property
    def shown(self) -> str:
        """The text, with the item's own options below it."""
        return "\n".join([self.text, *(f"{code}: {text}" for code, text in self.options.items())])


@dataclass(frozen=True, slots=True)
class Sheet:
    """What one coder labels in one round.

    Attributes:
        coder: The coder's name; of an adjudicator, theirs.
        rows: The items, in an order of this coder's own.
        labels: The label set.
        question: What is asked about each text.
        adjudicates: Whether it shows the coders' labels, for a last word.
    """

    coder: str
    rows: Sequence[SheetRow]
    labels: LabelSet
    question: str
    adjudicates: bool = False

    @property
    def coders(self) -> list[str]:
        """The coders whose labels it shows."""
        return list(dict.fromkeys(name for row in self.rows for name in row.given))

    @property
    def columns(self) -> list[str]:
        """The columns of a table of it."""
        return [ITEM, CODER, TEXT, *(f"label of {name}" for name in self.coders), LABEL, NOTE]

    def cells(self, row: SheetRow) -> list[str]:
        """The cells of a row of that table; label and note are empty."""
        return [row.item, self.coder, row.shown, *(row.given.get(name, "") for name in self.coders), "", ""]

    @property
    def codebook(self) -> list[tuple[str, str, str]]:
        """Code, name and definition of each label."""
        return [(one.code, one.name, one.definition) for one in self.labels.labels]

    @property
    def instructions(self) -> str:
        """What the coder is asked to do."""
        role = (
            "The coders disagree on these items. Decide which label is right."
            if self.adjudicates
            else "Label every item by yourself, without asking others and without any software."
        )
        return (
            f"{role} Write the code of one label beside each text, exactly as in the list of codes. Leave "
            "the label empty where you cannot decide, and say why in the note. You may sort the rows; do not "
            "change or add ids."
        )
