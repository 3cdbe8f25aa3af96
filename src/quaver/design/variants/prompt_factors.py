"""``factors``: a factorial design of prompts, built from parts that are present or absent, long or short."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from pydantic import BaseModel, ConfigDict, Field

from quaver.core.records import LabelSet, Variant
from quaver.design.factors.prompt_edits import ORIGINAL, LevelOfFactor
from quaver.design.paraphrase.paraphrase_draft import PromptContext
from quaver.design.prompts.rendering import missing_in
from quaver.design.prompts.templates import names_in
from quaver.design.variants.prompt_parts import (
    DEFAULTS,
    FACTORS,
    FactorSpec,
    GivenFactor,
    GivenPart,
    Part,
    check_score,
    scored_label,
)
from quaver.design.variants.shots import Place, drawn, show
from quaver.errors import SpecError, UnknownName


class Strategy(BaseModel):
    """What a strategy adds to the prompt; nothing leaves it unchanged."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    definitions: bool = Field(False, description="The labels' definitions, after the instruction.")
    examples: int = Field(0, ge=0, description="The number of examples of each label, before the item.")


class Strategies:
    """Prompting strategies (Errica, Sanvito, Siracusano and Bifulco 2025 compare three).

    Args:
        strategies: By name; by default ``simple`` (the unchanged prompt), ``detailed`` (with the labels'
            definitions) and ``one-shot`` (with one example of each label, drawn as in ``shots``).
        describe: Template of the definitions, over ``labels``.
        place: The place of examples: ``turns`` of a conversation, or inside the user ``message``.
    """

    factor = "strategy"

    def __init__(
        self,
        *,
        strategies: dict[str, Strategy] | None = None,
        describe: str = "{% for label in labels %}\n{{ label.answer }}: {{ label.definition }}{% endfor %}",
        place: Place = "turns",
    ) -> None:
        self._strategies = strategies or {
            "simple": Strategy(),
            "detailed": Strategy(definitions=True),
            "one-shot": Strategy(examples=1),
        }
        self._describe, self._place = describe, place

    def levels(self, context: PromptContext) -> Sequence[LevelOfFactor]:
        """The strategies in their order.

        Raises:
            SpecError: There are too few examples, or a label has no definition.
        """
        return [self._level(name, one, context) for name, one in self._strategies.items()]

    def _level(self, name: str, strategy: Strategy, context: PromptContext) -> LevelOfFactor:
        examples = drawn(context, strategy.examples * len(context.labels.labels), context.seed)

        def edit(variant: Variant) -> Variant:
            if strategy.definitions:
                _check_defined(variant, context.labels, name)
                variant = replace(variant, instruction=variant.instruction + self._describe)
            return show(variant, examples, self._place) if examples else variant

        origin = {"family": "strategies", "parent": ORIGINAL, "definitions": strategy.definitions}
        shown = [item.id for item in examples]
        return LevelOfFactor(name, edit, {**origin, "examples": shown}, turn=2)


def _check_defined(variant: Variant, labels: LabelSet, name: str) -> None:
    for label in labels.labels:
        if not variant.definitions.get(label.code, label.definition).strip():
            raise SpecError(
                f"the label {label.code!r} has no definition for the strategy {name!r}",
                where="strategies",
                expected="a definition for every label",
                found="nothing",
                fix="add it under task.labels: {code: …, definition: …}",
            )


_CONCISE = "concise"
"""The level, of any factor, at which parts use their shorter text."""


