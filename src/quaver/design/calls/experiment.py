"""A study file made concrete: its items, variants, decodings and conditions, all checked."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b

from quaver.core import registry
from quaver.core.records import ANNOTATION_COLUMNS, Condition, Decoding, Item, LabelSet, Variant
from quaver.core.seeds import derive
from quaver.design.calls.crossing import Only, check_constraints, conditions_of, nested, sampled
from quaver.design.factors.factor_level import LevelOfFactor, columns_of, cross
from quaver.design.factors.prompt_edits import Editable, editable, edited
from quaver.design.follow_ups import FollowUp
from quaver.design.items.answer_options import options_of
from quaver.design.items.item_table import load_items
from quaver.design.paraphrase.meaning import checked
from quaver.design.paraphrase.paraphrase_keeper import NOTHING_KEPT, Keeper
from quaver.design.prompts.postfix import check_postfix
from quaver.design.prompts.prompt_context import PromptContext
from quaver.design.prompts.rendering import PROMPT_NAMES
from quaver.design.prompts.templates import check, check_columns, check_syntax, names_in
from quaver.design.spec import TEXT_FACTOR, StudySpec
from quaver.design.spec.former_names import former_factor
from quaver.design.spec.study_file import Source, bind
from quaver.design.variants.variant_family import VariantFamily
from quaver.errors import SpecError, UnknownName

__all__ = ["Experiment", "follow_ups_of", "resolve"]


@dataclass(frozen=True)
class Experiment:
    """What a study resolved to.

    Attributes:
        labels: The label set.
        items: The items, sampled.
        variants: Every variant.
        decodings: The decodings by name.
        conditions: Model × variant × decoding, models outermost; then for each of these its follow-ups.
        notes: What a reader must know of how the variants were chosen: aliasing, samples, what was nested.
        follow_ups: The follow-ups by name.
        editable: What a person may rewrite: the templates that the factors' levels bring.
        prompt: The study file's own prompt, nothing varied; None where there is none.
    """

    labels: LabelSet
    items: Sequence[Item]
    variants: Sequence[Variant]
    decodings: Mapping[str, Decoding]
    conditions: Sequence[Condition]
    notes: Sequence[str] = ()
    follow_ups: Mapping[str, FollowUp] = field(default_factory=dict)
    editable: Sequence[Editable] = ()
    prompt: Variant | None = None

    @property
    def calls(self) -> int:
        """How many calls the whole design takes."""
        return len(self.items) * sum(condition.repeats for condition in self.conditions)

    def decoding(self, condition: Condition) -> Decoding:
        """How a condition's calls are answered."""
        variant = self._variants[condition.variant]
        if condition.follow_up:
            return self.follow_ups[condition.follow_up].decoding(variant)
        decoding = self.decodings[condition.decoding]
        return decoding if variant.max_tokens is None else replace(decoding, max_tokens=variant.max_tokens)

    @cached_property
    def items_hash(self) -> str:
        """A hash of the items: their ids, fields and gold labels, in order."""
        written = json.JSONEncoder(sort_keys=True, default=str).encode
        state = blake2b(digest_size=16)
        for item in self.items:
            row = written([item.id, dict(item.fields), item.gold])
            state.update(row.encode("utf-8", "surrogatepass") + b"\n")
        return state.hexdigest()

    @cached_property
    def _variants(self) -> dict[str, Variant]:
        return {variant.id: variant for variant in self.variants}


def resolve(spec: StudySpec, source: Source, keeper: Keeper = NOTHING_KEPT) -> Experiment:
    """Load the items, build the variants, cross everything.

    Args:
        spec: The study.
        source: Where its parts stand, for errors.
        keeper: Has the paraphrases that models made, and the edits made by hand.

    Raises:
        SpecError: A template is wrong, or the design contradicts itself.
        ItemError: The items are not usable.
        UnknownName: A plug-in, column or label does not exist.
    """
    labels = spec.task.label_set()
    items, spare = load_items(spec, source)
    _check_options(labels, items, source)
    _check_syntax(spec, source)
    prompt = _prompt(spec, labels)
    variants, notes, texts = _variants(spec, prompt, labels, items, spare, source, keeper)
    _check_templates(spec, variants, items, source)
    _check_postfixes(variants, labels, source)
    decodings = {
        name: given.decoding(name, derive(spec.seed, "decoding")) for name, given in spec.decoding.items()
    }
    _check_grid_columns(spec, variants, decodings, source)
    conditions = conditions_of(spec, variants, source)
    check_constraints(spec, variants, conditions, source)
    follow_ups = follow_ups_of(spec, source)
    conditions += [
        Condition(
            condition.model,
            condition.variant,
            condition.decoding,
            condition.repeats if follow_up.quotes_answer else 1,
            name,
            index if follow_up.quotes_answer else None,
        )
        for index, condition in enumerate(conditions)
        for name, follow_up in follow_ups.items()
    ]
    return Experiment(labels, items, variants, decodings, conditions, notes, follow_ups, texts, prompt)


