"""Whose score a part of a prompt asks for: each label's, or one label's alone."""

from __future__ import annotations

from collections.abc import Iterable

from quaver.core.records import LabelSet
from quaver.design.prompts.templates import names_in
from quaver.design.variants.prompt_parts import Part
from quaver.errors import SpecError, UnknownName

__all__ = ["check_score", "scored_label"]

_EACH = "each"
"""``score_of`` of a part that asks for a score for every label."""


def scored_label(parts: Iterable[Part]) -> str:
    """The code of the label whose score alone some parts ask for; empty where they do not."""
    told = (part.score_of for part in parts if part.output == "score")
    return next((code for code in told if code and code != _EACH), "")


def check_score(name: str, part: Part, labels: LabelSet) -> None:
    """See to it that a part that asks for scores says whose: one number belongs to no label by itself.

    Args:
        name: The part's name.
        part: The part.
        labels: The task's label set.

    Raises:
        SpecError: It asks for no score, or does not say whose; or one score is to choose among three.
        UnknownName: The label does not exist.
    """
    where, codes, told = f"parts: {name}", labels.codes, part.score_of
    if told is not None:
        if part.output != "score":
            raise SpecError(
                f"the part {name!r} asks for no score",
                where=f"{where}: score_of",
                expected="output: score beside it",
                found=f"score_of: {told}",
            )
        if told not in (*codes, _EACH):
            raise UnknownName("label", told, (*codes, _EACH), where=f"{where}: score_of")
        if told != _EACH and len(codes) != 2:
            raise SpecError(
                "one score cannot choose between more than two labels",
                where=f"{where}: score_of",
                expected="two labels, or a score for each label (score_of: each)",
                found=f"{len(codes)} labels",
            )
        return
    own_words = part.output == "score" and not names_in(part.text or "") & {"answers", "labels"}
    if own_words and len(codes) == 2:
        raise SpecError(
            f"the part {name!r} does not say whose score it asks for",
            where=where,
            expected=f"score_of: {codes[0]} or {codes[1]} where it asks for one number; score_of: each "
            "where it asks for a number for each label",
            found=(part.text or "")[:120],
        )
