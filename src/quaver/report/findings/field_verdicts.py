"""The verdict on a study with fields: of each, with those in the headline that may be used least."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from quaver.core.number_format import enumeration
from quaver.report.findings.recommendation import Recommendation
from quaver.report.findings.verdict_card import WORDS, Card, best_of, worst_first
from quaver.report.page_templates import quoted
from quaver.report.page_words import capital


def card_of_fields(cards: Mapping[str, Card]) -> Card:
    """The card of a study from those of its fields.

    The headline says of every field whether its labels may be used, the worst kind first; why, what moves the
    labels and what to do next is said of the worst field, and of each field in ``verdict``.

    Args:
        cards: By the field's name; one of no name, of a study without fields, is returned as it is.
    """
    if [*cards] == [""]:
        return cards[""]
    found = {
        name: [replace(recommendation, field=name) for recommendation in card.recommendations]
        for name, card in cards.items()
    }
    best = {name: best_of(recommendations) for name, recommendations in found.items()}
    order = worst_first(best)
    worst = cards[order[0]]
    advice = _advice({name: best[name] for name in order})
    why = f"{quoted(order[0])}: {worst.verdict}"
    return Card(
        headline=f"{advice}. {quoted(order[0])}: {worst.headline}",
        recommendation=f"{advice}.",
        verdict=" ".join(f"{quoted(name)}: {card.verdict}" for name, card in cards.items()),
        moves=f"{quoted(order[0])}: {worst.moves}",
        next_step=f"{quoted(order[0])}: {worst.next_step}",
        lines=(f"{advice}. {why}", worst.moves, worst.next_step),
        recommendations=tuple(recommendation for name in order for recommendation in found[name]),
        command=f"{worst.command} --field {order[0]}" if worst.command else "",
        facts=worst.facts,
        reading=worst.reading,
        misread=worst.misread,
    )


def _advice(best: Mapping[str, Recommendation]) -> str:
    """What to do with the labels of the fields, a clause for each kind of advice."""
    kinds: dict[str, list[str]] = {}
    for name, recommendation in best.items():
        kinds.setdefault(recommendation.kind, []).append(quoted(name))
    clauses = [f"{WORDS['kinds'][kind]['counted']} {enumeration(some)}" for kind, some in kinds.items()]
    return capital("; ".join(clauses))