def follow_ups_of(spec: StudySpec, source: Source) -> dict[str, FollowUp]:
    """The follow-ups that a study names, by the name that they have in it."""
    found: dict[str, FollowUp] = {}
    for index, asked in enumerate(spec.follow_ups):
        loc = ("follow_ups", index)
        for other in spec.follow_ups[:index]:
            if (other.use, other.options) == (asked.use, asked.options):
                raise SpecError(
                    "this follow-up is asked for twice", where=source.where(*loc), found=asked.use
                )
        plugin = registry.load("follow_ups", asked.use, where=source.where(*loc))
        with source.locating(*loc):
            found[asked.title] = plugin(**bind(plugin, asked.options, source, loc, ("use", "name")))
    return found


def _check_options(labels: LabelSet, items: Sequence[Item], source: Source) -> None:
    for column in labels.options:
        if column not in items[0].fields:
            raise UnknownName("column", column, items[0].fields, where=source.where("task", "options"))
    for item in items if labels.options else ():
        options_of(item, labels)


def _check_grid_columns(
    spec: StudySpec, variants: Sequence[Variant], decodings: Mapping[str, Decoding], source: Source
) -> None:
    taken = {name for variant in variants for name in (*variant.factors, *variant.covariates)}
    taken |= set(spec.items.groups)
    for setting in dict.fromkeys(setting for one in decodings.values() for setting in one.grid):
        if setting in taken:
            raise SpecError(
                f"the grid's setting {setting!r} would be a column that exists already",
                where=source.where("decoding"),
                found=setting,
                fix="give that column another name, or write the decodings out one by one",
            )


def _prompt(spec: StudySpec, labels: LabelSet) -> Variant:
    """The study file's own prompt."""
    given = spec.prompt
    first_text = next(iter(spec.items.text.values()))
    return Variant(
        id="",
        factors={},
        system=given.system,
        layout=given.layout,
        text=first_text,
        instruction=given.instruction,
        postfix=given.postfix,
        answers={label.code: given.answers.get(label.code, label.name) for label in labels.labels},
        frame=given.frame,
        explains=given.explains,
    )


def _variants(
    spec: StudySpec,
    prompt: Variant,
    labels: LabelSet,
    sample: Sequence[Item],
    spare: Sequence[Item],
    source: Source,
    keeper: Keeper,
) -> tuple[list[Variant], list[str], list[Editable]]:
    factors: dict[str, Sequence[LevelOfFactor]] = {}
    partial: list[tuple[Mapping[str, str], Only, str]] = []
    notes: list[str] = []
    rewording: str | None = None
    if len(spec.items.text) > 1:
        if TEXT_FACTOR in spec.items.groups:
            raise SpecError(
                f"the factor {TEXT_FACTOR!r} of several text templates would be a column that exists already",
                where=source.where("items", "groups"),
                found=TEXT_FACTOR,
                fix="rename the column",
            )
        factors[TEXT_FACTOR] = [_text_level(name, text) for name, text in spec.items.text.items()]
    for index, asked in enumerate(spec.variants):
        where = source.where("variants", index)
        plugin = registry.load("variants", asked.use, where=where)
        options = bind(plugin, asked.options, source, ("variants", index), beside=("use", "factor", "only"))
        with source.locating("variants", index):
            family: VariantFamily = plugin(**options)
        factor = asked.factor or family.factor
        with source.locating("variants", index):
            seed = derive(spec.seed, "variants", former_factor(factor))
            texts = tuple(spec.items.text.values())
            context = PromptContext(prompt, labels, seed, spare, source.home, sample, texts, keeper)
            levels = edited(factor, family.levels(context), prompt, keeper.edits)
            if getattr(family, "rewords", False):
                rewording = _only_one(rewording, factor)
                levels = checked(levels, prompt, labels, spec.meaning, keeper.similarities)
            notes += getattr(family, "notes", lambda _: ())(context)
        for column in columns_of(factor, levels) or [factor]:
            if factor in factors or column in ANNOTATION_COLUMNS or column in spec.items.groups:
                raise SpecError(
                    f"the factor {column!r} would be a column that exists already",
                    where=where,
                    found=column,
                    fix="give it another name with `factor:`",
                )
        factors[factor] = levels
        if asked.only and levels:
            own = {factor: levels[0].name} if factor else {}
            partial.append(
                ({**own, **levels[0].columns}, asked.only, source.where("variants", index, "only"))
            )
    with source.locating("variants"):
        variants, left_out = nested(cross(prompt, factors), partial)
        variants, drawn = sampled(variants, spec)
    for variant in variants:
        _check_answers(variant, source)
    return variants, [*spec.notes, *notes, *left_out, *drawn], editable(prompt, factors)


