"""The verdict on a study as a card: what to do with its labels, why, what moves them, what to do next.

What it says stands in ``templates/verdict.txt``, a macro a clause, and in ``verdict_words.toml``.
"""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import polars as pl

from quaver.core.number_format import enumeration, rounded
from quaver.core.records import SPLIT, Estimate
from quaver.core.rows import Rows, at_levels, grouped, of_measures
from quaver.report.decoding_words import temperature_sent
from quaver.report.estimate_index import NO_LABEL, Results
from quaver.report.findings.decision import recommendations
from quaver.report.findings.first_screen import first_screen, screen_html
from quaver.report.findings.judged_model import OF_PROMPTS
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
"""So many texts are drawn at random where those with gold labels were chosen: of 5% wrong labels, nearly
every sample of this size shows that they are no more than 20%."""

_HARDLY = 0.05
"""The largest share of the labels that changes where another prompt "hardly" changes one."""

_COPIES: Final = "near_duplicates"
"""The column of groups of texts that are nearly the same."""

_BEST: Final = (*RECOMMENDED[:3], "cannot tell", "do not use")
"""The kinds, those first that let the most be used."""

_APART = 0.1
"""Where the share of missing answers differs by this much between levels, these are named."""


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
        screen: What the first screen shows (`first_screen`).
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
    screen: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def kind(self) -> Recommended:
        """The recommendation for the model whose labels can best be used (with fields, the worst)."""
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
        rows = []
        for of in self.recommendations:
            rows.append(
                {"model": of.model, "recommendation": of.kind, "prompt": of.prompt, "reason": of.reason}
            )
        return rows

    def _repr_html_(self) -> str:
        return str(screen_html(self.screen, styled=True))


def card(results: Results) -> Card:
    """The card of a study."""
    order, advised = results.models, []
    for recommendation in recommendations([*results.audit, *results.estimates], results.families):
        if recommendation.kind == "cannot tell" and unanswered(results):
            recommendation = replace(recommendation, next_step="run")  # its answers may be all that it takes
        advised.append(recommendation)
    advised.sort(key=lambda of: [*order, of.model].index(of.model))
    return _Said(results, advised).card()


def best_of(recommendations: Sequence[Recommendation]) -> Recommendation:
    """The recommendation for the model whose labels can best be used; with fields, that of the worst."""
    best: dict[str, Recommendation] = {}
    for name, some in grouped(recommendations, lambda recommendation: recommendation.field).items():
        best[name] = min(some, key=lambda recommendation: _BEST.index(recommendation.kind))
    return best[worst_first(best)[0]]


def worst_first(best: Mapping[str, Recommendation]) -> list[str]:
    """The names of recommendations, those first whose labels may be used least."""
    return sorted(best, key=lambda name: -_BEST.index(best[name].kind))


class _Said:
    """The recommendations of a study in words."""

    def __init__(self, results: Results, recommendations: Sequence[Recommendation]) -> None:
        self.results, self.found, self.best = results, recommendations, best_of(recommendations)
        decodings = results.lock.get("decodings", {})
        self._say = phrases(
            "verdict.txt",
            results.word,
            results=results,
            label=self._label,
            prompt_names=lambda some: [quoted(results.prompt_words(name), 120) for name in some],
            cold=bool(decodings) and not any(temperature_sent(results.lock, name) for name in decodings),
            rounded=rounded,
            group_in_words=group_in_words,
            ANOTHER="another prompt or split" if SPLIT in results.factors else "another prompt",
            NAMED=_NAMED,
            APART=_APART,
            BEST=_BEST,
            HARDLY=_HARDLY,
            COPIES=_COPIES,
            **WORDS,
        )

    def card(self) -> Card:
        """All of it."""
        say, recommendations, first = self._say, self.found, self.found[0]
        advised, reasons = say("advised", recommendations), say("reasons", recommendations, self.best)
        verdict = f"{reasons} {_sentence(say('limits', self.best))}".strip()
        moves, step = _sentence(say("movement", recommendations)), self._next_step()
        bare = f": {say('because', _without_intervals(first))}" if len(recommendations) == 1 else ""
        limits = verdict.removeprefix(reasons)
        why = f": {say('because', first)}.{limits}" if len(recommendations) == 1 else f". {verdict}"
        headline = f"{advised}{bare}."
        sentences: dict[str, Any] = {
            "verdict": f"{advised}: {say('because', first)}." if len(recommendations) == 1 else headline,
            "why": f"{self._worst()} {limits if len(recommendations) == 1 else verdict}".strip(),
            "moves": moves,
            "next_step": step,
            "reading": _sentence(say("reading", of_measures(self.results.audit, "reader_disagreement"))),
            "misread": tuple(self._misread()),
            "facts": tuple(_facts(self.results)),
            "by_hand": say("by_hand", self.best, by_hand(self.results)),
        }
        badges = {kind: words["badge"] for kind, words in WORDS["kinds"].items()}
        return Card(
            headline=headline,
            recommendation=f"{say('advice_of', recommendations)}.",
            lines=(f"{advised}{why}".strip(), moves, step),
            recommendations=tuple(recommendations),
            command=self._command(),
            screen=first_screen(self.results, recommendations, self.best, badges, sentences),
            **{name: sentences[name] for name in ("moves", "next_step", "facts", "reading", "misread")},
            verdict=verdict,
        )

    def _worst(self) -> str:
        """The prompt that surely does worst, where the verdict does not name it anyway."""
        gaps = at_levels(of_measures(self.results.audit, *OF_PROMPTS), model=self.best.model)
        worse = [gap for gap in gaps if gap.low is not None and gap.low > 0]
        worst = max(worse, key=lambda gap: gap.number, default=None)
        known = worst is None or any(worst.cell == exception.cell for exception in self.best.exceptions)
        return "" if known else _sentence(self._say("beside", worst))

    def _misread(self) -> Iterator[str]:
        """Answers that evaluators read differently, where that decides."""
        for recommendation in self.found:
            readers = recommendation.known("reader_disagreement")
            if recommendation.reason != "reading" or readers is None:
                continue
            for example in readers.details["examples"]:
                read, marked = self._label(example["read"]), self._label(example["marked"])
                yield f"{quoted(example['item'])}, read as {read}, marked as {marked}: {example['text']}"

    def _next_step(self) -> str:
        """What to do next, for the model whose labels can best be used."""
        examples = self._examples() if self.best.next_step == "define the classes" else []
        classes = list(map(self._label, self.best.classes))
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
        return list(map(quoted, wrong.unique(maintain_order=True).head(2)))

    def _command(self) -> str:
        """What draws the gold labels that are missing; empty where that is not the next step."""
        if self.best.next_step == "label a random sample":
            return f"gold STUDY --n {_ANEW} --design simple"
        if self.best.next_step != "label more by hand" or not self.best.needed:
            return ""
        return f"gold STUDY{'' if _awaited(self.results) else f' --n {self.best.needed} --design simple'}"

    def _label(self, code: str | None) -> str:
        """A label in quotation marks, or that there is none."""
        if code is None:
            return "no label"
        return code if code == NO_LABEL else quoted(self.results.label_name(code))