class Factors:
    """A prompt for every combination of the factors' levels.

    By default the factors are ``definition`` (no, yes), ``output`` (label, score), ``explanation`` (no, yes)
    and ``length`` (standard, concise): 16 prompts. The parts are ``task`` (the study's instruction),
    ``definitions``, ``label`` (the study's postfix), ``score`` and ``explanation``. Each has a text, a
    concise text, and a ``when`` with the levels at which it is present. Task and definitions form the
    instruction, the others the postfix, one line each. The limit on an answer is the sum of its parts'
    limits.

    Args:
        factors: Levels by factor, or ``levels`` and ``only``: a nested factor has levels only where earlier
            factors have the levels that it names.
        parts: Texts that replace the defaults of parts, and further parts. A part that asks for one score
            names its label: ``score_of: toxic``.
        order: The names of the parts, in the order of the prompt.
    """

    factor = ""

    def __init__(
        self,
        *,
        factors: dict[str, GivenFactor] | None = None,
        parts: dict[str, GivenPart] | None = None,
        order: list[str] | None = None,
    ) -> None:
        self._factors = dict(FACTORS) if factors is None else dict(factors)
        _check_factors(self._factors)
        self._parts = _parts(parts or {}, order)
        self._whole = list(_combinations(self._factors))
        self._check_parts()

    def levels(self, context: PromptContext) -> Sequence[LevelOfFactor]:
        """The combinations to ask, the last factor changing fastest.

        Raises:
            SpecError: A part has no text, a concise text lacks content of the standard one, or a part does
                not say whose score it asks for.
            UnknownName: A score is for a label that does not exist.
        """
        self._check_texts(context)
        for name, part in self._parts.items():
            check_score(name, part, context.labels)
        return [self._level(levels) for levels in self._whole]

    # ---------------------------------------------------------------------- levels

    def _level(self, levels: Mapping[str, str]) -> LevelOfFactor:
        shown = [(name, part) for name, part in self._parts.items() if _is_shown(part, levels)]
        concise = _CONCISE in levels.values()

        def edit(variant: Variant) -> Variant:
            texts: dict[str, list[str]] = {"instruction": [], "postfix": []}
            for name, part in shown:
                texts[part.place or "instruction"].append(_text_of(name, part, variant, concise=concise))
            lengths = [part.tokens for _, part in shown if part.tokens]
            return replace(
                variant,
                instruction="\n".join(text for text in texts["instruction"] if text),
                postfix="\n".join(text for text in texts["postfix"] if text),
                explains=any(part.explains for _, part in shown),
                output="score" if any(part.output == "score" for _, part in shown) else "label",
                score_of=scored_label(part for _, part in shown),
                max_tokens=sum(lengths) if lengths else variant.max_tokens,
            )

        name = ",".join(f"{factor}={level}" for factor, level in levels.items())
        origin = {"family": "factors", "by": "hand", "parts": [part_name for part_name, _ in shown]}
        return LevelOfFactor(name, edit, origin, dict(levels))

    # ---------------------------------------------------------------------- checks

    def _check_parts(self) -> None:
        known = {**FACTORS, **self._factors}
        for name, part in self._parts.items():
            _check_levels(part.when or {}, known, f"parts: {name}: when")
            if name not in DEFAULTS and not any(_is_shown(part, levels) for levels in self._whole):
                raise SpecError(
                    f"the part {name!r} would never occur",
                    where=f"parts: {name}: when",
                    expected="levels that occur together",
                    found=str({factor: list(levels) for factor, levels in (part.when or {}).items()}),
                )
        for combination in self._whole:
            asked = [
                name for name, part in self._parts.items() if part.output and _is_shown(part, combination)
            ]
            if len(asked) > 1:
                raise SpecError(
                    f"the parts {asked[0]!r} and {asked[1]!r} ask for two outputs at once",
                    where="parts",
                    expected="one part with an output in each prompt",
                    found=", ".join(f"{factor}={level}" for factor, level in combination.items()),
                )

    def _check_texts(self, context: PromptContext) -> None:
        used = {
            name for levels in self._whole for name, part in self._parts.items() if _is_shown(part, levels)
        }
        is_short = any(_CONCISE in levels.values() for levels in self._whole)
        for name in used:
            part, where = self._parts[name], f"parts: {name}"
            standard = _text_of(name, part, context.prompt, concise=False)
            if name == "definitions" and "definition" in standard and not _defined(standard, context):
                raise SpecError(
                    "no label has a definition",
                    where=where,
                    expected="a definition of each label, under task.labels",
                    fix="add them, or write the part's text, or leave the factor `definition` out",
                )
            if is_short and standard:
                _check_concise(name, part, standard, context, where)


