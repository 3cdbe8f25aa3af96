"""``shots`` and ``strategies``: examples before the item, from outside the sample or written by hand."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from quaver.core.records import Item, LabelSet, Variant
from quaver.core.seeds import derive
from quaver.design.factor_levels import LevelOfFactor, check_names, level
from quaver.design.paraphrase.paraphraser import PromptContext
from quaver.design.prompts.rendering import PromptWriter
from quaver.design.prompts.templates import names_in
from quaver.errors import ItemError, SpecError

Place = Literal["turns", "message"]
_Number = Annotated[int, Field(ge=0)]


class WrittenExample(BaseModel):
    """An example in the study file: its label's code, and the columns that templates use."""

    model_config = ConfigDict(extra="allow", frozen=True, coerce_numbers_to_str=True)

    label: str = Field(description="Code of its label.")


@dataclass(frozen=True, kw_only=True)
class Shots:
    """The prompt with k examples, for each k that is given.

    Drawn examples are items outside the sample, or of the study's table of examples (``items.examples``),
    that have a gold label; none has the text of a sampled item.
    They are balanced by class: the labels take turns, in an order that is drawn anew for each round. A
    smaller k uses the first examples of a larger one.

    Args:
        k: The number of examples; 0 is the prompt without examples. By default 0 and one of each label, or 0
            and all of ``examples``.
        draws: The number of draws for each k above 0; each is a level.
        place: ``turns`` of a conversation, or inside the user ``message`` (at ``{{ examples }}`` in the
            layout, or at its beginning).
        reply: Template of an example's answer, over ``answer`` and ``item``; the prompt's own if left out.
        examples: Examples to use in this order, instead of drawing them.
    """

    factor = "shots"
    k: _Number | list[_Number] | None = None
    draws: Annotated[int, Field(ge=1)] = 1
    place: Place = "turns"
    reply: str | None = None
    examples: list[WrittenExample] | None = None

    def levels(self, context: PromptContext) -> Sequence[LevelOfFactor]:
        """The prompt with each number of examples and each draw.

        Raises:
            SpecError: There are too few examples, or given ones would be drawn.
            UnknownName: A given example has a label that does not exist.
        """
        written = None if self.examples is None else _items(self.examples, context)
        if written is not None and self.draws > 1:
            raise SpecError(
                "given examples are not drawn",
                where="shots: draws",
                found=f"{self.draws} draws, and {len(written)} examples",
                fix="leave draws or examples out",
            )
        usual = [0, len(context.labels.labels if written is None else written)]
        sizes = usual if self.k is None else [self.k] if isinstance(self.k, int) else self.k
        levels = []
        for k in dict.fromkeys(sizes):
            for draw in range(1, 1 + (self.draws if k else 1)):
                about: dict[str, Any] = {"by": "hand"}
                if written is None:
                    about = {"by": "draw", "draw": draw}
                    examples = drawn(context, k, derive(context.seed, "shots", str(draw)))
                elif k > len(written):
                    raise _too_few(f"{k} examples", f"{len(written)} are given")
                else:
                    examples = tuple(written[:k])
                name = f"{k}-shot {draw}" if k and self.draws > 1 else f"{k}-shot"
                about |= {"k": k, "place": self.place, "examples": [item.id for item in examples]}
                edit = partial(show, examples=examples, place=self.place, reply=self.reply)
                levels.append(level(name, edit, family="shots", **about))
        return levels


