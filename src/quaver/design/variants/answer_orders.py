"""``label_order`` and ``option_order``: the labels, or their options, in other orders."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from math import factorial
from typing import Literal

from quaver.core.records import LabelSet, Variant
from quaver.design.factors.factor_level import ORIGINAL, LevelOfFactor
from quaver.design.paraphrase.prompt_context import PromptContext
from quaver.errors import SpecError, UnknownName

_MOST = 720
"""The most orders of a factor: all orders of six labels."""

Asked = Literal["all", "rotations", "reversed", "sampled"] | dict[str, list[str]]


class LabelOrder:
    """The labels shown in other orders, each with its own answer.

    The order applies wherever the prompt lists ``answers`` or ``labels``, and in a JSON schema. If the
    answers are letters, each label keeps its letter; ``option_order`` keeps the letters in place instead.

    Args:
        orders: ``reversed``; ``rotations`` (each label comes first once); ``all``; ``sampled``; or orders
            by name, each a list of label codes.
        n: How many to sample, beside the original.
    """

    factor = "label_order"

    def __init__(self, *, orders: Asked = "reversed", n: int | None = None) -> None:
        self._orders, self._n = orders, n

    def levels(self, context: PromptContext) -> Sequence[LevelOfFactor]:
        """The prompt's own order, then the others.

        Raises:
            SpecError: There are too few labels, or too many orders.
            UnknownName: An order names a label that does not exist.
        """
        found = orders_of(context.labels, self._orders, self._n, context.seed)
        return [self._level(name, order, context.labels) for name, order in found.items()]

    def _level(self, name: str, order: tuple[str, ...], labels: LabelSet) -> LevelOfFactor:
        def edit(variant: Variant) -> Variant:
            if name == ORIGINAL:
                return variant
            return replace(variant, answers=self._answers(variant, order, labels))

        origin = {"family": self.factor, "order": list(order), "parent": ORIGINAL}
        return LevelOfFactor(name, edit, origin, turn=1)

    def _answers(self, variant: Variant, order: tuple[str, ...], labels: LabelSet) -> dict[str, str]:
        return {code: variant.answers[code] for code in order}


class OptionOrder(LabelOrder):
    """The options in other orders, while the letters stay in place: A is always first.

    A letter stands for a different option in each order, and the answer is mapped back to its label. The
    options are the items' own (``task.options``), or the labels' names if the prompt lists these.

    Args:
        orders: As for ``label_order``.
        n: How many to sample, beside the original.
    """

    factor = "option_order"

    def _answers(self, variant: Variant, order: tuple[str, ...], labels: LabelSet) -> dict[str, str]:
        names = {label.name.casefold() for label in labels.labels}
        own = [answer for answer in variant.answers.values() if answer.strip().casefold() in names]
        if own and not labels.options:
            raise SpecError(
                f"the answer {own[0]!r} is a label's name and cannot stand for another label",
                where=f"factor {self.factor}",
                expected="letters or numbers as answers",
                found=", ".join(variant.answers.values()),
                fix="give letters under prompt.answers, or use label_order",
            )
        return dict(zip(order, variant.answers.values(), strict=True))


def orders_of(labels: LabelSet, asked: Asked, n: int | None, seed: int) -> dict[str, tuple[str, ...]]:
    """Orders of the labels' codes by name, the original first.

    Sampled orders and those of ``all`` are named after the positions of their labels: ``2-3-1``.

    Raises:
        SpecError: There are too few labels, or too many orders, or an order leaves one out.
        UnknownName: An order names a label that does not exist.
    """
    codes = labels.codes
    if len(codes) < 2:
        raise SpecError(
            "a single label has no other order", expected="two labels or more", found=", ".join(codes)
        )
    if n is not None and asked != "sampled":
        raise SpecError("n is for sampled orders", found=f"n: {n}", fix="write orders: sampled")
    if isinstance(asked, Mapping):
        return {ORIGINAL: codes} | {name: _checked(name, order, codes) for name, order in asked.items()}
    if asked == "reversed":
        return {ORIGINAL: codes, "reversed": codes[::-1]}
    if asked == "rotations":
        turns = {f"rotated {by}": codes[by:] + codes[:by] for by in range(1, len(codes))}
        return {ORIGINAL: codes} | turns
    others = factorial(len(codes)) - 1
    wanted = others if asked == "all" else n
    if wanted is None or not 1 <= wanted <= min(others, _MOST):
        raise SpecError(
            "the number of orders to sample is missing" if wanted is None else f"{wanted:,} other orders",
            expected=f"n from 1 to {min(others, _MOST)}, beside the original",
            found=f"{len(codes)} labels",
            fix="write orders: sampled and n: 10, for example",
        )
    places = _all(len(codes)) if asked == "all" else _sampled(len(codes), wanted, seed)
    named = {"-".join(str(at + 1) for at in order): tuple(codes[at] for at in order) for order in places}
    return {ORIGINAL: codes} | named


def _all(size: int) -> list[tuple[int, ...]]:
    return list(permutations(range(size)))[1:]


def _sampled(size: int, n: int, seed: int) -> list[tuple[int, ...]]:
    chance, found = random.Random(seed), dict.fromkeys([tuple(range(size))])
    while len(found) <= n:
        found[tuple(chance.sample(range(size), size))] = None
    return list(found)[1:]


def _checked(name: str, order: Sequence[str], codes: tuple[str, ...]) -> tuple[str, ...]:
    for code in order:
        if code not in codes:
            raise UnknownName("label", code, codes, where=f"orders: {name}")
    if sorted(order) != sorted(codes):
        raise SpecError(
            "an order must have every label once",
            where=f"orders: {name}",
            expected=", ".join(codes),
            found=", ".join(order) or "nothing",
        )
    return tuple(order)