def _check_factors(factors: Mapping[str, FactorSpec]) -> None:
    if not factors:
        raise SpecError("no factor is given", where="factors", expected="levels by factor")
    before: dict[str, FactorSpec] = {}
    for name, factor in factors.items():
        where = f"factors: {name}"
        if not factor.levels:
            raise SpecError(f"the factor {name!r} has no level", where=where, expected="two levels or more")
        for level in factor.levels:
            if factor.levels.count(level) > 1:
                raise SpecError(f"the level {level!r} is given twice", where=where, fix="remove one of them")
        _check_levels(factor.only, before, f"{where}: only", factors)
        before[name] = factor
        if not any(name in levels for levels in _combinations(before)):
            raise SpecError(
                f"the factor {name!r} would never have a level",
                where=f"{where}: only",
                expected="levels that occur together",
                found=str({other: list(levels) for other, levels in factor.only.items()}),
            )


def _check_levels(
    asked: Mapping[str, Sequence[str]],
    known: Mapping[str, FactorSpec],
    where: str,
    later: Collection[str] = (),
) -> None:
    """Check that the factors and levels that a condition names exist; those in ``later`` come too late."""
    for factor, levels in asked.items():
        if factor not in known:
            fix = f"name {factor!r} first" if factor in later else None
            raise UnknownName("factor", factor, known, where=where, fix=fix)
        for level in levels:
            if level not in known[factor].levels:
                raise UnknownName("level", level, known[factor].levels, where=where)


def _combinations(factors: Mapping[str, FactorSpec]) -> Iterator[dict[str, str]]:
    """Every combination of levels; a nested factor has none where it does not apply."""
    found: list[dict[str, str]] = [{}]
    for name, factor in factors.items():
        found = [
            {**levels, name: level} if level is not None else levels
            for levels in found
            for level in (factor.levels if _applies(factor.only, levels) else [None])
        ]
    yield from found


def _applies(only: Mapping[str, tuple[str, ...]], levels: Mapping[str, str]) -> bool:
    return all(levels.get(factor) in some for factor, some in only.items())


def _is_shown(part: Part, levels: Mapping[str, str]) -> bool:
    """Whether a part is present; a default factor that the study does not vary is at its first level."""
    first = {name: factor.levels[0] for name, factor in FACTORS.items()}
    return _applies(part.when or {}, {**first, **levels})


def _parts(given: Mapping[str, Part], order: Sequence[str] | None) -> dict[str, Part]:
    parts = {**DEFAULTS, **given}
    for name in given.keys() & DEFAULTS.keys():
        own = {key: value for key, value in given[name] if value is not None}
        # The default's concise text does not shorten another text.
        usual = DEFAULTS[name].model_copy(update={"concise": None} if "text" in own else {})
        parts[name] = usual.model_copy(update=own)
    for name, part in parts.items():
        if part.text is None and name not in ("task", "label"):
            raise SpecError(f"the part {name!r} has no text", where=f"parts: {name}", expected="text: …")
    if order is None:
        return parts
    for name in order:
        if name not in parts:
            raise UnknownName("part", name, parts, where="order")
    if set(order) != set(parts) or len(order) != len(parts):
        left = [name for name in parts if order.count(name) != 1]
        raise SpecError(
            "the order does not contain every part once",
            where="order",
            expected=", ".join(parts),
            found=f"{left[0]} {order.count(left[0])} times",
        )
    return {name: parts[name] for name in order}


def _text_of(name: str, part: Part, variant: Variant, *, concise: bool) -> str:
    """A part's text; if it has none, the variant's own instruction or postfix."""
    if concise and part.concise is not None:
        return part.concise.text
    if part.text is not None:
        return part.text
    return variant.instruction if name == "task" else variant.postfix


def _defined(text: str, context: PromptContext) -> bool:
    return "labels" not in names_in(text) or any(
        context.prompt.definitions.get(label.code, label.definition) for label in context.labels.labels
    )


def _check_concise(name: str, part: Part, standard: str, context: PromptContext, where: str) -> None:
    concise = part.concise
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
