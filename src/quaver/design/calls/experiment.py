"""A study file made concrete: its items, variants, decodings and conditions, all checked."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from pathlib import Path

from quaver.core.label_values import Codebook, tree_of, ways_down
from quaver.core.records import JOINED, SPLIT, Condition, Decoding, Item, LabelSet, Variant
from quaver.core.seeds import derive
from quaver.design.calls.label_levels import ONE_BY_ONE, beginning_at_top, note_on_levels, with_levels
from quaver.design.calls.variant_crossing import (
    check_constraints,
    check_shown,
    check_spec_syntax,
    check_templates,
    conditions_of,
    prompt_of,
    variants_of,
)
from quaver.design.factor_levels import ORIGINAL
from quaver.design.items.answer_options import options_of
from quaver.design.items.item_labels import notes_on_gold
from quaver.design.items.item_media import notes_on_media, with_versions
from quaver.design.items.item_table import NEAR_DUPLICATES, load_items, with_near_duplicates
from quaver.design.items.text_parts import joins_of, notes_on_parts, parts_of, split_column
from quaver.design.paraphrase.paraphraser import Keeper, PromptContext
from quaver.design.prompt_words import words_in
from quaver.design.prompts.follow_ups import FollowUp
from quaver.design.prompts.rendering import PromptWriter
from quaver.design.spec import StudySpec
from quaver.design.spec.items_spec import BY_MODEL
from quaver.design.spec.study_file import Positions, built
from quaver.errors import SpecError, UnknownName


@dataclass(frozen=True)
class Experiment:
    """What a study resolved to.

    Attributes:
        labels: The label set.
        items: The items, sampled.
        variants: Every variant.
        decodings: The decodings by name.
        conditions: Model × variant × decoding, models outermost; then for each of these its follow-ups.
        notes: How the variants were chosen, as a reader must know it: aliases, samples, nested factors.
        follow_ups: The follow-ups by name.
        prompt: The study file's own prompt; None where there is none.
        cut: The column of which long texts are asked about in parts, or an empty string.
        below: The variants of calls that follow an answer level by level, or join the labels of a text's
            parts; none before it is `in_parts`.
        joins: How many texts have parts whose labels the model joins; 0 before it is `in_parts`.
    """

    labels: LabelSet
    items: Sequence[Item]
    variants: Sequence[Variant]
    decodings: Mapping[str, Decoding]
    conditions: Sequence[Condition]
    notes: Sequence[str] = ()
    follow_ups: Mapping[str, FollowUp] = field(default_factory=dict)
    prompt: Variant | None = None
    cut: str = ""
    below: Sequence[Variant] = ()
    joins: int = 0

    @property
    def calls(self) -> int:
        """How many calls the whole design takes; where the next level is asked for, at most."""
        asked = self.in_parts
        return sum(map(asked.calls_of, range(len(asked.conditions))))

    def calls_of(self, position: int) -> int:
        """How many calls a condition that is asked takes, at most, with those of the levels below.

        Those of a level are counted with the top: an answer is followed by the call of one label alone.
        """
        condition = self.conditions[position]
        if self.is_level(condition):
            return 0
        return condition.repeats * (len(self.items) * self.ways_down[""] + self.joins)

    @cached_property
    def ways_down(self) -> dict[str, int]:
        """How many calls one after the other each label leads to at most; the first call, under no name."""
        return ways_down(self.labels) if self.below and not self.joins else {"": 1}

    def is_level(self, condition: Condition) -> bool:
        """Whether a condition that is asked offers what falls under the label that it follows."""
        return condition.parent is not None and condition.follow_up not in self.follow_ups

    @cached_property
    def in_parts(self) -> Experiment:
        """The design as it is asked: in the place of each long text its parts, of all splits together.

        It has the conditions of calls that follow: of those below the top where the levels of a tree are
        asked one by one, and where the model joins the labels of a text's parts.
        """
        is_cut = self.splits or any(item.parts for item in self.items)
        if not is_cut and not any(variant.below for variant in self.variants):
            return self
        items = [part for item in self.items for part in parts_of(item, self.cut)]
        variants = {}
        for variant in self.variants:
            _, name = self.splits.get(variant.id, (0, variant.id))
            factors = {factor: level for factor, level in variant.factors.items() if factor != SPLIT}
            variants[name] = replace(variant, id=name, factors=factors)
        asked = [*variants.values()]
        below, conditions = with_levels(asked, [*dict.fromkeys(self.asked)], self.labels)
        joins = sum(bool(item.parts) for item in self.items if self.variants[0].is_joined)
        return replace(self, items=items, variants=asked, conditions=conditions, below=below, joins=joins)

    @cached_property
    def splits(self) -> dict[str, tuple[int, str]]:
        """For each variant the number of its split and the variant that is asked; of a single split none."""
        return {
            variant.id: (number, variant.id.removesuffix(f"{SPLIT}={level}").removesuffix(",") or ORIGINAL)
            for variant in self.variants
            if (level := variant.factors.get(SPLIT)) and (number := split_of(variant)) is not None
        }

    @cached_property
    def asked(self) -> list[Condition]:
        """For each condition the one that is asked: that of its prompt, whatever the split."""
        asked, places = list[Condition](), dict[Condition, int]()
        for condition in self.conditions:
            _, name = self.splits.get(condition.variant, (0, condition.variant))
            parent = None if condition.parent is None else places[asked[condition.parent]]
            asked.append(replace(condition, variant=name, parent=parent))
            places.setdefault(asked[-1], len(places))
        return asked

    @cached_property
    def groups(self) -> list[str]:
        """The columns that group the items."""
        return [*dict.fromkeys(name for item in self.items for name in item.groups)]

    @cached_property
    def levels(self) -> dict[str, list[str]]:
        """The levels of each factor, in the variants' order."""
        levels: dict[str, dict[str, None]] = {}
        for variant in self.variants:
            for factor, level in variant.factors.items():
                levels.setdefault(factor, {})[level] = None
        return {factor: [*some] for factor, some in levels.items()}

    def decoding(self, condition: Condition) -> Decoding:
        """The decoding of a condition's calls."""
        variant = self.every_variant[condition.variant]
        if condition.follow_up in self.follow_ups:
            return self.follow_ups[condition.follow_up].decoding(variant)
        decoding = self.decodings[condition.decoding]
        return decoding if variant.max_tokens is None else replace(decoding, max_tokens=variant.max_tokens)

    @cached_property
    def items_hash(self) -> str:
        """A hash of the items: their ids, fields, gold labels and parts, in order."""
        state = blake2b(digest_size=16)
        written = json.JSONEncoder(sort_keys=True, default=str).encode
        for item in self.items:
            shown = [one.sha256 for medium in item.media for one in medium.every]
            more = [*shown, *([item.parts] if item.parts else [])]
            row = written([item.id, dict(item.fields), dict(item.golds) or item.gold, *more])
            state.update(f"{row}\n".encode("utf-8", "surrogatepass"))
        return state.hexdigest()

    @cached_property
    def tops(self) -> dict[str, tuple[str, str]]:
        """For each variant that is asked that of the top level, and the label that it follows, if any."""
        tops = {}
        for condition in self.conditions:
            top, label = condition.variant, ""
            if self.is_level(condition):
                label = condition.follow_up
                top = top.removesuffix(f" / {label}")
            tops[condition.variant] = top, label
        return tops

    @cached_property
    def every_variant(self) -> dict[str, Variant]:
        """The variants by their names, with those of calls that follow an answer."""
        return {variant.id: variant for variant in (*self.variants, *self.below)}


