"""Families that vary a part of the prompt: its layout, its descriptions of labels, scores."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from quaver.core.records import LabelSet, Variant
from quaver.design.factors.prompt_edits import ORIGINAL, LevelOfFactor
from quaver.design.paraphrase.paraphrase_draft import PromptContext
from quaver.design.prompts.templates import names_in
from quaver.errors import SpecError, UnknownName

Place = Literal["instruction", "postfix"]


def _text(given: Any) -> Any:
    return {"text": given} if isinstance(given, str) else given


def _levels(given: Any) -> Any:
    return {"levels": given} if isinstance(given, list | tuple) else given


def _listed(given: Any) -> Any:
    if not isinstance(given, dict):
        return given
    return {name: one if isinstance(one, list | tuple) else [one] for name, one in given.items()}


When = Annotated[dict[str, tuple[str, ...]], BeforeValidator(_listed)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, coerce_numbers_to_str=True)


class Concise(_Model):
    """A part's shorter text. A bare string is the text."""

    text: str = Field(description="The shorter text.", min_length=1)
    approved: bool = Field(False, description="Whether it leaves something out on purpose.")


class Part(_Model):
    """One part of the prompt. A bare string is its text."""

    text: str | None = Field(None, description="Its text; the study's own if it has a default.")
    concise: Annotated[Concise | None, BeforeValidator(_text)] = Field(
        None, description="Its text where a factor has the level concise."
    )
    when: When | None = Field(None, description="The levels at which it is present, by factor.")
    place: Place | None = Field(None, description="Part of the instruction, or of the postfix.")
    explains: bool | None = Field(None, description="Whether it asks for an explanation.")
    output: Literal["label", "score"] | None = Field(None, description="What it asks for, if anything.")
    score_of: str | None = Field(
        None,
        description="Whose score: a label's code if it asks for one number; each if it asks for a number for "
        "every label.",
    )
    tokens: Annotated[int, Field(ge=1)] | None = Field(None, description="The limit on the answer to it.")


class FactorSpec(_Model):
    """A factor. A bare list holds its levels."""

    levels: tuple[str, ...] = Field(description="Its levels; the first one is that of the plain prompt.")
    only: When = Field({}, description="It has levels only where earlier factors have these.")


GivenPart = Annotated[Part, BeforeValidator(_text)]
GivenFactor = Annotated[FactorSpec, BeforeValidator(_levels)]

FACTORS: Mapping[str, FactorSpec] = {
    "definition": FactorSpec(levels=("no", "yes")),
    "output": FactorSpec(levels=("label", "score")),
    "explanation": FactorSpec(levels=("no", "yes")),
    "length": FactorSpec(levels=("standard", "concise")),
}
"""The default factors."""

DEFAULTS: Mapping[str, Part] = {
    "task": Part(place="instruction", when={}),
    "definitions": Part(
        text="The labels mean:{% for label in labels %}\n"
        "- {{ label.answer }}: {{ label.definition }}{% endfor %}",
        concise=Concise(
            text="{% for label in labels %}{{ label.answer }} = {{ label.definition }}"
            "{% if not loop.last %}; {% endif %}{% endfor %}"
        ),
        when={"definition": ("yes",)},
        place="instruction",
    ),
    "label": Part(
        concise=Concise(text="One of: {{ answers | join(', ') }}."),
        when={"output": ("label",)},
        place="postfix",
        output="label",
        tokens=16,
    ),
    "score": Part(
        text="For each label give the probability that it is the right one, as a number from 0 to 1. Write a "
        "line for each label: {{ answers | join(', ') }}. On each line write the label, a colon and its "
        "probability. The probabilities must sum to 1.",
        concise=Concise(
            text="A line each for {{ answers | join(', ') }}: label, colon, probability (0 to 1, sum 1)."
        ),
        when={"output": ("score",)},
        place="postfix",
        output="score",
        tokens=64,
    ),
    "explanation": Part(
        text='Below that, write the word "Explanation:" and say in one or two sentences why.',
        concise=Concise(text='Then "Explanation:" and a sentence why.'),
        when={"explanation": ("yes",)},
        place="postfix",
        explains=True,
        tokens=96,
    ),
}
"""Parts by name, in their order. ``task`` is the study's instruction, ``label`` its postfix."""


