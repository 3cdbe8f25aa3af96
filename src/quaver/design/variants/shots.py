"""``shots``: examples before the item, from outside the sample."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Literal

from pydantic import Field

from quaver.core.records import Item, Variant
from quaver.core.seeds import derive
from quaver.design.factor_levels import LevelOfFactor, family, level
from quaver.design.paraphrase.paraphraser import PromptContext
from quaver.design.prompts.rendering import PromptWriter
from quaver.design.prompts.templates import names_in
from quaver.design.spec.yaml_file import Natural
from quaver.errors import ItemError, SpecError

Place = Literal["turns", "message"]


@family("shots")
def shots(
    context: PromptContext,
    *,
    k: Natural | list[Natural] | None = None,
    draws: Annotated[int, Field(ge=1, le=1000)] = 1,
    place: Place = "turns",
) -> Sequence[LevelOfFactor]:
    """The prompt with k examples, for each k that is given and each draw.

    Examples are items outside the sample, or of the study's table of examples (``items.examples``), that have
    a gold label; none has the text of a sampled item.
    They are balanced by class: the labels take turns, in an order that is drawn anew for each round. A
    smaller k uses the first examples of a larger one.

    Args:
        context: The prompt, and the items to take examples from.
        k: The number of examples; 0 is the prompt without examples. By default 0 and one of each label.
        draws: The number of draws for each k above 0; each is a level.
        place: ``turns`` of a conversation, or inside the user ``message`` (at ``{{ examples }}`` in the
            layout, or at its beginning).

    Raises:
        SpecError: There are too few examples.
    """
    sizes = [0, len(context.labels.labels)] if k is None else k
    levels = []
    for size in dict.fromkeys([sizes] if isinstance(sizes, int) else sizes):
        for draw in range(1, 1 + (draws if size else 1)):
            examples = drawn(context, size, derive(context.seed, "shots", str(draw)))
            levels.append(
                level(
                    f"{size}-shot {draw}" if size and draws > 1 else f"{size}-shot",
                    partial(show, examples=examples, place=place),
                    2,
                    family="shots",
                    by="draw",
                    draw=draw,
                    k=size,
                    place=place,
                    examples=[item.id for item in examples],
                )
            )
    return levels


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
        return {" ".join(writer.compared(item).casefold().split()) for writer in writers}

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


def _too_few(k: int, found: str) -> SpecError:
    return SpecError(
        "there are fewer examples than asked for",
        expected=f"{k} examples, balanced by class",
        found=found,
        fix="lower k, sample fewer items, or name a table of examples (items: {examples: train.csv})",
    )
