"""A study's variants: every family's levels, crossed."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from quaver.core import registry
from quaver.core.column_names import column_of
from quaver.core.label_values import Codebook
from quaver.core.records import SPLIT, Condition, Item, LabelSet, Variant
from quaver.core.seeds import derive
from quaver.design.factor_levels import LevelOfFactor, check_names, columns_of, cross, level
from quaver.design.paraphrase.meaning import with_meaning
from quaver.design.paraphrase.paraphraser import REPHRASER, PromptContext
from quaver.design.prompt_words import postfix_for_fields, postfix_for_labels
from quaver.design.prompts.rendering import PROMPT_NAMES, asking_for_fields
from quaver.design.prompts.templates import check, check_columns, check_syntax, names_in
from quaver.design.spec import TEXT_FACTOR, FamilySpec, StudySpec
from quaver.design.spec.study_file import Positions, bind
from quaver.design.variants.rewordings import VariantFamily
from quaver.errors import SpecError, UnknownName

Only = Mapping[str, tuple[str, ...]]
"""Levels by factor: a condition, which holds where each of these factors has one of its levels."""

_DRAWN_AS = {"paraphrase": "wording"}
"""The name by which a factor's levels are drawn, where it is another: draws depend on it."""


def fitting(variants: Sequence[Variant], only: Only, where: str) -> set[str]:
    """The ids of the variants that have the levels of a condition.

    Raises:
        UnknownName: There is no such factor or level.
    """
    for factor, levels in only.items():
        column = column_of("factor", factor)
        known = dict.fromkeys(v.factors[column] for v in variants if column in v.factors)
        if not known:
            factors = {name for variant in variants for name in variant.factors}
            raise UnknownName("factor", factor, factors, where=where)
        check_names("level", levels, known, f"{where}: {factor}")
    return {
        variant.id
        for variant in variants
        if all(variant.factors.get(column_of("factor", name)) in levels for name, levels in only.items())
    }


def _never(problem: str, only: Only, where: str) -> SpecError:
    expected = "a combination of the other factors' levels that the study has"
    return SpecError(
        problem,
        where=where,
        expected=expected,
        found=" and ".join(f"{factor} is {' or '.join(levels)}" for factor, levels in only.items()),
    )


def sampled(
    variants: Sequence[Variant], spec: StudySpec, source: Positions
) -> tuple[list[Variant], list[str]]:
    """The variants that the study's ``sample`` names, or draws: the first one and others at random."""
    size = spec.sample
    if isinstance(size, tuple):
        names = {variant.id: variant for variant in variants}
        for index, name in enumerate(size):
            if name not in names:
                raise UnknownName("variant", name, names, where=source.where("sample", index))
        return [variant for variant in variants if variant.id in size], []
    if size is None or size >= len(variants):
        return list(variants), []
    seed = derive(spec.seed, "variants", "sample")
    chosen = {0, *random.Random(seed).sample(range(1, len(variants)), size - 1)}
    note = (
        f"{size:,} of {len(variants):,} variants are asked: the first and {size - 1:,} others drawn "
        f"without replacement (seed {seed})."
    )
    return [variant for index, variant in enumerate(variants) if index in chosen], [note]


def conditions_of(spec: StudySpec, variants: Sequence[Variant], source: Positions) -> list[Condition]:
    """Model × variant × decoding, models outermost, without what an ``only`` leaves out."""
    asked: dict[tuple[str, str], set[str]] = {}
    askers: list[tuple[str, str, Only, tuple[str | int, ...]]] = [
        *(("model", model.name, model.only, ("models", index)) for index, model in enumerate(spec.models)),
        *(("decoding", name, decoding.only, ("decoding", name)) for name, decoding in spec.decoding.items()),
    ]
    for kind, name, only, loc in askers:
        where = source.where(*loc, "only")
        asked[kind, name] = fitting(variants, only, where)
        if kind == "model":  # a model is not asked what another one reworded for itself
            asked[kind, name] -= {v.id for v in variants if v.covariates.get(REPHRASER, name) != name}
        if not asked[kind, name]:
            raise _never(f"the {kind} {name!r} would never be used", only, where)
    return [
        Condition(model.name, variant.id, name, decoding.repeats or spec.repeats)
        for model in spec.models
        for variant in variants
        if variant.id in asked["model", model.name]
        for name, decoding in spec.decoding.items()
        if variant.id in asked["decoding", name]
    ]


