"""Families that vary how a prompt shows the labels: their names and their order."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice, permutations
from math import factorial
from string import ascii_uppercase
from typing import Final, Literal

from quaver.core.records import Label, Variant
from quaver.design.factor_levels import ORIGINAL, LevelOfFactor, family, level
from quaver.design.paraphrase.paraphraser import PromptContext
from quaver.design.prompts.templates import names_in
from quaver.errors import SpecError

_KEY = (
    "{% for label in labels %}{{ label.answer }}: {{ label.name }}{% if not loop.last %}, {% endif %}"
    "{% endfor %}.\n"
)
_MOST: Final = 720
"""The most orders of a factor: all orders of six labels."""


@family("label_name")
def label_names(
    context: PromptContext, *, names: list[str], original: bool = True
) -> Sequence[LevelOfFactor]:
    """Other names for the labels in the prompt and in the answer: the prompt's own, then the others.

    A prompt that lists neither ``labels`` nor ``options`` gets a key above its postfix, ``A: positive, B:
    negative.``, unless the answer is the label's name or a synonym.

    Args:
        context: The prompt, and its labels.
        names: Any of ``name``, ``code``, ``letter`` (A, B, C in the label set's order), ``number`` (1, 2, 3),
            ``synonym`` (the first of each label); each is a level.
        original: Whether the prompt's own answers are one of the levels, if none of ``names`` gives the same.

    Raises:
        SpecError: There is no such kind of name, or a label has no name of that kind.
    """
    own = dict(context.prompt.answers)
    named = {name: _answers(name, context.labels.labels) for name in names}
    if original and own not in named.values():
        named = {ORIGINAL: own, **named}
    return [
        level(name, None if answers == own else partial(_renamed, name, answers), family="label_names")
        for name, answers in named.items()
    ]


def _renamed(name: str, answers: Mapping[str, str], variant: Variant) -> Variant:
    parts = (variant.layout, variant.system, variant.instruction, variant.postfix, variant.text)
    is_listed = any(names_in(part) & {"labels", "options"} for part in parts)
    needs_key = not is_listed and name in ("code", "letter", "number")
    answers = {code: answers[code] for code in variant.answers}
    return replace(variant, answers=answers, postfix=(_KEY if needs_key else "") + variant.postfix)


def _answers(kind: str, labels: Sequence[Label]) -> dict[str, str]:
    """Each label's name of one kind, by its code."""
    codes = [label.code for label in labels]
    names = {
        "name": [label.name for label in labels],
        "code": codes,
        "number": list(map(str, range(1, len(labels) + 1))),
        "letter": list(ascii_uppercase[: len(labels)]),
        "synonym": [label.synonyms[0] for label in labels if label.synonyms],
    }.get(kind, [])
    if len(names) == len(labels):
        return dict(zip(codes, names, strict=True))
    problem, fix = "labels have no such name", None
    if kind == "synonym":
        lacking = next(label.code for label in labels if not label.synonyms)
        problem = f"the label {lacking!r} has no synonym"
        fix = "add it under task.labels: {code: …, synonyms: [one, another]}"
    raise SpecError(
        problem,
        where="label_names: names",
        expected="name, code, letter (of up to 26 labels), number, synonym",
        found=kind,
        fix=fix,
    )


Asked = Literal["all", "rotations", "reversed", "sampled"]


@family("label_order")
def label_order(
    context: PromptContext, *, orders: Asked = "reversed", n: int | None = None
) -> Sequence[LevelOfFactor]:
    """The labels in the prompt's own order, then in others, each with its own answer.

    The order applies wherever the prompt lists ``answers`` or ``labels``. If the answers are letters, each
    label keeps its letter; ``option_order`` keeps the letters in place instead.

    Args:
        context: The prompt, and its labels.
        orders: ``reversed``; ``rotations`` (each label comes first once); ``all``; or ``sampled``.
        n: How many to sample, beside the original.

    Raises:
        SpecError: There are too few labels, or too many orders.
    """

    def ordered(order: Sequence[str], variant: Variant) -> Variant:
        return replace(variant, answers={code: variant.answers[code] for code in order})

    return _in_orders("label_order", ordered, orders_of(context.labels.codes, orders, n, context.seed))


@family("option_order")
def option_order(
    context: PromptContext, *, orders: Asked = "reversed", n: int | None = None
) -> Sequence[LevelOfFactor]:
    """The options in other orders, while the letters stay in place: A is always first.

    A letter stands for a different option in each order, and the answer is mapped back to its label. The
    options are the items' own (``task.options``), or the labels' names if the prompt lists these.

    Args:
        context: The prompt, and its labels.
        orders: As for ``label_order``.
        n: How many to sample, beside the original.

    Raises:
        SpecError: There are too few labels, or too many orders.
    """
    labels = context.labels
    names = {label.name.casefold() for label in labels.labels}

    def ordered(order: Sequence[str], variant: Variant) -> Variant:
        own = [answer for answer in variant.answers.values() if answer.strip().casefold() in names]
        if own and not labels.options:
            raise SpecError(
                f"the answer {own[0]!r} is a label's name and cannot stand for another label",
                where="factor option_order",
                expected="letters or numbers as answers",
                found=", ".join(variant.answers.values()),
                fix="give letters under prompt.answers, or use label_order",
            )
        return replace(variant, answers=dict(zip(order, variant.answers.values(), strict=True)))

    return _in_orders("option_order", ordered, orders_of(labels.codes, orders, n, context.seed))


def _in_orders(
    name: str, ordered: Callable[..., Variant], orders: Mapping[str, Sequence[str]]
) -> list[LevelOfFactor]:
    return [
        level(
            order_name,
            None if order_name == ORIGINAL else partial(ordered, order),
            1,
            family=name,
            order=list(order),
        )
        for order_name, order in orders.items()
    ]


def orders_of(codes: tuple[str, ...], asked: Asked, n: int | None, seed: int) -> dict[str, tuple[str, ...]]:
    """Orders of the labels' codes by name, the original first.

    Sampled orders and those of ``all`` are named after the positions of their labels: ``2-3-1``.
    """
    size, others = len(codes), factorial(len(codes)) - 1
    if size < 2:
        raise SpecError("a single label has no other order", expected="two labels or more")
    if n is not None and asked != "sampled":
        raise SpecError("n is for sampled orders", found=f"n: {n}", fix="write orders: sampled")
    if asked == "reversed":
        return {ORIGINAL: codes, "reversed": codes[::-1]}
    if asked == "rotations":
        return {ORIGINAL: codes} | {f"rotated {by}": codes[by:] + codes[:by] for by in range(1, size)}
    wanted = others if asked == "all" else n or 0
    if not 1 <= wanted <= min(others, _MOST):
        raise SpecError(
            f"{wanted:,} other orders",
            expected=f"n from 1 to {min(others, _MOST)}, beside the original",
            found=f"{size} labels",
            fix="write orders: sampled and n: 10, for example",
        )
    places, chance = range(size), random.Random(seed)
    drawn = dict.fromkeys([tuple(places)] if asked == "sampled" else islice(permutations(places), 1 + others))
    while len(drawn) <= wanted:
        drawn[tuple(chance.sample(places, size))] = None
    named = {"-".join(str(place + 1) for place in order): order for order in islice(drawn, 1, None)}
    return {ORIGINAL: codes} | {name: tuple(codes[place] for place in order) for name, order in named.items()}