class Strategy(BaseModel):
    """What a strategy adds to the prompt; nothing leaves it unchanged."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    definitions: bool = Field(False, description="The labels' definitions, after the instruction.")
    examples: int = Field(0, ge=0, description="The number of examples of each label, before the item.")


_USUAL = {
    "simple": Strategy(),
    "detailed": Strategy(definitions=True),
    "one-shot": Strategy(examples=1),
}


@dataclass(frozen=True, kw_only=True)
class Strategies:
    """Prompting strategies (Errica, Sanvito, Siracusano and Bifulco 2025 compare three).

    Args:
        strategies: By name; by default ``simple`` (the unchanged prompt), ``detailed`` (with the labels'
            definitions) and ``one-shot`` (with one example of each label, drawn as in ``shots``).
        describe: Template of the definitions, over ``labels``.
        place: The place of examples: ``turns`` of a conversation, or inside the user ``message``.
    """

    factor = "strategy"
    strategies: dict[str, Strategy] | None = None
    describe: str = "{% for label in labels %}\n{{ label.answer }}: {{ label.definition }}{% endfor %}"
    place: Place = "turns"

    def levels(self, context: PromptContext) -> Sequence[LevelOfFactor]:
        """The strategies in their order.

        Raises:
            SpecError: There are too few examples, or a label has no definition.
        """
        return [self._level(name, one, context) for name, one in (self.strategies or _USUAL).items()]

    def _level(self, name: str, strategy: Strategy, context: PromptContext) -> LevelOfFactor:
        examples = drawn(context, strategy.examples * len(context.labels.labels), context.seed)

        def edit(variant: Variant) -> Variant:
            if strategy.definitions:
                _check_defined(context.labels, name)
                variant = replace(variant, instruction=variant.instruction + self.describe)
            return show(variant, examples, self.place)

        about: dict[str, Any] = {
            "definitions": strategy.definitions,
            "examples": [item.id for item in examples],
        }
        return level(name, edit, 2, family="strategies", **about)


def _check_defined(labels: LabelSet, name: str) -> None:
    for label in labels.labels:
        if not label.definition.strip():
            raise SpecError(
                f"the label {label.code!r} has no definition for the strategy {name!r}",
                where="strategies",
                expected="a definition for every label",
                found="nothing",
                fix="add it under task.labels: {code: …, definition: …}",
            )


def show(
    variant: Variant, examples: tuple[Item, ...], place: Place = "turns", reply: str | None = None
) -> Variant:
    """A variant with examples, if there are any."""
    if not examples:
        return variant
    layout = variant.layout
    if place == "message" and "examples" not in names_in(layout):
        layout = "{{ examples }}\n\n" + layout
    return replace(variant, layout=layout, examples=examples, reply=variant.reply if reply is None else reply)


def drawn(context: PromptContext, k: int, seed: int) -> tuple[Item, ...]:
    """Examples from the items that are not labelled, balanced by class."""
    if not k:
        return ()
    chance = random.Random(seed)
    by_label: dict[str, list[Item]] = defaultdict(list)
    for item in context.spare:
        if item.gold is not None:
            by_label[item.gold].append(item)
    if not by_label:
        raise _too_few(
            f"{k} examples", f"{len(context.spare)} items to take them from, none with a gold label"
        )
    are_new = _Texts(context).are_new
    for code in context.labels.codes:
        chance.shuffle(by_label[code])
    queues = {code: filter(are_new, by_label[code]) for code in context.labels.codes}
    examples: list[Item] = []
    while len(examples) < k:
        for code in chance.sample(context.labels.codes, len(context.labels.codes))[: k - len(examples)]:
            example = next(queues[code], None)
            if example is None:
                taken = Counter(item.gold for item in examples)[code]
                raise _too_few(
                    f"{k} examples, balanced by class, and so {taken + 1} of {code!r} at least",
                    f"{taken} of {code!r} among the items to take them from",
                )
            examples.append(example)
    return tuple(examples)


class _Texts:
    """Texts that cannot be examples: those of the sample, and those that are examples already."""

    def __init__(self, context: PromptContext) -> None:
        templates = dict.fromkeys([context.prompt.text, *context.texts])
        self._writers = [
            PromptWriter(replace(context.prompt, text=text), context.labels) for text in templates
        ]
        self._seen = {text for item in context.sample for text in self._of(item)}

    def are_new(self, item: Item) -> bool:
        """Whether the item's text is new in every template; it counts as seen from then on."""
        try:
            texts = self._of(item)
        except ItemError:  # an item without a text cannot be an example
            return False
        new = self._seen.isdisjoint(texts)
        self._seen.update(texts)
        return new

    def _of(self, item: Item) -> set[str]:
        return {" ".join(writer.text(item).casefold().split()) for writer in self._writers}


def _items(written: Sequence[WrittenExample], context: PromptContext) -> list[Item]:
    items = []
    for number, example in enumerate(written, start=1):
        where = f"examples[{number - 1}]"
        check_names("label", [example.label], context.labels.codes, f"{where}: label")
        fields = {"label": example.label} | dict(example.model_extra or {})
        item = Item(f"example {number}", fields, example.label)
        for template in context.texts or [context.prompt.text]:
            needed = names_in(template) - {"item", *(["options"] if context.labels.options else [])}
            missing = sorted(needed - set(fields))
            if missing:
                raise SpecError(
                    f"this example has no {missing[0]!r}",
                    where=where,
                    expected=f"the columns that the item's text uses: {', '.join(sorted(needed))}",
                    found=", ".join(fields),
                )
        items.append(item)
    return items


def _too_few(wanted: str, found: str) -> SpecError:
    return SpecError(
        "there are fewer examples than asked for",
        expected=wanted,
        found=found,
        fix="lower k, sample fewer items, name a table of examples (items: {examples: train.csv}), or write "
        "them under shots: examples: [{text: …, label: …}]",
    )
