"""The parts from which `factors` builds a prompt, with default texts for the usual ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

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

    text: str | None = Field(None, description="The shorter text; written by the model `by` if left out.")
    by: str = Field("hand", description="Who wrote it: hand, or one of the study's models.")
    approved: bool = Field(
        False, description="Whether a person has read and accepted it; required if a model wrote it."
    )


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