def _sentence(clause: str) -> str:
    return f"{capital(clause)}." if clause else ""


def group_in_words(column: str, level: str) -> str:
    """A group of texts in words, such as "texts whose party is “left”"."""
    return f"texts {level}" if column in ("length", "place") else f"texts whose {column} is {quoted(level)}"


def _without_intervals(recommendation: Recommendation) -> Recommendation:
    bare = partial(replace, low=None, high=None)
    judged = recommendation.judged
    estimates = {name: bare(estimate) for name, estimate in judged.estimates.items()}
    evidence = tuple(map(bare, recommendation.evidence))
    return replace(recommendation, judged=judged._replace(estimates=estimates), evidence=evidence)


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
    if len(models) > _NAMED:
        yield "Models", f"{len(models)}"
    elif models:
        names = enumeration(map(partial(shortened, length=60), models))
        yield "Model" if len(models) == 1 else "Models", names
    yield capital(f"{results.word}s"), f"{results.lock.get('items', {}).get('n', 0):,}"
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


def by_hand(results: Results) -> Mapping[str, Any]:
    """Facts about hand labels: how many, their column or coders, and the sample that was drawn."""
    items = results.lock.get("study", {}).get("items") or {}
    gold = (results.lock.get("study", {}).get("annotations") or items).get("gold") or {}
    known = gold if isinstance(gold, dict) else {"column": gold}
    sample = results.lock.get("gold_sample", {})
    columns = known.get("columns") or [known.get("column")]
    facts: dict[str, Any] = {
        "texts": sum(results.lock.get("items", {}).get("gold", {}).values()),
        "columns": list(map(quoted, filter(None, columns))),
        "coders": list(map(quoted, items.get("coders", ()))) if known.get("coders") else [],
        "sample": None,
        "drawn": known.get("drawn"),
    }
    if sample.get("design"):
        labelled = [coder["coder"] for coder in sample["coders"] if coder["labelled"]]
        facts["sample"] = {**sample, "coders": labelled}
    return facts


def card_of_fields(cards: Mapping[str, Card], links: Mapping[str, str] | None = None) -> Card:
    """The card of a study from those of its fields.

    The headline says of every field whether its labels may be used, the worst kind first; why, what moves the
    labels and what to do next is said of the worst field, and of each field in ``verdict``.

    Args:
        cards: By the field's name; one of no name, of a study without fields, is returned as it is.
        links: Each field's report.
    """
    if [*cards] == [""]:
        return cards[""]
    best = {name: best_of(card.recommendations) for name, card in cards.items()}
    order = worst_first(best)
    worst, first = cards[order[0]], quoted(order[0])
    advice = _advice_of_fields(order, best)
    recommendations, fields = list[Recommendation](), []
    for name in order:
        recommendations += map(partial(replace, field=name), cards[name].recommendations)
        fields.append({"name": name, "screen": cards[name].screen, "link": (links or {}).get(name, "")})
    return replace(
        worst,
        headline=f"{advice}. {first}: {worst.headline}",
        recommendation=f"{advice}.",
        verdict=" ".join(f"{quoted(name)}: {card.verdict}" for name, card in cards.items()),
        moves=f"{first}: {worst.moves}",
        next_step=f"{first}: {worst.next_step}",
        lines=(f"{advice}. {first}: {worst.verdict}", worst.moves, worst.next_step),
        recommendations=tuple(recommendations),
        command=f"{worst.command} --field {shlex.quote(order[0])}" if worst.command else "",
        screen={"name": worst.screen.get("name", ""), "verdict": f"{advice}.", "fields": fields},
    )


def _advice_of_fields(order: Sequence[str], best: Mapping[str, Recommendation]) -> str:
    """What to do with the labels of the fields, a clause for each kind of advice."""
    clauses = []
    for kind, names in grouped(order, lambda name: best[name].kind).items():
        clauses.append(f"{WORDS['kinds'][kind]['counted']} {enumeration(map(quoted, names))}")
    return capital("; ".join(clauses))
