"""The status of a study: what is answered, spent and failed, and what a running process makes of it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from quaver.collect.run.ledger import (
    Entry,
    changed,
    errors_by_kind,
    idle_in,
    ledger,
    pace,
    spent,
    without_words,
)
from quaver.collect.store.batch_rows import StoredBatches
from quaver.collect.store.response_store import Store
from quaver.collect.store.store_lock import collected_since, who_collects
from quaver.core.instrument import idle_words
from quaver.core.records import Item
from quaver.core.rows import Rows
from quaver.report.page_templates import paragraph
from quaver.study.analysis.annotation_frame import changed_models
from quaver.study.sources.study_source import StudySource


@dataclass(frozen=True, slots=True)
class StudyStatus(Rows):
    """The status of a study.

    Attributes:
        total: Calls of the whole study.
        answered: Calls that have a response.
        errors: How many of these are errors.
        by_kind: The errors by kind.
        unplaced: Responses that belong to no call of the study as it stands.
        outside: The same in a sentence, by model; empty where there are none.
        reused: Answers that were taken from other studies, by the study.
        tokens: Read and written by what was asked.
        money: US dollars spent; None where a price is not known.
        conditions: Of each condition its ``model``, ``variant`` and ``decoding``, how many of its calls are
            ``answered``, and how many are ``wanted``.
        configurations_changed: A sentence for each model that answered from more than one configuration.
        process: The process that collects now; None where none does.
        rate: Calls a second in the last minute of the present run; 0 where nobody collects.
        paraphrases: Calls that made paraphrases; their tokens and money are among the others.
        without_words: A sentence for each model whose thinking left no room for answers, or that ended some
            without a word.
        blocked: A sentence for each model of which the provider blocked texts: how many, with which gold
            labels and of which groups, in its words, and what to do.
        idle_knobs: A sentence for each knob, such as the temperature, whose levels made no difference.
        sent: Requests that were sent to servers.
        received: Replies to these.
        discarded: Replies that became no answer: they could not be used, never came, or servers were tried
            with them.
        discarded_tokens: What these took, which is among the other tokens.
        waiting: Answers of a run that was killed, which the next run takes in.
        last: When the last answer arrived, in seconds since 1970; None where there is none.
        batches: The batches that are out, by ``model`` and ``name`` (``remote``: what its provider calls it).
            ``state`` is ``written``, ``uploaded``, ``running``, ``partly done``, or how it ended, if its
            results have yet to be stored. Of its ``calls`` the provider says that so many are ``done`` or
            ``refused``, and it may ``note`` something. ``since``, ``expires`` and ``looked`` are in seconds
            since 1970, ``tokens`` and ``money`` (None where the price is not known) what it is expected to
            take; these calls, tokens and dollars are not among the others.
    """

    _rows_in = "conditions"

    total: int
    answered: int
    errors: int = 0
    by_kind: Counter[str] = field(default_factory=Counter)
    unplaced: int = 0
    outside: str = ""
    reused: Mapping[str, int] = field(default_factory=dict)
    tokens: float = 0.0
    money: float | None = 0.0
    conditions: Sequence[Mapping[str, Any]] = ()
    configurations_changed: Sequence[str] = ()
    process: int | None = None
    rate: float = 0.0
    paraphrases: int = 0
    without_words: Sequence[str] = ()
    blocked: Sequence[str] = ()
    idle_knobs: Sequence[str] = ()
    sent: int = 0
    received: int = 0
    discarded: int = 0
    discarded_tokens: float = 0.0
    waiting: int = 0
    last: float | None = None
    batches: Sequence[Mapping[str, Any]] = ()

    def __repr__(self) -> str:
        failed = f", {self.errors:,} with an error" if self.errors else ""
        running = f"; process {self.process} is collecting" if self.process is not None else ""
        return f"<{self.answered:,} of {self.total:,} calls are answered{failed}{running}>"

    @property
    def warnings(self) -> list[str]:
        """What to know before its answers are trusted, a sentence each."""
        return [*self.configurations_changed, *self.without_words, *self.blocked, *self.idle_knobs]

    @property
    def left(self) -> float | None:
        """Seconds to go at this rate; None where nobody collects."""
        return (self.total - self.answered) / self.rate if self.rate else None


def answered_calls(study: StudySource) -> tuple[int, int]:
    """How many calls are answered, and how many the study has."""
    if study.spec.annotations is not None:
        return study.calls, study.calls
    if not study.files.responses.exists():
        return 0, study.calls
    with study.answers() as store, store.at_once():
        return store.calls.answered(), study.calls - study.unfollowed(store).total()


def status(study: StudySource) -> StudyStatus:
    """What is answered, spent and failed, and how fast it goes. You can ask while the study runs.

    Of labels or answers that existed already, all are there, and nothing was spent.
    """
    if study.spec.annotations is not None:
        return StudyStatus(total=study.calls, answered=study.calls)
    process = who_collects(study.folder)
    if not study.files.responses.exists():
        return status_in(study, None, process)
    with study.answers() as store, store.at_once():
        return status_in(study, store, process)


def status_in(study: StudySource, store: Store | None, process: int | None) -> StudyStatus:
    """The status of a study of calls by what a store holds; without one, before the first answer."""
    made, prices = study.spent_on_paraphrases(), study.prices
    conditions = _conditions(study, store)
    total, answered = study.calls, sum(condition["answered"] for condition in conditions)
    facts: dict[str, Any] = {}
    entries = [*made]
    if store is not None:
        entries += ledger(store)
        kinds = errors_by_kind(store)
        others = outside(study, entries)
        facts = {
            "errors": kinds.total(),
            "by_kind": kinds,
            "unplaced": store.calls.unplaced(),
            "outside": outside_in_words(study, others, changed_models(study, store)),
            "rate": pace(store, since=collected_since(study.folder)) if process else 0.0,
            "waiting": store.waiting() if process is None else 0,
            "batches": _batches(study, store),
            "blocked": blocked_texts(study.experiment.in_parts.items, store),
            "idle_knobs": [idle_words(*idle) for idle in idle_in(store)],
        }
        total -= study.unfollowed(store).total()
    used = spent(entries, prices)
    known = all(prices.get(entry.model) is not None for entry in entries if entry.reused is None)
    placed = [entry for entry in entries if entry.placed]
    discarded = [entry for entry in entries if entry.discarded]
    reused = Counter[str]()
    for entry in placed:
        if entry.reused is not None:
            reused[entry.reused] += entry.calls
    return StudyStatus(
        total=total,
        answered=answered,
        reused=dict(reused),
        tokens=used.tokens,
        money=used.money if known else None,
        conditions=conditions,
        configurations_changed=changed(entries),
        process=process,
        paraphrases=sum(entry.calls for entry in made),
        without_words=without_words(entries),
        sent=sum(entry.sent for entry in entries),
        received=sum(entry.received for entry in entries),
        discarded=sum(entry.discarded for entry in discarded),
        discarded_tokens=sum(entry.prompt_tokens + entry.completion_tokens for entry in discarded),
        last=max((entry.last for entry in placed if entry.last), default=None),
        **facts,
    )


_BLOCKED: Final = """SELECT c.model, a.item, min(r.error) FROM calls a JOIN responses r ON r.id = a.response
    JOIN conditions c ON c.position = a.condition WHERE r.finish = 'content_filter'
    OR r.finish = 'error' AND r.error LIKE 'refused by the provider%' GROUP BY c.model, a.item"""
_LEVELS: Final = 12
"""The most levels of a column of which those of blocked texts are named."""


def blocked_texts(items: Sequence[Item], store: Store) -> list[str]:
    """A sentence for each model of which the provider blocked texts."""
    blocked: dict[str, dict[int, str]] = defaultdict(dict)
    for model, item, words in store.rows(_BLOCKED):
        blocked[model][item] = words or ""
    columns: dict[str, list[str | None]] = {"gold label": [item.gold for item in items]}
    for kind in ("golds", "groups"):
        names = dict.fromkeys(name for item in items for name in getattr(item, kind))
        columns |= {name: [getattr(item, kind).get(name) for item in items] for name in names}
    sentences = []
    for model, texts in blocked.items():
        parts = []
        for column, levels in columns.items():
            of, all_of = Counter(levels[item] for item in texts), Counter(levels)
            if len(all_of) <= _LEVELS:
                parts.append((column, [(level, n, all_of[level]) for level, n in of.most_common() if level]))
        words = Counter(texts.values()).most_common(1)[0][0].partition(": ")[2][:200]
        about: dict[str, Any] = {"model": model, "blocked": len(texts), "texts": len(items), "parts": parts}
        sentences.append(paragraph("terminal/blocked.txt", words=words, **about))
    return sentences


def outside(study: StudySource, entries: Sequence[Entry]) -> dict[str, int]:
    """How many stored answers belong to no call of the study, or did before it was packed, by model."""
    counts = Counter(study.left_out)
    for entry in entries:
        if entry.calls and not (entry.placed or entry.paraphrases):
            counts[entry.model] += entry.calls
    return dict(counts)


def outside_study(study: StudySource) -> dict[str, int]:
    """The sentence about answers outside a study whose store is not open."""
    if study.spec.annotations is not None or not study.files.responses.exists():
        return {}
    with study.answers() as store, store.at_once():
        return outside(study, ledger(store))


def outside_in_words(study: StudySource, answers: Mapping[str, int], changed: Sequence[str] = ()) -> str:
    """How many answers are no part of the study, of which models, and whether they are still there."""
    asked = {condition.model for condition in study.experiment.conditions}
    return paragraph(
        "terminal/outside.txt",
        answers=sorted(answers.items(), key=lambda counted: counted[0] in asked),
        asked=asked,
        changed=changed,
        is_packed=bool(study.left_out),
    )


_OF_BATCH: Final = (
    "name",
    "model",
    "state",
    "calls",
    "done",
    "refused",
    "expires",
    "looked",
    "remote",
    "note",
)


def _batches(study: StudySource, store: Store) -> list[dict[str, Any]]:
    """The batches that are out."""
    batches = []
    for row in StoredBatches(store).rows():
        price, (read, written) = study.prices.get(row.model), (row.expected_prompt, row.expected_completion)
        facts = {name: getattr(row, name) for name in _OF_BATCH}
        money = None if price is None else price.in_batch.of(read, 0, written)
        batches.append(facts | {"since": row.sent or row.written, "tokens": read + written, "money": money})
    return batches


def _conditions(study: StudySource, store: Store | None) -> list[dict[str, Any]]:
    """What is answered of each condition; calls are counted one by one only where some are missing."""
    experiment = study.experiment.in_parts
    asked = experiment.conditions
    wanted = [
        one.repeats * (experiment.joins if experiment.is_level(one) else len(experiment.items))
        for one in asked
    ]
    answered: dict[int, int] = {}
    if store and store.calls.answered() == sum(wanted):
        answered = dict(enumerate(wanted))
    elif store:
        answered = dict(store.rows("SELECT condition, count(*) FROM calls GROUP BY condition"))
    rows = []
    for index, condition in enumerate(asked):
        about = {"model": condition.model, "variant": condition.variant, "decoding": condition.asked_as}
        rows.append(
            about | {"answered": answered.get(index, 0), "wanted": wanted[index] or answered.get(index, 0)}
        )
    return rows