def check_constraints(
    spec: StudySpec, variants: Sequence[Variant], conditions: Sequence[Condition], source: Positions
) -> None:
    """Check that each prompt's answers can be given with its decoding."""
    known = {variant.id: variant for variant in variants}
    for condition in conditions:
        variant, decoding = known[condition.variant], spec.decoding[condition.decoding]
        for index, stop in enumerate(decoding.stop):
            answers = (*variant.answers.values(), *variant.below.values())
            if cut := next((answer for answer in answers if stop in answer), None):
                raise SpecError(
                    "an answer could never be given in full",
                    where=source.where("decoding", condition.decoding, "stop", index),
                    expected="no `stop` inside an answer",
                    found=f"stop: {stop!r}, answer: {cut!r}",
                    fix="leave it out, or give the label another answer (prompt.answers)",
                )
        if variant.output == "score" and decoding.constraint == "labels":
            raise SpecError(
                "the prompt asks for a score, but the decoding allows labels only",
                where=source.where("decoding", condition.decoding, "constraint"),
                expected="constraint: none for prompts that ask for scores",
                found=condition.variant,
                fix="use this decoding for the other prompts only, for example only: {output: label}",
            )


def check_spec_syntax(spec: StudySpec, source: Positions) -> None:
    """Check that the study file's own templates are templates: the variants are made of them."""
    for template, where in _rendered_texts(spec, source):
        check_syntax(template, where=where)
    for part in ("system", "layout", "instruction", "postfix"):
        check_syntax(getattr(spec.prompt, part), where=source.where("prompt", part))


def check_templates(
    spec: StudySpec, variants: Sequence[Variant], items: Sequence[Item], source: Positions
) -> None:
    """Check the templates of the items' text and of every variant."""
    columns = set(items[0].fields)
    own = {"options"} if spec.task.options else set()
    shared = [name for name in PROMPT_NAMES if name in own or name != "options"]
    for template, where in _rendered_texts(spec, source):
        needs = [] if spec.items.media else [*items[0].fields, "item"]
        check(template, columns | {"item"} | own, where=where, needs=needs)
        check_columns(template, columns, where=where)
    known = {
        "instruction": shared,
        "postfix": shared,
        "system": [*shared, "text", "instruction", "postfix", "question"],
        "layout": [*shared, "text", "instruction", "postfix", "question", "examples"],
    }
    checked: set[tuple[str, str]] = set()  # most variants share their parts with others
    for variant in variants:
        for part, names in known.items():
            template, where = getattr(variant, part), _of_variant(variant, source, part)
            if (part, template) not in checked:
                checked.add((part, template))
                check(template, names, where=where)
                check_columns(template, columns, where=where)
        check(variant.reply, ["answer", "item"], where=_of_variant(variant, source, "reply"))
        shows = names_in(variant.layout) | names_in(variant.system)
        if not (shows & {"text", "item"} or spec.items.media):
            raise SpecError(
                "the prompt never shows the item's text",
                where=_of_variant(variant, source, "layout"),
                expected="{{ text }} in the layout or the system message",
                found=variant.layout[:120],
            )


def check_answers(variant: Variant, source: Positions) -> None:
    """Check that each label of a variant has an answer of its own."""
    codes_by_answer: dict[str, str] = {"": ""}
    for code, answer in variant.answers.items():
        other = codes_by_answer.setdefault(answer.strip().casefold(), code)
        if other != code:
            problem = f"the labels {other!r} and {code!r} have the same answer"
            raise SpecError(
                problem if other else f"the label {code!r} has an empty answer",
                where=_of_variant(variant, source, "answers"),
                expected="a different answer for every label",
                found=repr(answer),
            )


def check_shown(variants: Sequence[Variant], items: Sequence[Item], source: Positions) -> None:
    """Check that each prompt can show the items' pictures, pages and recordings, and changes some."""
    kinds = {medium.kind for item in items for medium in item.media}
    for variant in variants if "images" not in kinds else ():
        if variant.pictures:
            raise SpecError(
                "there are no pictures to change",
                where=_of_variant(variant, source, "pictures"),
                expected="items with pictures: `items: {images: file}`",
                found=" and ".join(sorted(filter(None, kinds))) or "texts alone",
            )
    if not kinds:
        return
    for variant in variants:
        inline = any(item.media for item in variant.examples) and "examples" in names_in(variant.layout)
        if inline or variant.frame == "plain":
            part = "layout" if inline else "frame"
            raise SpecError(
                "this prompt is one text, which can show no picture, page or recording",
                where=_of_variant(variant, source, part),
                expected="messages: `frame: chat`, with examples as turns",
                found="{{ examples }} in the layout" if inline else "frame: plain",
            )


