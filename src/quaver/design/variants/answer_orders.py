"""Orders of the answers: of the labels, or of the options below letters that stay."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice, permutations
from math import factorial
from typing import Literal

from quaver.core.records import LabelSet, Variant
from quaver.design.factor_levels import ORIGINAL, LevelOfFactor, check_names, level
from quaver.design.paraphrase.paraphraser import PromptContext
from quaver.errors import SpecError

_MOST = 720
"""The most orders of a factor: all orders of six labels."""

Asked = Literal["all", "rotations", "reversed", "sampled"] | dict[str, list[str]]
_Order = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
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
    orders: Asked = "reversed"
    n: int | None = None

    def levels(self, context: PromptContext) -> Sequence[LevelOfFactor]:
        """The prompt's own order, then the others.

        Raises:
            SpecError: There are too few labels, or too many orders.
            UnknownName: An order names a label that does not exist.
        """
        orders = orders_of(context.labels, self.orders, self.n, context.seed)
        return [self._level(name, order, context.labels) for name, order in orders.items()]

    def _level(self, name: str, order: _Order, labels: LabelSet) -> LevelOfFactor:
        def edit(variant: Variant) -> Variant:
            same = name == ORIGINAL
            return variant if same else replace(variant, answers=self._answers(variant, order, labels))

        return level(name, edit, 1, family=self.factor, order=list(order))

    def _answers(self, variant: Variant, order: _Order, labels: LabelSet) -> dict[str, str]:
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

    def _answers(self, variant: Variant, order: _Order, labels: LabelSet) -> dict[str, str]:
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


def orders_of(labels: LabelSet, asked: Asked, n: int | None, seed: int) -> dict[str, _Order]:
    """Orders of the labels' codes by name, the original first.

    Sampled orders and those of ``all`` are named after the positions of their labels: ``2-3-1``.
    """
    codes = labels.codes
    if len(codes) < 2:
        raise SpecError(
            "a single label has no other order", expected="two labels or more", found=", ".join(codes)
        )
    if n is not None and asked != "sampled":
        raise SpecError("n is for sampled orders", found=f"n: {n}", fix="write orders: sampled")
    if isinstance(asked, dict):
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
    places, chance = range(len(codes)), random.Random(seed)
    drawn = dict.fromkeys([tuple(places)] if asked == "sampled" else islice(permutations(places), 1 + others))
    while len(drawn) <= wanted:
        drawn[tuple(chance.sample(places, len(codes)))] = None
    named = {"-".join(str(place + 1) for place in order): order for order in islice(drawn, 1, None)}
    return {ORIGINAL: codes} | {name: tuple(codes[place] for place in order) for name, order in named.items()}


def _checked(name: str, order: Sequence[str], codes: _Order) -> _Order:
    check_names("label", order, codes, f"orders: {name}")
    if sorted(order) != sorted(codes):
        raise SpecError(
            "an order must have every label once",
            where=f"orders: {name}",
            expected=", ".join(codes),
            found=", ".join(order) or "nothing",
        )
    return tuple(order)
