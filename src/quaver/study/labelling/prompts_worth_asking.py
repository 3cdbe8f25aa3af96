"""Which prompts are worth asking about each text: how many is forecast from a check's answers."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from quaver.core.number_format import count, percent
from quaver.core.seeds import derive
from quaver.errors import QuaverError
from quaver.report.findings.field_verdicts import card_of_fields
from quaver.report.findings.recommendation import Recommendation
from quaver.report.findings.verdict_card import Card, best_of
from quaver.study.session import Study

SIZES: Final = (1, 3, 5, 10)
"""Numbers of prompts whose votes are compared."""

_DRAWS: Final = 100
"""Sets of as many prompts that are drawn."""

_GOLD: Final = 30
"""Texts with gold labels; fewer say less than how far the votes of all prompts are reached."""

_WORTH: Final = 0.01
"""More prompts are asked where they make this share of the labels right, or more."""

_NEAR: Final = 0.05
"""Without gold labels, more are asked until this share of the labels differs from the vote of all."""


@dataclass(frozen=True, slots=True)
class Votes:
    """What the most frequent label of so many prompts would be worth.

    Attributes:
        prompts: How many prompts are asked about each text.
        wrong: The share of its labels that differ from the gold labels; where hardly any text has one, from
            the most frequent label of all prompts.
        texts: The texts that show it.
        by_gold: Whether these have gold labels.
    """

    prompts: int
    wrong: float
    texts: int
    by_gold: bool


class PromptVotes:
    """The labels that a check's prompts gave, and what their votes are worth.

    Args:
        annotations: One evaluator's and one model's; the first repeat counts.
        variants: The prompts' ids, in the design's order.
        labels: The labels' codes.
        seed: Of the sets of prompts that are drawn.
    """

    def __init__(
        self, annotations: pl.DataFrame, variants: Sequence[str], labels: Sequence[str], seed: int
    ) -> None:
        text = [pl.col(name).cast(pl.String) for name in ("item", "variant", "label", "gold")]
        frame = annotations.filter(pl.col("repeat") == annotations["repeat"].min()).select(*text)
        items = frame.select("item", "gold").unique("item", maintain_order=True)
        row = {item: index for index, item in enumerate(items["item"])}
        column = {variant: index for index, variant in enumerate(variants)}
        place = {label: index for index, label in enumerate(labels)}
        self._given = np.zeros((len(row), len(variants), len(labels)), bool)
        for item, variant, label in frame.select("item", "variant", "label").iter_rows():
            if label in place and variant in column:
                self._given[row[item], column[variant], place[label]] = True
        self._variants, self._seed = tuple(variants), seed
        gold = np.array([place.get(label, -1) for label in items["gold"]], int)
        self._all = self._vote(range(len(variants)))
        self.by_gold = bool((gold >= 0).sum() >= _GOLD)
        self._truth = gold if self.by_gold else self._all

    def forecast(self) -> list[Votes]:
        """What one prompt and the votes of several would be worth, for each size that can be had."""
        sizes = [size for size in SIZES if size <= len(self._variants)]
        known = self._truth >= 0
        draw = random.Random(self._seed)
        votes = []
        for size in sizes:
            whole = size == len(self._variants)
            sets = [draw.sample(range(len(self._variants)), size) for _ in range(1 if whole else _DRAWS)]
            wrong = [float((self._vote(own)[known] != self._truth[known]).mean()) for own in sets]
            votes.append(Votes(size, float(np.mean(wrong)), int(known.sum()), self.by_gold))
        return votes

    def worth_asking(self) -> int:
        """The smallest number of prompts whose votes are wrong at most a point more often than others'.

        Without gold labels, the smallest whose votes come near those of all prompts.
        """
        votes = self.forecast()
        most = min(one.wrong for one in votes) + _WORTH if self.by_gold else _NEAR
        return next(one.prompts for one in votes if one.wrong <= most or one is votes[-1])

    def most_typical(self, size: int, before: Sequence[str] = ()) -> list[str]:
        """The first prompt, and those that agree most often with the vote of all, in the design's order.

        Prompts that were asked before come first: their answers are paid for.
        """
        rows = np.flatnonzero(self._all >= 0)
        alike = self._given[rows, :, self._all[rows]].mean(axis=0) if rows.size else self._given.mean((0, 2))
        first = [self._variants.index(one) for one in before] or [0]
        others = sorted(range(len(self._variants)), key=lambda index: (-alike[index], index))
        chosen = list(dict.fromkeys([*first, *others]))[:size]
        return [variant for index, variant in enumerate(self._variants) if index in chosen]

    def _vote(self, own: Sequence[int]) -> NDArray[np.int_]:
        """Each text's most frequent label of these prompts, of equals the first; -1 where there is none."""
        times = self._given[:, list(own)].sum(axis=1)
        return np.where(times.any(axis=1), times.argmax(axis=1), -1)