_ASKING = frozenset(["instruction", "postfix", "question"])
_SHOWING = frozenset(["text"])
_GAPS = re.compile(r"\n{3,}")

Span = tuple[int, int]


def asks_first(layout: str) -> bool | None:
    """Whether the question is before the text; None if the layout has no question."""
    asking, showing = _spans(layout)
    return None if asking is None else asking < showing


def question_moved(layout: str) -> str:
    """The layout with the lines of the question and those of the text swapped.

    >>> print(question_moved("Voter: {{ text }}" + chr(10) + "Question: {{ question }}"))
    Question: {{ question }}
    Voter: {{ text }}
    """
    asking, showing = _spans(layout)
    if asking is None:
        return layout
    lines = layout.split("\n")
    (a, b), (c, d) = sorted([asking, showing])
    return "\n".join([*lines[:a], *lines[c:d], *lines[b:c], *lines[a:b], *lines[d:]])


def without_question(layout: str) -> tuple[str, str]:
    """The layout without the lines of the question, and these lines (empty if it has no question)."""
    asking, _ = _spans(layout)
    if asking is None:
        return layout, ""
    lines = layout.split("\n")
    rest = "\n".join([*lines[: asking[0]], *lines[asking[1] :]]).strip("\n")
    return _GAPS.sub("\n\n", rest), "\n".join(lines[asking[0] : asking[1]])


def _spans(layout: str) -> tuple[Span | None, Span]:
    """The lines of the question and of the text, as the first and the one after the last."""
    asking, showing = _lines_with(layout, _ASKING), _lines_with(layout, _SHOWING)
    if showing is None or (asking and asking[0] < showing[1] and showing[0] < asking[1]):
        raise SpecError(
            "the layout does not keep the question and the item's text on separate lines",
            where="prompt.layout",
            expected="{{ text }} on lines of its own, {{ question }} on others",
            found=layout[:120],
        )
    return asking, showing


def _lines_with(layout: str, names: Collection[str]) -> Span | None:
    try:
        found = [index for index, line in enumerate(layout.split("\n")) if names_in(line) & set(names)]
    except Exception:  # single lines of a statement over several lines are not templates
        found = []
    return (found[0], found[-1] + 1) if found else None


class Descriptions:
    """Definitions that a person wrote.

    They appear where the prompt shows definitions: through ``{{ label.definition }}``, the ``detailed``
    strategy or a JSON schema.

    Args:
        definitions: By name, the definition of each label code; a label that is left out keeps its own. The
            label set's own definitions are the level ``original``.
    """

    factor = "description"

    def __init__(self, *, definitions: dict[str, dict[str, str]]) -> None:
        self._definitions = definitions

    def levels(self, context: PromptContext) -> Sequence[LevelOfFactor]:
        """The label set's definitions, then the others in their order.

        Raises:
            UnknownName: A label does not exist.
        """
        for name, definitions in self._definitions.items():
            for code in definitions:
                if code not in context.labels.codes:
                    where = f"definitions: {name}"
                    raise UnknownName("label", code, context.labels.codes, where=where)
        return [_level(ORIGINAL, {}), *(_level(*pair) for pair in self._definitions.items())]


def _level(name: str, definitions: dict[str, str]) -> LevelOfFactor:
    def edit(variant: Variant) -> Variant:
        return replace(variant, definitions={**variant.definitions, **definitions})

    return LevelOfFactor(name, edit, {"family": "descriptions", "by": "hand", "parent": ORIGINAL})


_EACH = "each"
"""``score_of`` of a part that asks for a score for every label."""


def scored_label(parts: Iterable[Part]) -> str:
    """The code of the only label whose score some parts ask for; empty otherwise."""
    scored = (part.score_of for part in parts if part.output == "score")
    return next((code for code in scored if code and code != _EACH), "")


def check_score(name: str, part: Part, labels: LabelSet) -> None:
    """Check that a part that asks for scores says whose: a single number belongs to no label by itself."""
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