def _rendered_texts(spec: StudySpec, source: Positions) -> Iterator[tuple[str, str]]:
    """The templates of the items' text, and where each stands in the study file."""
    several = len(spec.items.text) > 1
    for name, template in spec.items.text.items():
        yield template, source.where("items", "text", *([name] if several else []))


def _of_variant(variant: Variant, source: Positions, part: str) -> str:
    """Where a variant's part stands: in the prompt, or wherever the variants come from."""
    if not variant.factors:
        return source.where("prompt", part)
    return f"{source.where('variants')}: {variant.id}: {part}"


def prompt_of(spec: StudySpec, labels: LabelSet) -> Variant:
    """The study file's own prompt."""
    given, has_fields = spec.prompt, isinstance(labels, Codebook)
    asks = postfix_for_fields if has_fields else postfix_for_labels
    prompt = Variant(
        id="",
        factors={},
        system=given.system,
        layout=given.layout,
        text=next(iter(spec.items.text.values())),
        instruction=given.instruction,
        postfix=asks(given.language) if given.postfix is None else given.postfix,
        answers={label.code: given.answers.get(label.code, label.name) for label in labels.labels},
        frame=given.frame,
        explains=given.explains,
    )
    if not isinstance(labels, Codebook):
        return prompt
    longest = max(decoding.max_tokens for decoding in spec.decoding.values())
    held = spec.task.held is not False
    return asking_for_fields(prompt, labels, held=held, longest=longest, language=given.language)


def variants_of(
    spec: StudySpec, context: PromptContext, source: Positions
) -> tuple[list[Variant], list[str]]:
    """Every variant of a study, and notes on how they were chosen."""
    factors: dict[str, Sequence[LevelOfFactor]] = {}
    if len(spec.items.text) > 1:
        factors[TEXT_FACTOR] = [
            level(name, {"text": text}, family="texts") for name, text in spec.items.text.items()
        ]
    names = enumerate(spec.items.split.levels if spec.items.split else ())
    splits = [level(name, family="splits", split=number) for number, name in names if name]
    by_split = {SPLIT: splits} if splits else {}
    rewording: list[str] = []
    for index, asked in enumerate(spec.variants):
        family, options = _family(asked, index, source, fields=bool(spec.task.fields))
        factor = asked.factor or family.factor
        own = replace(context, seed=derive(spec.seed, "variants", _DRAWN_AS.get(factor, factor)))
        with source.locating("variants", index):
            levels = family(own, **options)
            if family.rewords:
                rewording.append(factor)
                levels = with_meaning(levels, context.prompt, context.labels)
            if len(rewording) > 1:  # a second one would undo the first
                raise SpecError(
                    "only one family can reword the instruction",
                    found=" and ".join(rewording),
                    fix="leave one of them out, or put all paraphrases into one family",
                )
        for column in columns_of(factor, levels) or [factor]:
            if factor in (*factors, *by_split) or column in spec.items.columns:
                raise SpecError(
                    f"the factor {factor!r} would make a column that exists already",
                    where=source.where("variants", index),
                    found=column,
                    fix="give it another name with `factor:`"
                    if column == factor or factor in factors
                    else "rename that column of the items, or leave it out of `groups`",
                )
        factors[factor] = levels
    factors |= by_split
    with source.locating("variants"):
        variants = cross(context.prompt, factors)
    variants, drawn = sampled(variants, spec, source)
    for variant in variants:
        check_answers(variant, source)
    return variants, [*spec.notes, *drawn]


_OF_ANY_ANSWER: Final = frozenset(("instructions", "paraphrases", "pictures", "prompts"))
"""The families that change nothing about labels: those that a task with fields may have."""


def _family(
    asked: FamilySpec, index: int, source: Positions, *, fields: bool
) -> tuple[VariantFamily, dict[str, Any]]:
    """A family with its options."""
    loc = ("variants", index)
    if fields and asked.use not in _OF_ANY_ANSWER:
        raise SpecError(
            "this family varies the labels of one label set, and the task has fields",
            where=source.where(*loc),
            expected=f"one of {', '.join(sorted(_OF_ANY_ANSWER))}",
            found=asked.use,
        )
    family: VariantFamily = registry.load("variants", asked.use, where=source.where(*loc))
    return family, bind(family, asked.options, source, loc, ("use", "factor"))
