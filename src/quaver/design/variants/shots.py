"""``shots``: examples before the item: items outside the sample, of another table, or written by hand."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from quaver.core.records import Item, Variant
from quaver.core.seeds import derive
from quaver.design.factors.prompt_edits import ORIGINAL, LevelOfFactor
from quaver.design.paraphrase.paraphrase_draft import PromptContext
from quaver.design.prompts.rendering import PromptWriter
from quaver.design.prompts.templates import names_in
from quaver.errors import ItemError, SpecError, UnknownName

Place = Literal["turns", "message"]


class WrittenExample(BaseModel):
    """An example in the study file: its label's code, and the columns that templates use."""

    model_config = ConfigDict(extra="allow", frozen=True, coerce_numbers_to_str=True)

    label: str = Field(description="Code of its label.")


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

    def __init__(
        self,
        *,
        k: int | list[int] | None = None,
        draws: int = 1,
        place: Place = "turns",
        reply: str | None = None,
        examples: list[WrittenExample] | None = None,
    ) -> None:
        self._k = [k] if isinstance(k, int) else k
        self._draws, self._place, self._reply = draws, place, reply
        self._written = examples
        if draws < 1 or any(one < 0 for one in self._k or ()):
            raise SpecError(
                "the number of examples or draws is too low",
                where="shots",
                expected="k of 0 or more, draws of 1 or more",
                found=f"k {k}, draws {draws}",
            )
        if draws > 1 and examples is not None:
            raise SpecError(
                "given examples are not drawn",
                where="shots: draws",
                found=f"{draws} draws, and {len(examples)} examples",
                fix="leave draws or examples out",
            )

    def levels(self, context: PromptContext) -> Sequence[LevelOfFactor]:
        """The prompt with each number of examples and each draw.

        Raises:
            SpecError: There are too few examples.
            UnknownName: A given example has a label that does not exist.
        """
        most = len(context.labels.labels) if self._written is None else len(self._written)
        written = None if self._written is None else _items(self._written, context)
        levels = []
        for k in dict.fromkeys([0, most] if self._k is None else self._k):
            for draw in range(1, 1 + (self._draws if k else 1)):
                if written is None:
                    examples = drawn(context, k, derive(context.seed, "shots", str(draw)))
                elif k > len(written):
                    raise _too_few(f"{k} examples", f"{len(written)} are given")
                else:
                    examples = tuple(written[:k])
                name = f"{k}-shot {draw}" if k and self._draws > 1 else f"{k}-shot"
                levels.append(self._level(name, examples, draw))
        return levels

    def _level(self, name: str, examples: tuple[Item, ...], draw: int) -> LevelOfFactor:
        def edit(variant: Variant) -> Variant:
            reply = variant.reply if self._reply is None else self._reply
            return replace(show(variant, examples, self._place), reply=reply) if examples else variant

        by = "draw" if self._written is None else "hand"
        origin: dict[str, Any] = {"family": "shots", "by": by, "parent": ORIGINAL}
        origin |= {"k": len(examples), "place": self._place, "examples": [item.id for item in examples]}
        if by == "draw":
            origin["draw"] = draw
        return LevelOfFactor(name, edit, origin)


def show(variant: Variant, examples: tuple[Item, ...], place: Place = "turns") -> Variant:
    """A variant with examples."""
    layout = variant.layout
    if place == "message" and "examples" not in names_in(layout):
        layout = "{{ examples }}\n\n" + layout
    return replace(variant, layout=layout, examples=examples)


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
    texts = _Texts(context)
    queues: dict[str, Iterator[Item]] = {}
    for code in context.labels.codes:
        chance.shuffle(by_label[code])
        queues[code] = filter(texts.are_new, by_label[code])
    examples: list[Item] = []
    taken: dict[str, int] = defaultdict(int)
    while len(examples) < k:
        for code in chance.sample(context.labels.codes, len(context.labels.codes))[: k - len(examples)]:
            example = next(queues[code], None)
            if example is None:
                raise _too_few(
                    f"{k} examples, balanced by class, and so {taken[code] + 1} of {code!r} at least",
                    f"{taken[code]} of {code!r} among the items to take them from",
                )
            taken[code] += 1
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
        if example.label not in context.labels.codes:
            raise UnknownName("label", example.label, context.labels.codes, where=f"{where}: label")
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
