"""The verdict on a study as a card: what to do with its labels, why, what moves them, what to do next.

Which clauses there are is decided here; their words stand in ``verdict_words.toml`` and in
``templates/verdict.txt``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import Any, Final

import polars as pl

from quaver.core.number_format import enumeration, rounded
from quaver.core.records import Estimate
from quaver.core.rows import Rows, of_measures
from quaver.report.decoding_words import temperature_sent
from quaver.report.estimate_index import NO_LABEL, Results
from quaver.report.findings.decision import recommendations
from quaver.report.findings.recommendation import RECOMMENDED, NextStep, Recommendation, Recommended
from quaver.report.page_templates import phrases, quoted
from quaver.report.page_words import capital, shortened

WORDS: Final[Mapping[str, Any]] = tomllib.loads(
    Path(__file__).with_name("verdict_words.toml").read_text(encoding="utf-8")
)
"""The words of verdicts that need no numbers: kinds and next steps."""

_NAMED = 3
"""As many models, and prompts, are named."""

_ANEW: Final = 100
"""So many texts are drawn at random where those with hand labels were chosen: of 5% wrong labels, nearly
every sample of this size shows that they are no more than 20%."""

_HARDLY = 0.05
"""The largest share of the labels that changes where another prompt "hardly" changes one."""

_COPIES: Final = "near_duplicates"
"""The column of groups of texts that are nearly the same."""

_BEST: Final = (*RECOMMENDED[:3], "cannot tell", "do not use")
"""The kinds, those first that let the most be used."""

_APART = 0.1
"""Where the share of missing answers differs by this much between levels, these are named."""

_WITHOUT_LABELS: Final = frozenset({"failed", "unreadable", "cut off"})
"""Reasons that are about answers rather than labels."""

_SAID: Final = frozenset({"unsteady", "unclear", "moved by order", "moved by format"})
"""Reasons that say already how often another prompt changes a label."""

_UNSEEN: Final = "What moves the labels cannot be seen from these answers."


@dataclass(frozen=True, slots=True)
class Card(Rows):
    """What a study comes down to; prints as three lines, and is a card in a notebook.

    Attributes:
        headline: What to do with the labels and why, in one sentence without intervals.
        recommendation: What to do with the labels, in a few words: "You can use these labels".
        verdict: Why, with its numbers, and what that does not vouch for.
        moves: What moves the labels, in one sentence.
        next_step: What to do next, in one sentence.
        lines: All of it in three sentences.
        recommendations: One for each model, typed, with the estimates that decided.
        command: What to type for the next step, after ``quaver``, where that depends on numbers; else empty.
        facts: What the study was: model, texts, prompts, calls, date, cost, as far as they are known.
        reading: How the answers were read, in one sentence that comes before the verdict; empty where it
            was not looked at.
        misread: Answers whose reading decides the verdict, with what was read in them.
    """

    headline: str
    recommendation: str
    verdict: str
    moves: str
    next_step: str
    lines: tuple[str, str, str]
    recommendations: tuple[Recommendation, ...]
    command: str
    facts: tuple[tuple[str, str], ...]
    reading: str = ""
    misread: tuple[str, ...] = ()

    @property
    def kind(self) -> Recommended:
        """That of the model whose labels can best be used (of fields, the worst)."""
        return best_of(self.recommendations).kind

    @property
    def step(self) -> NextStep:
        """What to do next, as a typed kind."""
        return best_of(self.recommendations).next_step

    @property
    def evidence(self) -> tuple[Estimate, ...]:
        """The estimates that decided, model by model."""
        return tuple(
            estimate for recommendation in self.recommendations for estimate in recommendation.evidence
        )

    def __str__(self) -> str:
        return "\n".join(filter(None, (self.reading, *self.lines, *self.misread)))

    __repr__ = __str__

    def rows(self) -> list[dict[str, Any]]:
        """A row for each model: what to do with its labels, with which prompt, and what to do next."""
        return [
            {
                "model": recommendation.model,
                "recommendation": recommendation.kind,
                "prompt": recommendation.prompt,
                "reason": recommendation.reason,
            }
            for recommendation in self.recommendations
        ]

    def _repr_html_(self) -> str:
        said = filter(None, (self.reading, self.verdict, self.moves, self.next_step, *self.misread))
        lines = "".join(f"<p>{escape(line)}</p>" for line in said)
        facts = " · ".join(f"{escape(name)}: {escape(value)}" for name, value in self.facts)
        return f"<div><h3>{escape(self.recommendation)}</h3>{lines}<p><small>{facts}</small></p></div>"


def card(results: Results) -> Card:
    """The card of a study."""
    places = {model: index for index, model in enumerate(results.models)}
    found = sorted(
        recommendations([*results.audit, *results.estimates], results.families),
        key=lambda recommendation: places.get(recommendation.model, len(places)),
    )
    if unanswered(results):  # the answers that are missing may be all that it takes
        found = [
            replace(recommendation, next_step="run")
            if recommendation.kind == "cannot tell"
            else recommendation
            for recommendation in found
        ]
    return _Said(results, found).card()


def best_of(found: Sequence[Recommendation]) -> Recommendation:
    """That of the model whose labels can best be used, the first of several; of fields, that of the worst."""
    fields: dict[str, list[Recommendation]] = {}
    for recommendation in found:
        fields.setdefault(recommendation.field, []).append(recommendation)
    best = {
        field: min(some, key=lambda recommendation: _BEST.index(recommendation.kind))
        for field, some in fields.items()
    }
    return best[worst_first(best)[0]]


def worst_first(best: Mapping[str, Recommendation]) -> list[str]:
    """The names of recommendations, those first whose labels may be used least."""
    return sorted(best, key=lambda name: -_BEST.index(best[name].kind))


class _Said:
    """The recommendations of a study in words."""

    def __init__(self, results: Results, found: Sequence[Recommendation]) -> None:
        self.results, self.found, self.best = results, found, best_of(found)
        self.alone = len(found) == 1
        decodings = results.lock.get("decodings", {})
        self._say = phrases(
            "verdict.txt",
            results=results,
            label=self._label,
            prompt_names=lambda some: [quoted(results.variant_name(name)) for name in some],
            cold=bool(decodings) and not any(temperature_sent(results.lock, name) for name in decodings),
            rounded=rounded,
            group_in_words=group_in_words,
            NAMED=_NAMED,
            HARDLY=_HARDLY,
            COPIES=_COPIES,
            **WORDS,
        )

    def card(self) -> Card:
        """All of it."""
        (first, *_), limits = self.found, self._limits()
        advised, reasons, moves, step = self._advised(), self._reasons(), self._movement(), self._next_step()
        bare = f": {self._say('because', _without_intervals(first))}" if self.alone else ""
        why = f": {self._say('because', first)}." if self.alone else f". {reasons}"
        return Card(
            headline=f"{advised}{bare}.",
            recommendation=f"{self._advice()}.",
            verdict=f"{reasons} {limits}".strip(),
            moves=moves,
            next_step=step,
            lines=(f"{advised}{why} {limits}".strip(), moves, step),
            recommendations=tuple(self.found),
            command=self._command(),
            facts=tuple(_facts(self.results)),
            reading=self._reading(),
            misread=tuple(self._misread()),
        )

    def _reading(self) -> str:
        """How the answers were read, as a sentence; empty where that was not looked at."""
        readers = of_measures(self.results.audit, "reader_disagreement")
        return _sentence(self._say("reading", readers)) if 0 < len(readers) <= _NAMED else ""

    def _misread(self) -> Iterator[str]:
        """Answers that evaluators read differently, where that decides."""
        for recommendation in self.found:
            readers = recommendation.known("reader_disagreement")
            if recommendation.reason != "reading" or readers is None:
                continue
            for example in readers.details["examples"]:
                read, marked = (
                    "no label" if example[side] is None else self._label(example[side])
                    for side in ("read", "marked")
                )
                yield f"{quoted(example['item'])}, read as {read}, marked as {marked}: {example['text']}"

    def _advised(self) -> str:
        """What to do with the labels; of one model also for which classes and groups not."""
        (recommendation, *others) = self.found
        if others or not recommendation.exceptions:
            return self._advice()
        labels = [self._label(code) for code in recommendation.labels]
        missed = [self._label(code) for code in recommendation.missed if code not in recommendation.labels]
        groups = [group_in_words(column, level) for column, level in recommendation.groups]
        prompts = [f"with {quoted(self.results.variant_name(name))}" for name in recommendation.prompts]
        return self._say("excepted", recommendation, [*labels, *groups, *prompts], missed)

    def _advice(self) -> str:
        """What to do with the labels, as a clause; of several models, a clause for each kind of advice."""
        kinds = {recommendation.kind for recommendation in self.found}
        if len(kinds) == 1:
            said = {self._say("advice", recommendation) for recommendation in self.found}
            return said.pop() if len(said) == 1 else str(WORDS["kinds"][kinds.pop()]["advice"])
        clauses = []
        for kind in _BEST:
            models = [recommendation.subject for recommendation in self.found if recommendation.kind == kind]
            if models:
                clauses.append(self._say("counted", kind, models, len(self.found)))
        return capital("; ".join(clauses))

    def _reasons(self) -> str:
        """Why: a sentence for each of a few models; of many, for the one whose labels can best be used."""
        if self.alone:
            return _sentence(self._say("because", self.best))
        shown = self.found if len(self.found) <= _NAMED else [self.best]
        return " ".join(
            f"{quoted(recommendation.subject)}: {self._say('because', recommendation)}."
            for recommendation in shown
        )

    def _limits(self) -> str:
        """What the recommendation for the model whose labels can best be used does not vouch for."""
        recommendation, parts = self.best, self.best.unvouched
        few = of_measures(parts, "class_found")
        broken = of_measures(parts, "broken_prompts")
        others = [part for part in parts if part not in few and part not in broken]
        said = self._say(
            "limits", [*recommendation.exceptions, *others], few, recommendation.grouped[:1], broken
        )
        return _sentence(said) if said else ""

    def _movement(self) -> str:
        """What moves the labels: another prompt, asking again, and which part of the prompt."""
        seen = [
            recommendation
            for recommendation in self.found
            if recommendation.known("flips_prompts") or recommendation.known("flips_repeats")
        ]
        if not seen:
            return _UNSEEN
        return self._moved(seen[0]) if self.alone else self._compared(seen)

    def _moved(self, recommendation: Recommendation) -> str:
        """What moves one model's labels, without what the first sentence has said already."""
        if recommendation.reason in _WITHOUT_LABELS:
            details = recommendation.evidence[0].details
            shares = sorted(details.get("shares", {}).items(), key=lambda pair: pair[1])
            if shares and shares[-1][1] - shares[0][1] >= _APART:
                return self._say("missing", shares[0], shares[-1], str(details["by"]))
        top = recommendation.judged.top
        shares = [] if top is None else sorted(top.details["shares"].items(), key=lambda pair: pair[1])
        factor = self._say("factor", shares[0], shares[-1], top.cell) if top is not None else ""
        said = self._say("moved", recommendation, recommendation.reason in _SAID, factor)
        return _sentence(said or "chance, when the same prompt is asked again; only one prompt was tried")

    def _compared(self, seen: Sequence[Recommendation]) -> str:
        """How far another prompt, and asking again, move the labels of each of several models."""
        judged = [
            recommendation for recommendation in seen if recommendation.reason not in _WITHOUT_LABELS
        ] or seen
        prompts = {
            recommendation.model: estimate
            for recommendation in judged
            if (estimate := recommendation.known("flips_prompts"))
        }
        repeats = [
            estimate for recommendation in judged if (estimate := recommendation.known("flips_repeats"))
        ]
        said = self._say("compared", prompts, repeats)
        return _sentence(said) if said else _UNSEEN

    def _next_step(self) -> str:
        """What to do next, for the model whose labels can best be used."""
        examples = self._examples() if self.best.next_step == "define the classes" else []
        classes = [self._label(code) for code in self.best.classes]
        left = unanswered(self.results), _awaited(self.results)
        return self._say("next_step", self.best, *left, classes, examples, self._command())

    def _examples(self) -> list[str]:
        """Two texts of an excepted class that got another label, by their ids."""
        frame = self.results.annotations
        if not self.best.classes or "gold" not in frame.columns:
            return []
        gold, label = (pl.col(name).cast(pl.String) for name in ("gold", "label"))
        of_class = gold.is_in(self.best.missed) | label.is_in(self.best.labels)
        wrong = frame.filter(of_class & (label != gold))["item"]
        return [quoted(item) for item in wrong.unique(maintain_order=True).head(2).to_list()]

    def _command(self) -> str:
        """What draws the gold labels that are missing; empty where that is not the next step."""
        if self.best.next_step == "label a random sample":
            return f"gold --n {_ANEW} --design simple"
        if self.best.next_step != "label more by hand" or not self.best.needed:
            return ""
        return "gold" if _awaited(self.results) else f"gold --n {self.best.needed} --design simple"

    def _label(self, code: str) -> str:
        """A label in quotation marks, or that there is none."""
        return code if code == NO_LABEL else quoted(self.results.label_name(code))


