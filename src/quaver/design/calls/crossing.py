"""Variants × decodings × models: which of all combinations a study asks, and which it leaves out."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from quaver.core.records import Condition, Variant
from quaver.core.seeds import derive
from quaver.design.spec import StudySpec
from quaver.design.spec.study_file import Positions
from quaver.errors import SpecError, UnknownName

Only = Mapping[str, tuple[str, ...]]
"""Levels by factor: a condition, which holds where each of these factors has one of its levels."""


def nested(
    variants: Sequence[Variant], families: Sequence[tuple[Mapping[str, str], Only, str]]
) -> tuple[list[Variant], list[str]]:
    """Leave out the combinations in which a family varies outside its ``only``.

    Args:
        variants: All combinations.
        families: For each family with an ``only``: the columns of its first level, the ``only``, and its
            place in the study file.

    Returns:
        The variants that are left, and notes on what was left out.

    Raises:
        UnknownName: ``only`` names a factor or a level that no variant has.
        SpecError: The family varies nowhere, because no variant has the levels that ``only`` names.
    """
    notes = []
    for first, only, where in families:
        _check_only(only, variants, where)
        left = [one for one in variants if _fits(one, only) or _has(one, first)]
        if all(_has(one, first) for one in left):
            raise SpecError(
                "these levels would never occur",
                where=where,
                expected="a combination of the other factors' levels that the study has",
                found=_in_words(only),
            )
        notes.append(
            f"{', '.join(first)} varies only where {_in_words(only)}: {len(left):,} of {len(variants):,} "
            "combinations are asked."
        )
        variants = left
    return list(variants), notes


def sampled(variants: Sequence[Variant], spec: StudySpec) -> tuple[list[Variant], list[str]]:
    """The variants that the study's ``sample`` draws: the first one and others at random, in order."""
    size = spec.sample.variants
    if size is None or size >= len(variants):
        return list(variants), []
    seed = spec.sample.seed if spec.sample.seed is not None else derive(spec.seed, "variants", "sample")
    chosen = {0, *random.Random(seed).sample(range(1, len(variants)), size - 1)}
    note = (
        f"{size:,} of {len(variants):,} variants are asked: the first and {size - 1:,} others drawn "
        f"without replacement (seed {seed})."
    )
    return [variant for index, variant in enumerate(variants) if index in chosen], [note]


def conditions_of(spec: StudySpec, variants: Sequence[Variant], source: Positions) -> list[Condition]:
    """Model × variant × decoding, models outermost, without what a model's or decoding's ``only`` leaves out.

    Raises:
        UnknownName: ``only`` names a factor or a level that no variant has.
        SpecError: A model or a decoding is never used.
    """
    asked: dict[tuple[str, str], set[str]] = {}
    askers: list[tuple[str, str, Only, tuple[str | int, ...]]] = [
        *(("model", one.name, one.only, ("models", at)) for at, one in enumerate(spec.models)),
        *(("decoding", name, one.only, ("decoding", name)) for name, one in spec.decoding.items()),
    ]
    for kind, name, only, loc in askers:
        where = source.where(*loc, "only")
        _check_only(only, variants, where)
        asked[kind, name] = {variant.id for variant in variants if _fits(variant, only)}
        if not asked[kind, name]:
            raise SpecError(
                f"the {kind} {name!r} would never be used",
                where=where,
                expected="a combination of levels that the study has",
                found=_in_words(only),
            )
    return [
        Condition(model.name, variant.id, name, given.repeats or spec.repeats)
        for model in spec.models
        for variant in variants
        if variant.id in asked["model", model.name]
        for name, given in spec.decoding.items()
        if variant.id in asked["decoding", name]
    ]


def check_constraints(
    spec: StudySpec, variants: Sequence[Variant], conditions: Sequence[Condition], source: Positions
) -> None:
    """Check that each prompt's answers can be given with its decoding.

    Raises:
        SpecError: A prompt asks for scores where only labels can be written, or for an answer that contains
            a stop sequence.
    """
    known = {variant.id: variant for variant in variants}
    scores = {variant.id for variant in variants if variant.output == "score"}
    for one in conditions:
        answers = known[one.variant].answers.values()
        for at, stop in enumerate(spec.decoding[one.decoding].stop):
            if cut := next((answer for answer in answers if stop in answer), None):
                raise SpecError(
                    "an answer could never be given in full",
                    where=source.where("decoding", one.decoding, "stop", at),
                    expected="no `stop` inside an answer",
                    found=f"stop: {stop!r}, answer: {cut!r}",
                    fix="leave it out, or give the label another answer (prompt.answers)",
                )
        if one.variant in scores and spec.decoding[one.decoding].constraint == "labels":
            raise SpecError(
                "the prompt asks for a score, but the decoding allows labels only",
                where=source.where("decoding", one.decoding, "constraint"),
                expected="constraint: none for prompts that ask for scores",
                found=one.variant,
                fix="use this decoding for the other prompts only, for example only: {output: label}",
            )


def _check_only(only: Only, variants: Sequence[Variant], where: str) -> None:
    for factor, levels in only.items():
        known = dict.fromkeys(v.factors[factor] for v in variants if factor in v.factors)
        if not known:
            factors = {name for variant in variants for name in variant.factors}
            raise UnknownName("factor", factor, factors, where=where)
        for level in levels:
            if level not in known:
                raise UnknownName("level", level, known, where=f"{where}: {factor}")


def _fits(variant: Variant, only: Only) -> bool:
    return all(variant.factors.get(factor) in levels for factor, levels in only.items())


def _has(variant: Variant, columns: Mapping[str, str]) -> bool:
    return all(variant.factors.get(column) == level for column, level in columns.items())


def _in_words(only: Only) -> str:
    return " and ".join(f"{factor} is {' or '.join(levels)}" for factor, levels in only.items())