def _only_one(before: str | None, factor: str) -> str:
    """The factor that puts the instruction into other words: a second one would undo the first.

    Raises:
        SpecError: There is one already.
    """
    if before is not None:
        raise SpecError(
            "two families put the instruction into other words, and only one of them can",
            found=f"{before} and {factor}",
            fix="leave one of them out, or put all paraphrases into one family",
        )
    return factor


def _text_level(name: str, template: str) -> LevelOfFactor:
    return LevelOfFactor(name, lambda variant: replace(variant, text=template), {"family": "texts"})


def _check_answers(variant: Variant, source: Source) -> None:
    codes_by_answer: dict[str, str] = {}
    for code, answer in variant.answers.items():
        if not answer.strip():
            raise SpecError(
                f"the label {code!r} would be answered with nothing",
                where=_of_variant(variant, source, "answers"),
                expected="a text",
                found=repr(answer),
            )
        other = codes_by_answer.setdefault(answer.strip().casefold(), code)
        if other != code:
            raise SpecError(
                f"the labels {other!r} and {code!r} would be answered alike",
                where=_of_variant(variant, source, "answers"),
                expected="an answer of its own for every label",
                found=answer,
            )


def _check_descriptions(variants: Sequence[Variant], source: Source) -> None:
    parts = ("instruction", "postfix", "system", "layout", "schema")
    described = [variant for variant in variants if variant.definitions]
    if described and not any(
        "definition" in getattr(variant, part) or (part == "schema" and variant.schema)
        for variant in described
        for part in parts
    ):
        raise SpecError(
            "the prompt never shows the labels' definitions that are varied",
            where=_of_variant(described[0], source, "definitions"),
            expected="{{ label.definition }} in a loop over labels, a detailed strategy or JSON answers",
        )


def _of_variant(variant: Variant, source: Source, part: str) -> str:
    """Where a variant's part stands: in the prompt, or wherever the variants come from."""
    if not variant.factors:
        return source.where("prompt", part)
    return f"{source.where('variants')}: {variant.id}: {part}"


def _check_postfixes(variants: Sequence[Variant], labels: LabelSet, source: Source) -> None:
    checked: set[tuple[str, tuple[str, ...]]] = set()
    for variant in variants:
        key = (variant.postfix, tuple(variant.answers.values()))
        if key not in checked:
            checked.add(key)
            check_postfix(variant, labels, where=_of_variant(variant, source, "postfix"))


def _check_syntax(spec: StudySpec, source: Source) -> None:
    """See that the study file's own templates are templates: variants are made of them."""
    for name, template in spec.items.text.items():
        loc = ("items", "text", name) if len(spec.items.text) > 1 else ("items", "text")
        check_syntax(template, where=source.where(*loc))
    for part in ("system", "layout", "instruction", "postfix"):
        check_syntax(getattr(spec.prompt, part), where=source.where("prompt", part))


def _check_templates(
    spec: StudySpec, variants: Sequence[Variant], items: Sequence[Item], source: Source
) -> None:
    columns = set(items[0].fields)
    own = {"options"} if spec.task.options else set()
    shared = [name for name in PROMPT_NAMES if name in own or name != "options"]
    for name, template in spec.items.text.items():
        loc = ("items", "text", name) if len(spec.items.text) > 1 else ("items", "text")
        where = source.where(*loc)
        check(template, columns | {"item"} | own, where=where, needs=[*items[0].fields, "item"])
        check_columns(template, columns, where=where)
    known = {
        "instruction": shared,
        "postfix": shared,
        "system": [*shared, "text", "instruction", "postfix", "question"],
        "layout": [*shared, "text", "instruction", "postfix", "question", "examples"],
    }
    _check_descriptions(variants, source)
    checked: set[tuple[str, str]] = set()  # most variants share their parts with others
    for variant in variants:
        for part, names in known.items():
            template, where = getattr(variant, part), _of_variant(variant, source, part)
            if (part, template) not in checked:
                checked.add((part, template))
                check(template, names, where=where)
                check_columns(template, columns, where=where)
        check(variant.reply, ["answer", "item"], where=_of_variant(variant, source, "reply"))
        if not (names_in(variant.layout) | names_in(variant.system)) & {"text", "item"}:
            raise SpecError(
                "the prompt never shows the item's text",
                where=_of_variant(variant, source, "layout"),
                expected="{{ text }} in the layout or the system message",
                found=variant.layout[:120],
            )
