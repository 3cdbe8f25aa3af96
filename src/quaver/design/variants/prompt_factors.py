"""``factors``: a factorial design of prompts, built from parts that are present or absent, long or short."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from quaver.core.records import LabelSet, Variant
from quaver.design.factor_levels import LevelOfFactor, check_names
from quaver.design.paraphrase.paraphraser import PromptContext
from quaver.design.prompts.rendering import missing_in
from quaver.design.prompts.templates import names_in
from quaver.errors import SpecError

Place = Literal["instruction", "postfix"]


def _as(name: str, *kinds: type) -> BeforeValidator:
    """A bare value stands for a part that has nothing else."""
    return BeforeValidator(lambda given: {name: given} if isinstance(given, kinds) else given)


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
    concise: Annotated[Concise | None, _as("text", str)] = Field(
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


def _distinct(given: tuple[str, ...]) -> tuple[str, ...]:
    if twice := [one for one in given if given.count(one) > 1]:
        raise ValueError(f"the level {twice[0]!r} is given twice")
    return given


Levels = Annotated[tuple[str, ...], Field(min_length=1), AfterValidator(_distinct)]
"""A factor's levels; the first one is that of the plain prompt."""

GivenPart = Annotated[Part, _as("text", str)]
FACTORS: Mapping[str, Levels] = {
    "definition": ("no", "yes"),
    "output": ("label", "score"),
    "explanation": ("no", "yes"),
    "length": ("standard", "concise"),
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


_CONCISE = "concise"
"""The level, of any factor, at which parts use their shorter text."""


@dataclass(frozen=True, kw_only=True)
class Factors:
    """A prompt for every combination of the factors' levels.

    By default the factors are ``definition`` (no, yes), ``output`` (label, score), ``explanation`` (no, yes)
    and ``length`` (standard, concise): 16 prompts. The parts are ``task`` (the study's instruction),
    ``definitions``, ``label`` (the study's postfix), ``score`` and ``explanation``. Each has a text, a
    concise text, and a ``when`` with the levels at which it is present. Task and definitions form the
    instruction, the others the postfix, one line each. The limit on an answer is the sum of its parts'
    limits.

    Args:
        factors: Levels by factor; the first is that of the plain prompt.
        parts: Texts that replace the defaults of parts, and further parts. A part that asks for one score
            names its label: ``score_of: toxic``.
    """

    factor = ""
    factors: Annotated[dict[str, Levels], Field(min_length=1)] | None = None
    parts: dict[str, GivenPart] | None = None

    def levels(self, context: PromptContext) -> Sequence[LevelOfFactor]:
        """The combinations to ask, the last factor changing fastest.

        Raises:
            SpecError: A part has no text, a concise text lacks content of the standard one, a part does not
                say whose score it asks for, or a factor or part would never occur.
            UnknownName: A factor, a level, a part or a label does not exist.
        """
        factors = dict(self.factors or FACTORS)
        parts = _parts(self.parts or {})
        whole = [dict(zip(factors, levels, strict=True)) for levels in product(*factors.values())]
        _check_conditions(factors, parts, whole)
        shown = [{name: part for name, part in parts.items() if _is_shown(part, some)} for some in whole]
        for levels, some in zip(whole, shown, strict=True):
            asked = [name for name, part in some.items() if part.output]
            if len(asked) > 1:
                raise SpecError(
                    f"the parts {asked[0]!r} and {asked[1]!r} ask for two outputs at once",
                    where="parts",
                    expected="one part with an output in each prompt",
                    found=_written(levels),
                )
        is_short = any(_CONCISE in levels.values() for levels in whole)
        for name, part in {name: part for some in shown for name, part in some.items()}.items():
            _check_text(name, part, context, is_short=is_short)
        for name, part in parts.items():
            check_score(name, part, context.labels)
        return [
            LevelOfFactor(
                _written(levels),
                partial(_built, some, _CONCISE in levels.values()),
                {"family": "factors", "by": "hand", "parts": list(some)},
                levels,
            )
            for levels, some in zip(whole, shown, strict=True)
        ]


def _written(levels: Mapping[str, str]) -> str:
    return ",".join(f"{factor}={level}" for factor, level in levels.items())


def _built(shown: Mapping[str, Part], concise: bool, variant: Variant) -> Variant:
    """The prompt that some parts make."""
    texts: dict[str, list[str]] = {"instruction": [], "postfix": []}
    for name, part in shown.items():
        if text := _text_of(name, part, variant, concise=concise):
            texts[part.place or "instruction"].append(text)
    parts = shown.values()
    return replace(
        variant,
        instruction="\n".join(texts["instruction"]),
        postfix="\n".join(texts["postfix"]),
        explains=any(part.explains for part in parts),
        output="score" if any(part.output == "score" for part in parts) else "label",
        score_of=scored_label(parts),
        max_tokens=sum(part.tokens or 0 for part in parts) or variant.max_tokens,
    )


def _check_conditions(
    factors: Mapping[str, Levels], parts: Mapping[str, Part], whole: Sequence[Mapping[str, str]]
) -> None:
    """Check that what conditions name exists, and that each part occurs."""
    known = {**FACTORS, **factors}
    for name, part in parts.items():
        where, when = f"parts: {name}: when", part.when or {}
        for factor, levels in when.items():
            check_names("factor", [factor], known, where)
            check_names("level", levels, known[factor], where)
        if name not in DEFAULTS and not any(_is_shown(part, levels) for levels in whole):
            found = str({factor: list(levels) for factor, levels in when.items()})
            raise SpecError(
                f"the part {name!r} would never occur",
                where=where,
                expected="levels that occur together",
                found=found,
            )


def _applies(only: Mapping[str, tuple[str, ...]], levels: Mapping[str, str]) -> bool:
    return all(levels.get(factor) in some for factor, some in only.items())


def _is_shown(part: Part, levels: Mapping[str, str]) -> bool:
    """Whether a part is present; a default factor that the study does not vary is at its first level."""
    first = {name: levels[0] for name, levels in FACTORS.items()}
    return _applies(part.when or {}, {**first, **levels})


def _parts(given: Mapping[str, Part]) -> dict[str, Part]:
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


def _text_of(name: str, part: Part, variant: Variant, *, concise: bool) -> str:
    """A part's text; if it has none, the variant's own instruction or postfix."""
    if concise and part.concise is not None:
        return part.concise.text
    if part.text is not None:
        return part.text
    return variant.instruction if name == "task" else variant.postfix


def _check_text(name: str, part: Part, context: PromptContext, *, is_short: bool) -> None:
    """Check that a part that is shown has what it says, also where it is short."""
    where, concise = f"parts: {name}", part.concise
    standard = _text_of(name, part, context.prompt, concise=False)
    labels = context.labels.labels
    defined = any(label.definition for label in labels)
    if name == "definitions" and "labels" in names_in(standard) and not defined:
        raise SpecError(
            "no label has a definition",
            where=where,
            expected="a definition of each label, under task.labels",
            fix="add them, or write the part's text, or leave the factor `definition` out",
        )
    if not (is_short and standard):
        return
    if concise is None:
        raise SpecError(
            f"the part {name!r} has no concise text",
            where=where,
            expected="a shorter text: concise: …",
            found=f"only: {standard[:80]}",
        )
    missing = missing_in(concise.text, standard, context.labels, context.prompt.answers)
    if missing and not concise.approved:
        raise SpecError(
            f"the concise text of the part {name!r} lacks {', '.join(missing)}",
            where=f"{where}: concise",
            expected="all labels, numbers, placeholders and definitions of the standard text",
            found=concise.text[:120],
            fix="put them back, or approve a text that leaves them out on purpose: "
            "concise: {text: …, approved: true}",
        )


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
        check_names("label", [own], (*codes, _EACH), f"{where}: score_of")
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
