"""Whose score a part of a prompt asks for: every label's, or only one label's."""

from __future__ import annotations

from collections.abc import Iterable

from quaver.core.records import LabelSet
from quaver.design.prompts.templates import names_in
from quaver.design.variants.prompt_parts import Part
from quaver.errors import SpecError, UnknownName

_EACH = "each"
"""``score_of`` of a part that asks for a score for every label."""


def scored_label(parts: Iterable[Part]) -> str:
    """The code of the only label whose score some parts ask for; empty otherwise."""
    scored = (part.score_of for part in parts if part.output == "score")
    return next((code for code in scored if code and code != _EACH), "")


def check_score(name: str, part: Part, labels: LabelSet) -> None:
    """Check that a part that asks for scores says whose: a single number belongs to no label by itself.

    Raises:
        SpecError: It names a label but asks for no score, does not say whose score it asks for, or asks for
            one score among three labels or more.
        UnknownName: The label does not exist.
    """
    where, codes, own = f"parts: {name}", labels.codes, part.score_of
    if own is not None:
        if part.output != "score":
            raise SpecError(
                f"the part {name!r} asks for no score",
                where=f"{where}: score_of",
                expected="output: score beside it",
                found=f"score_of: {own}",
            )
        if own not in (*codes, _EACH):
            raise UnknownName("label", own, (*codes, _EACH), where=f"{where}: score_of")
        if own != _EACH and len(codes) != 2:
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