@dataclass(frozen=True, slots=True)
class PromptChoice:
    """The prompts whose answers label the texts, and why these.

    Attributes:
        variants: Their ids.
        reason: Why so many, in a sentence.
        forecast: What one prompt and the votes of several would be worth; empty where one is recommended.
        recommended: What the check recommends about the labels.
    """

    variants: tuple[str, ...]
    reason: str
    forecast: tuple[Votes, ...]
    recommended: Recommendation


def chosen_prompts(
    fields: Mapping[str, Study],
    cards: Mapping[str, Card],
    ids: Sequence[str],
    votes: int | None,
    before: Sequence[str],
    least: int = 1,
    *,
    anyway: bool,
) -> dict[str, PromptChoice]:
    """Choose the prompts by what a check found.

    All fields are asked about at once: as many prompts as the field takes that needs the most. A field of
    which the check recommends one prompt alone is labelled by that one. Prompts that deviate are not asked.

    Args:
        fields: The check, field by field; a check of one label set has one without a name.
        cards: What it found of each.
        ids: The prompts to choose from.
        votes: How many are wanted; those that are worth it, if None.
        before: Those that were chosen before, whose answers are paid for.
        least: How many to ask at least, since texts are doubtful where prompts disagree.
        anyway: Whether to go on where the check says that the labels should not be used.

    Returns:
        The choice for each field whose labels may be used; with ``anyway``, for all.

    Raises:
        QuaverError: The check says that no labels should be used, and nobody insists.
    """
    recommended = _recommended(cards)
    used = {name: one for name, one in recommended.items() if anyway or one.kind != "do not use"}
    if not used:
        raise _not_to_be_used(next(iter(fields.values())), card_of_fields(cards))
    deviating = {name for one in used.values() for name in one.prompts}
    ids = [name for name in ids if name not in deviating] or ids
    before = before if votes is None and {*before} <= {*ids} else []
    alone = {
        name: one.prompt
        for name, one in used.items()
        if one.prompt and votes is None and (len(used) > 1 or [*before] in ([], [one.prompt]))
    }
    given = {name: _votes_of(fields[name], used[name], ids) for name in used if name not in alone}
    worth = {name: min(votes or one.worth_asking(), len(ids)) for name, one in given.items()}
    voting: list[str] = []
    if given:
        widest = max(worth, key=lambda name: worth[name])
        first = [*before] or [ids[0], *alone.values()] * bool(alone)
        size = worth[widest] if votes else max(least, len(before) or worth[widest], len({*first}))
        voting = given[widest].most_typical(min(size, len(ids)), first)
    choices = {}
    for name, one in used.items():
        if name in alone:
            choices[name] = PromptChoice((alone[name],), "the check recommends this prompt alone", (), one)
            continue
        forecast = tuple(given[name].forecast())
        doubt = f"{count(worth[name], 'prompt')} would do, but only several show which texts are doubtful"
        why = doubt if len(voting) == least > worth[name] else _why(len(voting), forecast)
        choices[name] = PromptChoice(tuple(voting), why, forecast, one)
    return choices


def _recommended(cards: Mapping[str, Card]) -> dict[str, Recommendation]:
    """What a check recommends of each field: of the model that is best for the worst field."""
    model = best_of(card_of_fields(cards).recommendations).model
    return {
        name: best_of([one for one in card.recommendations if one.model == model] or card.recommendations)
        for name, card in cards.items()
    }


def _votes_of(field: Study, recommended: Recommendation, ids: Sequence[str]) -> PromptVotes:
    """What the prompts said of a field, of the model that is recommended."""
    seen = field.annotations().filter(pl.col("evaluator").cast(pl.String) == field.spec.evaluators[0].title)
    if recommended.model:
        seen = seen.filter(pl.col("model").cast(pl.String) == recommended.model)
    return PromptVotes(seen, ids, field.experiment.labels.codes, derive(field.spec.seed, "votes"))


def _not_to_be_used(check: Study, verdict: Card) -> QuaverError:
    return QuaverError(
        "these labels should not be used",
        where=str(check.folder),
        expected="a check that finds the labels fit to use",
        found=verdict.verdict,
        fix=f"{verdict.next_step} Or label anyway with --anyway, which the labelled file will say",
    )


def _why(size: int, forecast: Sequence[Votes]) -> str:
    """Why so many prompts are asked, or what is known of so many."""
    shown = {votes.prompts: votes.wrong for votes in forecast}
    if size not in shown:
        return "as you asked"
    against = "the gold labels" if forecast[0].by_gold else "the vote of all prompts"
    found = f"{count(size, 'prompt')} would differ from {against} in {percent(shown[size])} of the texts"
    others = [f"{count(one, 'prompt')} in {percent(wrong)}" for one, wrong in shown.items() if one != size]
    return ", ".join([found, *others])
