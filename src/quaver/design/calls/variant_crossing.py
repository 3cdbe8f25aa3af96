"""A study's variants: every family's levels, edited by hand where somebody did so, and crossed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from quaver.core import registry
from quaver.core.annotations import ANNOTATION_COLUMNS
from quaver.core.records import LabelSet, Variant
from quaver.core.seeds import derive
from quaver.design.calls.crossing import Only, nested, sampled
from quaver.design.calls.template_checks import check_answers
from quaver.design.factors.factor_level import LevelOfFactor, columns_of, cross
from quaver.design.factors.prompt_edits import Editable, editable, with_edits
from quaver.design.paraphrase.meaning import with_meaning
from quaver.design.paraphrase.paraphrase_keeper import Keeper
from quaver.design.paraphrase.prompt_context import PromptContext
from quaver.design.spec import TEXT_FACTOR, FamilySpec, StudySpec
from quaver.design.spec.former_names import former_factor
from quaver.design.spec.study_file import Positions, bind
from quaver.design.variants.variant_family import VariantFamily
from quaver.errors import SpecError


class StudyVariants(NamedTuple):
    """The variants, notes on how they were chosen, and the templates that a person may edit."""

    variants: list[Variant]
    notes: list[str]
    editable: list[Editable]


def prompt_of(spec: StudySpec, labels: LabelSet) -> Variant:
    """The study file's own prompt."""
    given = spec.prompt
    return Variant(
        id="",
        factors={},
        system=given.system,
        layout=given.layout,
        text=next(iter(spec.items.text.values())),
        instruction=given.instruction,
        postfix=given.postfix,
        answers={label.code: given.answers.get(label.code, label.name) for label in labels.labels},
        frame=given.frame,
        explains=given.explains,
    )


def variants_of(spec: StudySpec, context: PromptContext, keeper: Keeper, source: Positions) -> StudyVariants:
    """Every variant of a study.

    Args:
        spec: The study.
        context: The study's prompt and what its families draw on.
        keeper: Stores paraphrases that a model made and edits made by hand.
        source: Where the study's parts stand, for errors.

    Raises:
        SpecError: The families contradict each other, or make no usable prompt.
        UnknownName: A plug-in, factor or level does not exist.
    """
    factors: dict[str, Sequence[LevelOfFactor]] = _texts(spec, source)
    partial: list[tuple[Mapping[str, str], Only, str]] = []
    notes = list(spec.notes)
    rewording: str | None = None
    for index, asked in enumerate(spec.variants):
        family = _family(asked, index, source)
        factor = asked.factor or family.factor
        own = replace(context, seed=derive(spec.seed, "variants", former_factor(factor)))
        with source.locating("variants", index):
            levels = with_edits(factor, family.levels(own), context.prompt, keeper.edits)
            if getattr(family, "rewords", False):
                rewording = _only_one(rewording, factor)
                levels = with_meaning(
                    levels, context.prompt, context.labels, spec.meaning, keeper.similarities
                )
            notes += getattr(family, "notes", lambda _: ())(own)
        _check_columns(factor, levels, factors, spec, source.where("variants", index))
        factors[factor] = levels
        if asked.only and levels:
            first = ({factor: levels[0].name} if factor else {}) | dict(levels[0].columns)
            partial.append((first, asked.only, source.where("variants", index, "only")))
    with source.locating("variants"):
        variants, left_out = nested(cross(context.prompt, factors), partial)
        variants, drawn = sampled(variants, spec)
    for variant in variants:
        check_answers(variant, source)
    return StudyVariants(variants, [*notes, *left_out, *drawn], editable(context.prompt, factors))


def _texts(spec: StudySpec, source: Positions) -> dict[str, Sequence[LevelOfFactor]]:
    """The factor of the items' text, where the study gives several templates of it."""
    if len(spec.items.text) == 1:
        return {}
    if TEXT_FACTOR in spec.items.columns:
        raise SpecError(
            f"the factor {TEXT_FACTOR!r} of several text templates would be a column that exists already",
            where=source.where("items", "groups"),
            found=TEXT_FACTOR,
            fix="rename the column",
        )
    return {TEXT_FACTOR: [_text_level(name, text) for name, text in spec.items.text.items()]}


def _text_level(name: str, template: str) -> LevelOfFactor:
    return LevelOfFactor(name, lambda variant: replace(variant, text=template), {"family": "texts"})


def _family(asked: FamilySpec, index: int, source: Positions) -> VariantFamily:
    loc = ("variants", index)
    plugin = registry.load("variants", asked.use, where=source.where(*loc))
    options = bind(plugin, asked.options, source, loc, beside=("use", "factor", "only"))
    with source.locating(*loc):
        family: VariantFamily = plugin(**options)
    return family


def _only_one(before: str | None, factor: str) -> str:
    """The factor that rewords the instruction: a second one would undo the first.

    Raises:
        SpecError: There is one already.
    """
    if before is not None:
        raise SpecError(
            "only one family can reword the instruction",
            found=f"{before} and {factor}",
            fix="leave one of them out, or put all paraphrases into one family",
        )
    return factor


def _check_columns(
    factor: str, levels: Sequence[LevelOfFactor], known: Mapping[str, object], spec: StudySpec, where: str
) -> None:
    for column in columns_of(factor, levels) or [factor]:
        if factor in known or column in ANNOTATION_COLUMNS or column in spec.items.columns:
            raise SpecError(
                f"the factor {column!r} would be a column that exists already",
                where=where,
                found=column,
                fix="give it another name with `factor:`",
            )