def split_of(variant: Variant) -> int | None:
    """The number of a variant's split, where there are several."""
    number = variant.origin.get(SPLIT, {}).get("split")
    return None if number is None else int(number)


def resolve(
    spec: StudySpec, source: Positions, keeper: Keeper | None = None, kept: Path | None = None
) -> Experiment:
    """Load the items, make the variants, and cross them with decodings and models."""
    labels = spec.task.label_set(spec.prompt.language)
    items, spare = load_items(spec, source, kept)
    for column in labels.options:
        if column not in items[0].fields:
            raise UnknownName("column", column, items[0].fields, where=source.where("task", "options"))
    for item in items if labels.options else ():
        options_of(item, labels)
    check_spec_syntax(spec, source)
    by_level = spec.task.levels == ONE_BY_ONE
    named = tree_of(labels) if by_level else labels
    prompt, texts = prompt_of(spec, named), tuple(spec.items.text.values())
    shown = LabelSet(()) if isinstance(named, Codebook) else named  # families change no field's labels
    context = PromptContext(prompt, shown, spec.seed, spare, source.home, items, texts, keeper)
    variants, notes = variants_of(spec, context, source)
    if by_level:
        variants = beginning_at_top(variants, prompt, labels, source)
        (prompt,) = beginning_at_top([prompt], prompt, labels, source)
        notes.append(note_on_levels(labels))
    notes = [*notes, *notes_on_gold(spec.items, items), *notes_on_media(items)]
    split, cut = spec.items.split, ""
    if split is not None:
        joins_of(split, labels, source)
        notes += notes_on_parts(split, items)
        cut = split_column(spec.items, source, items[0].fields)
        used = {split_of(variant) for variant in variants}
        items = [
            replace(item, parts=tuple(p for p in item.parts if not used.isdisjoint(p[2:] or used)))
            for item in items
        ]
    check_templates(spec, variants, items, source)
    check_shown(variants, items, source)
    items = with_versions(items, variants, kept)
    if NEAR_DUPLICATES in spec.items.groups and NEAR_DUPLICATES not in items[0].groups:
        writer = PromptWriter(variants[0], labels)
        items = with_near_duplicates(items, list(map(writer.compared, items)))
    decodings = {
        name: decoding.decoding(name, derive(spec.seed, "decoding"))
        for name, decoding in spec.decoding.items()
    }
    conditions = conditions_of(spec, variants, source)
    check_constraints(spec, variants, conditions, source)
    if split and split.join == BY_MODEL and any(item.parts for item in items):
        above = words_in(spec.prompt.language)["joined"]
        variants = [replace(variant, below={JOINED: above}) for variant in variants]
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
    return Experiment(labels, items, variants, decodings, conditions, notes, follow_ups, prompt, cut)


def follow_ups_of(spec: StudySpec, source: Positions) -> dict[str, FollowUp]:
    """A study's follow-ups, by their names in it."""
    result: dict[str, FollowUp] = {}
    for index, follow_up in enumerate(spec.follow_ups):
        loc = ("follow_ups", index)
        for other in spec.follow_ups[:index]:
            if (other.use, other.options) == (follow_up.use, follow_up.options):
                raise SpecError(
                    "this follow-up is asked for twice", where=source.where(*loc), found=follow_up.use
                )
        result[follow_up.title] = built("follow_ups", follow_up, source, loc, "name")
    return result
