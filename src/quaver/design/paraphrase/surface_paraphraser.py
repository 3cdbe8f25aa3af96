"""``surface``: small edits of articles, contractions, politeness, spelling and the like.

It needs no model and costs nothing: the edits depend only on the seed, so that every machine draws the same.
Placeholders, labels' names and numbers never change.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, get_args

from quaver.design.paraphrase.class_words import explained_words
from quaver.design.paraphrase.paraphrase_draft import Draft, Paraphrase, Work
from quaver.design.paraphrase.paraphraser import check_count
from quaver.design.paraphrase.prompt_context import PromptContext
from quaver.design.paraphrase.protected_words import label_names, protected, segments
from quaver.design.paraphrase.surface_edits import EDITS, Edit
from quaver.errors import SpecError

Kind = Literal["articles", "contractions", "politeness", "punctuation", "casing", "spacing", "typos"]

_TRIES = 50
"""The most draws for each paraphrase."""


class Surface:
    """Small random edits that keep the meaning.

    Args:
        strengths: The probability, up to 1, of changing each place that could be changed; at least one place
            changes.
        k: The number of paraphrases at each strength.
        kinds: The kinds of edits: articles, contractions, politeness, punctuation, casing, spacing, typos.
    """

    factor = "paraphrase"
    part = "instruction"
    exact = True
    kept = False

    def __init__(
        self, *, strengths: list[float] | None = None, k: int = 5, kinds: list[Kind] | None = None
    ) -> None:
        self._strengths = [0.2] if strengths is None else strengths
        self._kinds: list[str] = sorted(get_args(Kind) if kinds is None else set(kinds))
        self._k = k
        check_count("k", k)
        if not self._strengths or not self._kinds:
            name = "kinds" if self._strengths else "strengths"
            raise SpecError("nothing would be changed", where=name, expected="one or more", found="none")
        for strength in self._strengths:
            if not 0 < strength <= 1:
                raise SpecError(
                    "this strength is out of range",
                    where="strengths",
                    expected="above 0 and up to 1",
                    found=f"{strength:g}",
                )
        if len({f"{one:g}" for one in self._strengths}) < len(self._strengths):
            raise SpecError("a strength is given twice", where="strengths", found=str(list(self._strengths)))

    def asked(self) -> Mapping[str, Any]:
        """The kinds of edits."""
        return {"kinds": self._kinds}

    def reword(self, context: PromptContext, draft: Draft, work: Work) -> Sequence[Paraphrase]:
        """``k`` paraphrases at each strength, named ``s0.2-1``, ``s0.2-2`` and so on.

        Raises:
            SpecError: The instruction allows fewer.
        """
        text = context.prompt.instruction
        prompt = context.prompt
        names = label_names(context.labels, prompt.answers)
        names += explained_words(text, prompt.postfix, context.labels, prompt.answers)
        places = _places(text, self._kinds, names)
        for strength in self._strengths:
            self._fill(strength, text, places, context.seed, draft)
        return draft.paraphrases

    def _fill(self, strength: float, text: str, places: list[_Place], seed: int, draft: Draft) -> None:
        group = f"{strength:g}"
        draw = random.Random(f"{seed} surface {group}")
        for _ in range(_TRIES * self._k):
            if len(draft.of(group)) == self._k:
                return
            drawn = _drawn(places, strength, draw)
            origin = {"strength": strength, "kinds": sorted({kind for kind, _, _ in drawn})}
            covariates = {"strength": strength}
            draft.offer(_applied(text, drawn), lambda n: f"s{group}-{n}", group, covariates, origin)
        if len(draft.of(group)) < self._k:
            raise SpecError(
                f"the instruction has {len(draft.of(group))} paraphrases at strength {group}",
                where="k",
                expected=f"{self._k} different ones",
                found=f"{len(places)} places that could be changed",
                fix="lower k, allow more kinds, or choose another strength",
            )


class _Place(NamedTuple):
    kind: str
    edit: Edit


class _Drawn(NamedTuple):
    kind: str
    edit: Edit
    instead: str


def _places(text: str, kinds: Sequence[str], names: list[str]) -> list[_Place]:
    """Every place that one of the kinds could change."""
    free = list(segments(text, protected(names)))
    return [_Place(kind, edit) for kind in kinds for edit in EDITS[kind](text, free)]


def _drawn(places: Sequence[_Place], strength: float, draw: random.Random) -> list[_Drawn]:
    """A random share of the places, without overlaps, each with one of its replacements."""
    if not places:
        return []
    chosen = [place for place in places if draw.random() < strength] or [draw.choice(places)]
    draw.shuffle(chosen)
    kept: list[_Drawn] = []
    for kind, edit in chosen:
        if all(edit.end <= other.edit.start or other.edit.end <= edit.start for other in kept):
            kept.append(_Drawn(kind, edit, draw.choice(edit.instead)))
    return kept


def _applied(text: str, drawn: Sequence[_Drawn]) -> str:
    for _, edit, instead in sorted(drawn, key=lambda one: (one.edit.start, one.edit.end), reverse=True):
        text = text[: edit.start] + instead + text[edit.end :]
    return text
