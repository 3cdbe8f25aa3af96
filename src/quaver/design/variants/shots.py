"""``shots`` and ``strategies``: examples before the item, from outside the sample."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from quaver.core.records import Item, LabelSet, Variant
from quaver.core.seeds import derive
from quaver.design.factor_levels import LevelOfFactor, Options, check_names, level
from quaver.design.paraphrase.paraphraser import PromptContext
from quaver.design.prompts.rendering import PromptWriter
from quaver.design.prompts.templates import names_in
from quaver.errors import ItemError, SpecError

Place = Literal["turns", "message"]
_Number = Annotated[int, Field(ge=0)]


class Shots(Options):
    """The prompt with k examples, for each k that is given.

    Examples are items outside the sample, or of the study's table of examples (``items.examples``), that have
    a gold label; none has the text of a sampled item.
    They are balanced by class: the labels take turns, in an order that is drawn anew for each round. A
    smaller k uses the first examples of a larger one.

    Args:
        k: The number of examples; 0 is the prompt without examples. By default 0 and one of each label.
        draws: The number of draws for each k above 0; each is a level.
        place: ``turns`` of a conversation, or inside the user ``message`` (at ``{{ examples }}`` in the
            layout, or at its beginning).
        examples: The examples in their order, in place of drawn ones: the columns that templates use, and the
            code of the ``label``.
    """

    factor: ClassVar[str] = "shots"
    k: _Number | list[_Number] | None = None
    draws: Annotated[int, Field(ge=1, le=1000)] = 1
    place: Place = "turns"
    examples: list[dict[str, str]] | None = None

    def levels(self, context: PromptContext) -> Sequence[LevelOfFactor]:
        """The prompt with each number of examples and each draw.

        Raises:
            SpecError: There are too few examples.
        """
        given = _written(self.examples or (), context)
        sizes = [0, len(given or context.labels.labels)] if self.k is None else self.k
        levels = []
        for k in dict.fromkeys([sizes] if isinstance(sizes, int) else sizes):
            for draw in range(1, 1 + (self.draws if k else 1)):
                if len(given) < k and given:
                    raise _too_few(k, f"{len(given)} are given")
                examples = given[:k] or drawn(context, k, derive(context.seed, "shots", str(draw)))
                levels.append(
                    level(
                        f"{k}-shot {draw}" if k and self.draws > 1 else f"{k}-shot",
                        partial(show, examples=examples, place=self.place),
                        family="shots",
                        by="hand" if given else "draw",
                        draw=draw,
                        k=k,
                        place=self.place,
                        examples=[item.id for item in examples],
                    )
                )
        return levels


class Strategy(Options):
    """What a strategy adds to the prompt; nothing leaves it unchanged."""

    definitions: bool = False
    """The labels' definitions, after the instruction."""
    examples: int = Field(0, ge=0)
    """The number of examples of each label, before the item."""


_USUAL = {
    "simple": Strategy(),
    "detailed": Strategy(definitions=True),
    "one-shot": Strategy(examples=1),
}


class Strategies(Options):
    """Prompting strategies (Errica, Sanvito, Siracusano and Bifulco 2025 compare three).

    Args:
        strategies: By name; by default ``simple`` (the unchanged prompt), ``detailed`` (with the labels'
            definitions) and ``one-shot`` (with one example of each label, drawn as in ``shots``).
        describe: Template of the definitions, over ``labels``.
        place: The place of examples: ``turns`` of a conversation, or inside the user ``message``.
    """

    factor: ClassVar[str] = "strategy"
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
        if strategy.definitions:
            _check_defined(context.labels, name)
        described = self.describe if strategy.definitions else ""

        def edit(variant: Variant) -> Variant:
            variant = replace(variant, instruction=variant.instruction + described)
            return show(variant, examples, self.place)

        ids = [item.id for item in examples]
        return level(name, edit, 2, family="strategies", definitions=strategy.definitions, examples=ids)


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


def show(variant: Variant, examples: tuple[Item, ...], place: Place = "turns") -> Variant:
    """A variant with examples, if there are any."""
    if not examples:
        return variant
    layout = variant.layout
    if place == "message" and "examples" not in names_in(layout):
        layout = "{{ examples }}\n\n" + layout
    return replace(variant, layout=layout, examples=examples)


def drawn(context: PromptContext, k: int, seed: int) -> tuple[Item, ...]:
    """Examples from the items that are not labelled, balanced by class.

    None has the text of a sampled item or of another example, in any of the study's templates of it.
    """
    if not k:
        return ()
    chance = random.Random(seed)
    by_label: dict[str, list[Item]] = defaultdict(list)
    for item in context.spare:
        if item.gold is not None:
            by_label[item.gold].append(item)
    if not by_label:
        raise _too_few(k, f"{len(context.spare)} items to take them from, none with a gold label")
    templates = dict.fromkeys([context.prompt.text, *context.texts])
    writers = [PromptWriter(replace(context.prompt, text=text), context.labels) for text in templates]

    def texts(item: Item) -> set[str]:
        return {" ".join(writer.text(item).casefold().split()) for writer in writers}

    seen = {text for item in context.sample for text in texts(item)}

    def is_new(item: Item) -> bool:
        try:
            own = texts(item)
        except ItemError:  # an item without a text cannot be an example
            return False
        new = seen.isdisjoint(own)
        seen.update(own)
        return new

    for code in context.labels.codes:
        chance.shuffle(by_label[code])
    queues = {code: filter(is_new, by_label[code]) for code in context.labels.codes}
    examples: list[Item] = []
    while len(examples) < k:
        for code in chance.sample(context.labels.codes, len(context.labels.codes))[: k - len(examples)]:
            example = next(queues[code], None)
            if example is None:
                taken = Counter(item.gold for item in examples)[code]
                raise _too_few(k, f"{taken} of {code!r} among the items to take them from")
            examples.append(example)
    return tuple(examples)


def _written(examples: Sequence[dict[str, str]], context: PromptContext) -> tuple[Item, ...]:
    """Examples that stand in the study file, as items."""
    for number, example in enumerate(examples):
        where = f"shots: examples[{number}]"
        check_names("label", [example.get("label", "")], context.labels.codes, where)
        needed = {name for text in context.texts or [context.prompt.text] for name in names_in(text)}
        if lacking := sorted(needed - {"item", "options", *example}):
            raise SpecError(f"this example has no {lacking[0]!r}", where=where, found=", ".join(example))
    return tuple(
        Item(f"example {number}", example, example["label"]) for number, example in enumerate(examples, 1)
    )


def _too_few(k: int, found: str) -> SpecError:
    return SpecError(
        "there are fewer examples than asked for",
        expected=f"{k} examples; those that are drawn are balanced by class",
        found=found,
        fix="lower k, sample fewer items, or name a table of examples (items: {examples: train.csv})",
    )