def _sentence(clause: str) -> str:
    return f"{capital(clause)}."


def group_in_words(column: str, level: str) -> str:
    """The texts of a group; those of a length or a place say it themselves."""
    return f"texts {level}" if column in ("length", "place") else f"texts whose {column} is {quoted(level)}"


def _without_intervals(recommendation: Recommendation) -> Recommendation:
    bare = {
        name: replace(estimate, low=None, high=None)
        for name, estimate in recommendation.judged.evidence.items()
    }
    evidence = tuple(replace(estimate, low=None, high=None) for estimate in recommendation.evidence)
    return replace(recommendation, judged=recommendation.judged._replace(evidence=bare), evidence=evidence)


def unanswered(results: Results) -> int:
    """How many calls of the design have no answer yet."""
    collection = results.lock.get("collection", {})
    return max(0, int(collection.get("total", 0)) - int(collection.get("answered", 0)))


def _awaited(results: Results) -> int:
    """How many texts of a gold sample have been drawn and are not labelled yet."""
    frame = results.annotations
    if "gold_drawn" not in frame.columns:
        return 0
    return frame.filter(pl.col("gold_drawn") & pl.col("gold").is_null())["item"].n_unique()


def _facts(results: Results) -> Iterator[tuple[str, str]]:
    models, collected = results.models, results.lock.get("collection", {})
    if models:
        named = len(models) <= _NAMED
        yield (
            ("Model" if len(models) == 1 else "Models"),
            enumeration(shortened(name, 60) for name in models) if named else f"{len(models)}",
        )
    yield "Texts", f"{results.lock.get('items', {}).get('n', 0):,}"
    if results.variants:
        yield "Prompts", f"{len(results.variants):,}"
    calls = collected.get("answered")
    if calls is not None and not results.imported:
        total = collected.get("total", calls)
        yield "Calls", f"{calls:,}" if calls == total else f"{calls:,} of {total:,}"
    elif results.evaluators:
        yield "Labels", f"{results.annotations.height // len(results.evaluators):,}"
    if date := collected.get("date"):
        yield "Date", str(date)
    if collected.get("money") is not None:
        yield "Cost", f"${collected['money']:,.2f}" if collected["money"] else "free"


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
    advice = _advice_of_fields({name: best[name] for name in order})
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


def _advice_of_fields(best: Mapping[str, Recommendation]) -> str:
    """What to do with the labels of the fields, a clause for each kind of advice."""
    kinds: dict[str, list[str]] = {}
    for name, recommendation in best.items():
        kinds.setdefault(recommendation.kind, []).append(quoted(name))
    clauses = [f"{WORDS['kinds'][kind]['counted']} {enumeration(some)}" for kind, some in kinds.items()]
    return capital("; ".join(clauses))
