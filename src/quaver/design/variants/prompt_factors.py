"""``factors``: a factorial design of prompts, built from parts that are present or absent, long or short."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Annotated, Literal

from pydantic import Field

from quaver.core.records import Variant
from quaver.design.factor_levels import LevelOfFactor, check_names, family
from quaver.design.paraphrase.paraphraser import PromptContext
from quaver.design.prompts.templates import names_in
from quaver.design.spec.yaml_file import Count, Only, Part, Text, distinct
from quaver.errors import SpecError

Place = Literal["instruction", "postfix"]


class PromptPart(Part):
    """One part of the prompt. A bare string is its text."""

    bare = "text"

    text: str | None = None
    """Its text; the study's own if it has a default."""
    concise: Text | None = None
    """Its text where a factor has the level concise."""
    when: Only | None = None
    """The levels at which it is present, by factor."""
    place: Place | None = None
    """Part of the instruction, or of the postfix."""
    explains: bool | None = None
    """Whether it asks for an explanation."""
    output: Literal["label", "score"] | None = None
    """What it asks for, if anything."""
    score_of: str | None = None
    """The code of the label whose score it asks for, if it asks for one number."""
    tokens: Count | None = None
    """The limit on the answer to it."""


Levels = Annotated[tuple[str, ...], Field(min_length=1), distinct("level")]
"""A factor's levels; the first one is that of the plain prompt."""

FACTORS: Mapping[str, Levels] = {
    "definition": ("no", "yes"),
    "output": ("label", "score"),
    "explanation": ("no", "yes"),
    "length": ("standard", "concise"),
}
"""The default factors."""

DEFAULTS: Mapping[str, PromptPart] = {
    "task": PromptPart(place="instruction", when={}),
    "definitions": PromptPart(
        text="The labels mean:{% for label in labels %}\n"
        "- {{ label.answer }}: {{ label.definition }}{% endfor %}",
        concise="{% for label in labels %}{{ label.answer }} = {{ label.definition }}"
        "{% if not loop.last %}; {% endif %}{% endfor %}",
        when={"definition": ("yes",)},
        place="instruction",
    ),
    "label": PromptPart(
        concise="One of: {{ answers | join(', ') }}.",
        when={"output": ("label",)},
        place="postfix",
        output="label",
        tokens=16,
    ),
    "score": PromptPart(
        text="For each label give the probability that it is the right one, as a number from 0 to 1. Write a "
        "line for each label: {{ answers | join(', ') }}. On each line write the label, a colon and its "
        "probability. The probabilities must sum to 1.",
        concise="A line each for {{ answers | join(', ') }}: label, colon, probability (0 to 1, sum 1).",
        when={"output": ("score",)},
        place="postfix",
        output="score",
        tokens=64,
    ),
    "explanation": PromptPart(
        text='Below that, write the word "Explanation:" and say in one or two sentences why.',
        concise='Then "Explanation:" and a sentence why.',
        when={"explanation": ("yes",)},
        place="postfix",
        explains=True,
        tokens=96,
    ),
}
"""Parts by name, in their order. ``task`` is the study's instruction, ``label`` its postfix."""


_CONCISE = "concise"
"""The level, of any factor, at which parts use their shorter text."""

Shown = tuple[Mapping[str, str], Mapping[str, PromptPart]]
"""A combination of levels, and the parts that are present there."""


@family("")
def factors(
    context: PromptContext,
    *,
    factors: Annotated[dict[str, Levels], Field(min_length=1)] | None = None,
    parts: dict[str, PromptPart] | None = None,
) -> Sequence[LevelOfFactor]:
    """A prompt for every combination of the factors' levels, the last factor changing fastest.

    By default the factors are ``definition`` (no, yes), ``output`` (label, score), ``explanation`` (no, yes)
    and ``length`` (standard, concise): 16 prompts. The parts are ``task`` (the study's instruction),
    ``definitions``, ``label`` (the study's postfix), ``score`` and ``explanation``. Each has a text, a
    concise text, and a ``when`` with the levels at which it is present. Task and definitions form the
    instruction, the others the postfix, one line each. The limit on an answer is the sum of its parts'
    limits.

    Args:
        context: The prompt.
        factors: Levels by factor; the first is that of the plain prompt.
        parts: Texts that replace the defaults of parts, and further parts. A part that asks for one score
            names its label: ``score_of: toxic``.

    Raises:
        SpecError: A part has no text, a part does not say whose score it asks for, or a part would never
            occur.
        UnknownName: A factor, a level, a part or a label does not exist.
    """
    varied, whole = dict(factors or FACTORS), _parts(parts or {})
    for name, part in whole.items():
        for factor, levels in (part.when or {}).items():
            where, known = f"parts: {name}: when", {**FACTORS, **varied}
            check_names("factor", [factor], known, where)
            check_names("level", levels, known[factor], where)
        if part.score_of is not None:
            check_names("label", [part.score_of], context.labels.codes, f"parts: {name}: score_of")
    # A default factor that the study does not vary is at its first level.
    first = {name: levels[0] for name, levels in FACTORS.items()}
    combinations: list[Shown] = []
    for values in product(*varied.values()):
        chosen = dict(zip(varied, values, strict=True))
        at = {**first, **chosen}
        some = {
            name: part
            for name, part in whole.items()
            if all(at.get(factor) in levels for factor, levels in (part.when or {}).items())
        }
        combinations.append((chosen, some))
    for problem, where, expected, given in _contradictions(whole, combinations, context):
        raise SpecError(problem, where=where, expected=expected, found=given)
    return [
        LevelOfFactor(
            _written(chosen),
            partial(_built, some, _CONCISE in chosen.values()),
            {"family": "factors", "by": "hand", "parts": list(some)},
            chosen,
        )
        for chosen, some in combinations
    ]


