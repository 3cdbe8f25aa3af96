"""Orders of answer options, and the treatments of multiple-choice questions."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from math import factorial
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from quaver.core.records import LabelSet, Variant
from quaver.design.factors.prompt_edits import ORIGINAL, LevelOfFactor
from quaver.design.paraphrase.paraphrase_draft import PromptContext
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
    named = {
        "-".join(str(index + 1) for index in order): tuple(codes[index] for index in order)
        for order in places
    }
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


class Treatment(BaseModel):
    """The text of a treatment, between the question and the request for the last line."""

    model_config = ConfigDict(extra="forbid", frozen=True, coerce_numbers_to_str=True)

    text: str | None = Field(None, description="Template of its text; empty for none.")
    max_tokens: int | None = Field(None, ge=1, description="The limit on an answer.")


_STEPS = "Think step by step: say of each option what speaks for it and what against it."
_CONSTRAINT = (
    "Use nothing but the background and the options that are given here, whatever else you may know. "
    "On the line before the last, quote the option that you choose, word for word."
)

TREATMENTS: Mapping[str, Treatment] = {
    "T0": Treatment(text="", max_tokens=96),
    "T1": Treatment(
        text="Give the final answer only: no reasoning, no explanation, nothing else.", max_tokens=16
    ),
    "T2": Treatment(text=_STEPS, max_tokens=320),
    "T3": Treatment(text=_CONSTRAINT, max_tokens=128),
    "T4": Treatment(text=f"{_STEPS} {_CONSTRAINT}", max_tokens=384),
    "T5": Treatment(
        text="Before you answer, check your choice in silence: does it answer the question, and does no "
        "other option do so better? Write nothing of this check.",
        max_tokens=96,
    ),
}
"""Plain; final answer only; step by step; given information only; both of these; silent check."""

FINAL = "Let your last line be FINAL: and the answer, one of {{ answers | join(', ') }}."


class Treatments:
    """The treatments of a multiple-choice study.

    ``T0`` plain, ``T1`` final answer only, ``T2`` step by step, ``T3`` only the given options and background,
    ``T4`` both (step by step, from what is given), ``T5`` silent self-check; T3 and T4 also ask for a line
    that quotes the chosen option. The instruction stays; the treatment's text and the request for the last
    line are the postfix. Use the evaluator ``final_line``.

    Args:
        treatments: Other texts or limits for these treatments, and further treatments.
        which: The names of the treatments to use, in this order; all if left out.
        final: Template of the request for the last line.
        original: Whether the untreated prompt is one of the levels.
    """

    factor = "treatment"

    def __init__(
        self,
        *,
        treatments: dict[str, Treatment] | None = None,
        which: list[str] | None = None,
        final: str = FINAL,
        original: bool = False,
    ) -> None:
        known = dict(TREATMENTS)
        for name, given in (treatments or {}).items():
            own = {key: value for key, value in given if value is not None}
            known[name] = known.get(name, Treatment()).model_copy(update=own)
            if known[name].text is None:
                raise SpecError(
                    f"the treatment {name!r} has no text",
                    where=f"treatments: {name}",
                    expected="text: …, or one of the names " + ", ".join(TREATMENTS),
                )
        for name in which or ():
            if name not in known:
                raise UnknownName("treatment", name, known, where="which")
        if "FINAL" not in final:
            raise SpecError(
                "the text does not ask for a last line",
                where="final",
                expected="a request for a last line FINAL: and the answer",
                found=final[:120],
            )
        self._treatments = {name: known[name] for name in (known if which is None else which)}
        self._given = set(treatments or ())
        self._final, self._original = final, original

    def levels(self, context: PromptContext) -> Sequence[LevelOfFactor]:
        """The treatments in their order, after the untreated prompt if it is included."""
        untreated = LevelOfFactor(ORIGINAL, lambda variant: variant, {"family": "treatments"}, turn=2)
        levels = [self._level(name, one) for name, one in self._treatments.items()]
        return [untreated, *levels] if self._original else levels

    def _level(self, name: str, treatment: Treatment) -> LevelOfFactor:
        postfix = "\n".join(part for part in (treatment.text, self._final) if part)

        def edit(variant: Variant) -> Variant:
            length = variant.max_tokens if treatment.max_tokens is None else treatment.max_tokens
            return replace(variant, postfix=postfix, max_tokens=length)

        by = "hand" if name in self._given else "built in"
        return LevelOfFactor(name, edit, {"family": "treatments", "by": by, "parent": ORIGINAL}, turn=2)
