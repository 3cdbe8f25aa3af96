"""The options of every command that reads columns of labels: what a cell means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypedDict

from quaver.core.label_decisions import LabelRules
from quaver.core.options import Option
from quaver.core.records import Level
from quaver.errors import QuaverError


class CellOptions(TypedDict, total=False):
    """What the cells of columns of labels mean.

    Attributes:
        unlabelled: What stands there where there is no label, beside empty cells, ``NA``, ``None``, ``.`` …
        label_is: What is a label there, although it looks like a missing one: ``NA``.
        same: Texts that are a label, as ``TEXT=LABEL``.
    """

    unlabelled: Annotated[Sequence[str], Option("Other cells that mean “no label”, such as 99.", ())]
    label_is: Annotated[Sequence[str], Option("Labels that look like missing ones, such as NA.", ())]
    same: Annotated[Sequence[str], Option("What else is a label: pos=positive,neg=negative.", ())]


def label_rules(
    options: Mapping[str, Any], labels: Sequence[str], level: Level | None = None, *, is_read: bool = True
) -> LabelRules:
    """The rules that options make.

    Args:
        options: `CellOptions`, and perhaps ``distinct``.
        labels: The label set, where it is given.
        level: Its level of measurement.
        is_read: Whether the labels are read in answers too, where they must be told apart.
    """
    pairs = [text.rpartition("=") for text in options.get("same") or ()]
    if wrong := [right for text, sign, right in pairs if not (text and sign and right)]:
        raise QuaverError(
            "this does not say which label a text is",
            where="--same",
            expected="TEXT=LABEL, such as pos=positive",
            found=wrong[0],
        )
    names = ("label-is", "unlabelled") if is_read else ("label-is", "unlabelled", "distinct")
    return LabelRules(
        tuple(labels),
        tuple(options.get("unlabelled") or ()),
        tuple(options.get("label_is") or ()),
        {text.strip(): label.strip() for text, _, label in pairs},
        bool(options.get("distinct")),
        level,
        names,
    )