def _written(levels: Mapping[str, str]) -> str:
    return ",".join(f"{factor}={level}" for factor, level in levels.items())


def _contradictions(
    parts: Mapping[str, PromptPart], combinations: Sequence[Shown], context: PromptContext
) -> Iterator[tuple[str, str, str, str]]:
    """What cannot be asked: the problem, where it is, what is expected, and what is found."""
    is_short = any(_CONCISE in levels.values() for levels, _ in combinations)
    occurring = {name for _, shown in combinations for name in shown}
    codes = context.labels.codes
    is_defined = any(label.definition for label in context.labels.labels)
    for levels, shown in combinations:
        asking = [name for name, part in shown.items() if part.output]
        if len(asking) > 1:
            problem = f"the parts {asking[0]!r} and {asking[1]!r} ask for two outputs at once"
            yield problem, "parts", "one part with an output in each prompt", _written(levels)
    for name, part in parts.items():
        where, text = f"parts: {name}", _text_of(name, part, context.prompt)
        is_asked = name in occurring
        own_score = part.output == "score" and not names_in(part.text or "") & {"answers", "labels"}
        rules = (
            (name not in DEFAULTS and not is_asked, f"the part {name!r} would never occur",
             "levels that occur together"),
            (is_asked and name == "definitions" and "labels" in names_in(text) and not is_defined,
             "no label has a definition", "a definition of each label, under task.labels"),
            (is_asked and is_short and bool(text) and part.concise is None,
             f"the part {name!r} has no concise text", "a shorter text: concise: …"),
            (part.score_of is not None and part.output != "score",
             f"the part {name!r} asks for no score", "output: score beside it"),
            (part.score_of is not None and len(codes) != 2,
             "one score cannot choose between more than two labels", "two labels"),
            (part.score_of is None and own_score and len(codes) == 2,
             f"the part {name!r} does not say whose score it asks for",
             f"score_of: {codes[0]}, or {{{{ answers }}}} in its text where every label gets a number"),
        )  # fmt: skip
        yield from ((problem, where, expected, text[:120]) for holds, problem, expected in rules if holds)


def _built(shown: Mapping[str, PromptPart], concise: bool, variant: Variant) -> Variant:
    """The prompt that some parts make."""
    texts: dict[str, list[str]] = {"instruction": [], "postfix": []}
    for name, part in shown.items():
        if text := (part.concise if concise else None) or _text_of(name, part, variant):
            texts[part.place or "instruction"].append(text)
    parts = shown.values()
    scoring = [part for part in parts if part.output == "score"]
    return replace(
        variant,
        instruction="\n".join(texts["instruction"]),
        postfix="\n".join(texts["postfix"]),
        explains=any(part.explains for part in parts),
        output="score" if scoring else "label",
        score_of=next((part.score_of for part in scoring if part.score_of), ""),
        max_tokens=sum(part.tokens or 0 for part in parts) or variant.max_tokens,
    )


def _parts(given: Mapping[str, PromptPart]) -> dict[str, PromptPart]:
    parts = {**DEFAULTS, **given}
    for name in given.keys() & DEFAULTS.keys():
        own = {key: value for key, value in given[name] if value is not None}
        # The default's concise text does not shorten another text.
        usual = DEFAULTS[name].model_copy(update={"concise": None} if "text" in own else {})
        parts[name] = usual.model_copy(update=own)
    for name, part in parts.items():
        if part.text is None and name not in ("task", "label"):
            raise SpecError(f"the part {name!r} has no text", where=f"parts: {name}", expected="text: …")
    return parts


def _text_of(name: str, part: PromptPart, variant: Variant) -> str:
    """A part's text; if it has none, the variant's own instruction or postfix."""
    if part.text is not None:
        return part.text
    return variant.instruction if name == "task" else variant.postfix
