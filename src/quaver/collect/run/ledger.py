"""What was spent, what failed and which configurations answered, by the stored responses."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from quaver.collect.run.progress import Price, Spent, kind_of
from quaver.collect.store.response_store import Store
from quaver.collect.store.response_tables import facts_of
from quaver.collect.store.store_lock import REPAIR
from quaver.collect.store.tallies import KEY, SUMS
from quaver.core.instrument import record_in
from quaver.core.meter import Traffic
from quaver.core.model import Answered
from quaver.core.number_format import moment
from quaver.core.records import Request, Response
from quaver.errors import StoreError

_SOURCES = """SELECT id, model, reused,
    CASE WHEN json_valid(provenance) THEN json_extract(provenance, '$.batch') IS NOT NULL END FROM sources"""

_MOST = 2**53
"""Totals beyond this are none that Quaver has counted."""

_LATELY = 60.0
"""Seconds over which the current pace is measured."""


class Entry(NamedTuple):
    """The responses of one model, configuration and origin.

    Attributes:
        model: The model's name in the study.
        reused: The study that they were taken from; None if this study asked.
        served_model: The server's name for the model that answered.
        fingerprint: The server's name for the configuration that answered.
        placed: Whether they belong to the current study.
        calls: How many there are.
        errors: How many of these are errors.
        prompt_tokens: Prompt tokens.
        cached_tokens: How many of these the server had in its cache.
        completion_tokens: Completion tokens.
        thinking_tokens: How many of these were thinking.
        first: When the first one arrived, in seconds since 1970.
        last: When the last one arrived.
        estimated_prompt: Prompt tokens of answers without counts, estimated from their length.
        estimated_completion: Completion tokens, likewise.
        speechless: Answers that reached ``max_tokens`` while still thinking.
        empty: Answers that ended by themselves without a word.
        paraphrases: Whether they are paraphrases rather than answers.
        sent: Requests sent to a server; these have an entry of their own.
        received: Replies to these requests.
        discarded: Replies that became no answer; the entry's tokens are theirs.
        batch: Whether they were asked in batches.
    """

    model: str
    reused: str | None
    served_model: str | None
    fingerprint: str | None
    placed: bool
    calls: int
    errors: int
    prompt_tokens: float
    cached_tokens: float
    completion_tokens: float
    thinking_tokens: float
    first: float
    last: float
    estimated_prompt: float = 0.0
    estimated_completion: float = 0.0
    speechless: float = 0.0
    empty: float = 0.0
    paraphrases: bool = False
    sent: int = 0
    received: int = 0
    discarded: int = 0
    batch: bool = False


class Configuration(NamedTuple):
    """A configuration that answered, as the server reports it.

    Attributes:
        model: The model's name in the study.
        served_model: The server's name for the model.
        fingerprint: The server's name for the configuration.
        calls: The number of its answers.
        first: When the first one arrived, in seconds since 1970.
        last: When the last one arrived.
    """

    model: str
    served_model: str | None
    fingerprint: str | None
    calls: int
    first: float
    last: float


def ledger(store: Store) -> list[Entry]:
    """Totals of everything stored, and of replies that became no answer."""
    columns = ", ".join((*KEY, *SUMS, "first", "last"))
    sources = {source: names for source, *names in store.rows(_SOURCES)}
    apart = {row[: len(KEY)]: row[len(KEY) :] for row in _unplaced(store)}
    entries: list[Entry] = []
    for row in store.rows(f"SELECT {columns} FROM tallies ORDER BY first"):
        _check_numbers(store, row[len(KEY) :])
        model, reused, batch = sources.get(row[0], (None, None, 0))
        of = (model or "", reused, row[1], row[2], bool(batch))
        everything, unplaced = row[len(KEY) :], apart.get(row[: len(KEY)])
        if unplaced is None:
            entries.append(_entry(of, True, everything))
            continue
        sums = [one - other for one, other in zip(everything[:-2], unplaced[:-2], strict=True)]
        if sums[0]:
            entries.append(_entry(of, True, (*sums, *everything[-2:])))
        entries.append(_entry(of, False, unplaced))
    return [*entries, *_beside(store, sources)]


def _check_numbers(store: Store, row: Sequence[Any]) -> None:
    """Refuse totals that are no numbers."""
    odd = [one for one in row if not isinstance(one, int | float) or not abs(one) < _MOST]
    if odd:
        raise StoreError(
            "the totals of the stored answers are damaged",
            where=str(store.path),
            expected="numbers",
            found=repr(odd[0])[:80],
            fix=REPAIR,
        )


def _unplaced(store: Store) -> list[tuple[Any, ...]]:
    """The totals of responses that belong to no call of the study."""
    if not store.calls.counts().unplaced:
        return []
    key = ", ".join(f"r.{name}" for name in KEY)
    sums = ", ".join(f"total({sql})" for sql in SUMS.values())
    return store.rows(
        f"SELECT {key}, {sums}, min(r.received), max(r.received) FROM responses r "
        f"WHERE r.id IN (SELECT id FROM responses EXCEPT SELECT response FROM calls) GROUP BY {key}"
    )


def _entry(
    of: tuple[str, str | None, str | None, str | None, bool], placed: bool, row: Sequence[float]
) -> Entry:
    sums: dict[str, Any] = dict(zip((*SUMS, "first", "last"), row, strict=True))
    sums |= {name: int(sums[name]) for name in ("calls", "errors")}
    model, reused, served_model, fingerprint, batch = of
    return Entry(model, reused, served_model, fingerprint, placed, batch=batch, **sums)


def _beside(store: Store, sources: Mapping[int, Sequence[Any]]) -> Iterator[Entry]:
    """The traffic that became no answer, by source."""
    columns = ", ".join(Traffic._fields)
    for source, *row in store.rows(f"SELECT source, {columns} FROM traffic ORDER BY source, part"):
        _check_numbers(store, row)
        values: dict[str, Any] = Traffic(*row)._asdict()
        nothing: dict[str, Any] = dict.fromkeys(("calls", "errors", "thinking_tokens", "first", "last"), 0)
        model, _, batch = sources[source]
        yield Entry(model or "", None, None, None, placed=False, batch=bool(batch), **nothing, **values)


def spent(entries: Iterable[Entry], prices: Mapping[str, Price | None], *, estimated: bool = False) -> Spent:
    """What the stored responses cost, apart from reused ones.

    Returns:
        The calls of the current study and those that made paraphrases; all tokens and money, including those
        of responses that match no call any more.
    """
    calls, tokens, money = 0, 0.0, 0.0
    for entry in entries:
        if entry.reused is not None:
            continue
        calls += entry.calls if entry.placed or entry.paraphrases else 0
        read, wrote = entry.prompt_tokens, entry.completion_tokens
        if estimated:
            read, wrote = read + entry.estimated_prompt, wrote + entry.estimated_completion
        tokens += read + wrote
        price = prices.get(entry.model)
        if price and entry.batch:
            price = price.in_batch
        money += price.of(read, entry.cached_tokens, wrote) if price else 0.0
    return Spent(calls, tokens, money)


def configurations(entries: Iterable[Entry]) -> list[Configuration]:
    """The configurations that answered, by model and time; servers that report none are left out."""
    found: dict[tuple[str, str | None, str | None], Configuration] = {}
    for entry in entries:
        key = (entry.model, entry.served_model, entry.fingerprint)
        if not entry.placed or key[1:] == (None, None):
            continue
        answers, first, last = entry.calls - entry.errors, entry.first, entry.last
        if (configuration := found.get(key)) is not None:
            answers, first, last = (
                configuration.calls + answers,
                min(configuration.first, first),
                max(configuration.last, last),
            )
        found[key] = Configuration(*key, answers, first, last)
    return sorted(found.values(), key=lambda one: (one.model, one.first))


def changed(found: Sequence[Configuration]) -> list[str]:
    """A message for each model that answered from several configurations."""
    by_model: dict[str, list[Configuration]] = defaultdict(list)
    for configuration in found:
        by_model[configuration.model].append(configuration)
    return [
        f"{model} answered from {len(several)} configurations: "
        + "; ".join(
            f"{_named(configuration)} ({configuration.calls:,} answers from {moment(configuration.first)})"
            for configuration in several
        )
        for model, several in by_model.items()
        if len(several) > 1
    ]


def done_without(store: Store) -> list[str]:
    """A message for each feature that a server did not honour, with the number of answers."""
    reasons: dict[tuple[str, str], str] = {}
    answers: Counter[tuple[str, str]] = Counter()
    for source, model, provenance in store.rows("SELECT id, model, provenance FROM sources ORDER BY id"):
        downgrades = facts_of(provenance).get("downgrades")
        downgrades = downgrades if isinstance(downgrades, dict) else {}
        sql = "SELECT count(*) FROM responses r JOIN calls a ON a.response = r.id WHERE r.source = ?"
        calls = store.rows(sql, (source,))[0][0] if downgrades else 0
        for feature, reason in downgrades.items() if calls else ():
            reasons.setdefault((model, feature), reason)
            answers[model, feature] += calls
    return [
        f"the server of {model} did not honour {feature} ({reason}); {answers[model, feature]:,} answers "
        "were collected without it"
        for (model, feature), reason in reasons.items()
    ]


def instruments(store: Store) -> dict[str, dict[str, Any]]:
    """What the records say of each model and decoding; empty where no answer has a record.

    Returns:
        By model and decoding: ``calls``, ``knobs`` (for each knob what was asked, sent and became of it, with
        the number of calls), ``hosts`` and ``apis`` (the number of calls of each).
    """
    sql = "SELECT id, asked FROM terms WHERE asked LIKE '%, {\"instrument\": %'"
    records = {number: record for number, asked in store.rows(sql) if (record := record_in(asked))}
    if not records:
        return {}
    counted = store.rows(
        """SELECT c.model, c.decoding, r.terms, count(*) FROM calls a JOIN responses r ON r.id = a.response
        JOIN conditions c ON c.position = a.condition WHERE coalesce(c.follow_up, '') = ''
        GROUP BY c.model, c.decoding, r.terms"""
    )
    found: dict[str, dict[str, Any]] = defaultdict(dict)
    sums: dict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
    for model, decoding, terms, n in counted:
        if terms not in records:
            continue
        record = records[terms]
        entry = found[model].setdefault(decoding, {"calls": 0, "knobs": {}, "hosts": {}, "apis": {}})
        entry["calls"] += n
        for name in ("host", "api"):
            if value := record[name]:
                entry[f"{name}s"][value] = entry[f"{name}s"].get(value, 0) + n
        for name, knob in record["knobs"].items():
            sums[model, decoding, name][json.dumps(knob)] += n
    for (model, decoding, name), counts in sums.items():
        found[model][decoding]["knobs"][name] = [[*json.loads(text), n] for text, n in counts.items()]
    return dict(found)


def cut_in_thought(entries: Iterable[Entry]) -> list[str]:
    """A message for each model whose thinking used up ``max_tokens``."""
    return [
        f"{count:,} answers of {model} stopped while it was still thinking: raise `max_tokens`"
        for model, count in _by_model(entries, "speechless").items()
    ]


def empty_answers(entries: Sequence[Entry]) -> list[str]:
    """A message for each model with empty answers."""
    calls = _by_model(entries, "calls")
    return [
        f"{count:,} of {calls[model]:,} answers of {model} are empty (a tool call, a refusal or the "
        "chat template may be the cause); they have the status `empty` and no label"
        for model, count in _by_model(entries, "empty").items()
    ]


def _by_model(entries: Iterable[Entry], name: str) -> Counter[str]:
    """A number of the study's answers by model, where it is not 0."""
    found: Counter[str] = Counter()
    for entry in entries:
        found[entry.model] += int(getattr(entry, name)) if entry.placed else 0
    return +found


def errors_by_kind(store: Store) -> Counter[str]:
    """The number of errors of each kind in the current study."""
    sql = """SELECT r.error, count(*) FROM responses r JOIN calls a ON a.response = r.id
        WHERE r.finish = 'error' GROUP BY r.error"""
    kinds: Counter[str] = Counter()
    for error, count in store.rows(sql):
        kinds[kind_of(error)] += count
    return kinds


def pace(store: Store, now: float | None = None, since: float = 0.0) -> float:
    """Calls per second in the last minute, or since a run began that is younger."""
    now = time.time() if now is None else now
    first = max(since, now - _LATELY)
    lately = [
        received
        for (received,) in store.rows("SELECT received FROM responses ORDER BY id DESC LIMIT 20000")
        if received and received >= first
    ]
    return len(lately) / max(1.0, now - min(lately)) if lately else 0.0


def _named(configuration: Configuration) -> str:
    return " ".join(part for part in (configuration.served_model, configuration.fingerprint) if part)


Following = Callable[[Request, Sequence[Response]], Sequence[Request]]
"""Gives the follow-up requests of a request's answers."""

_PAUSE = 0.2


class Feed:
    """Iterates over the requests that can be sent now, follow-ups first: they share most of the last prompt.

    A model never waits for a follow-up: the iteration ends when no request is left. If answers were still
    unstored then, you can iterate again.

    Args:
        planned: The plan's requests.
        following: Gives the follow-ups of answers; None if there are none.
    """

    def __init__(self, planned: Iterator[Request], following: Following | None) -> None:
        self._planned, self._following = planned, following
        self._next: deque[Request] = deque()
        self._unstored = 0
        self._changed = threading.Condition()

    def __iter__(self) -> Iterator[Request]:
        return self if self._following else self._planned

    def __next__(self) -> Request:
        with self._changed:
            request = self._next.popleft() if self._next else None
        if request is None:
            request = next(self._planned)
        with self._changed:
            self._unstored += 1
        return request

    def stored(self, group: Sequence[Answered]) -> None:
        """Add the follow-ups of answers that have been stored."""
        if self._following is None:
            return
        more = [one for request, responses in group for one in self._following(request, responses)]
        with self._changed:
            self._unstored -= len(group)
            self._next.extend(more)
            self._changed.notify_all()

    @property
    def has_next(self) -> bool:
        """Whether a follow-up can be sent."""
        return bool(self._next)

    @property
    def has_more(self) -> bool:
        """Whether a follow-up can be sent, or may be once an answer is stored."""
        return self._following is not None and (bool(self._next) or self._unstored > 0)

    def wait(self) -> None:
        """Wait a moment for a follow-up."""
        with self._changed:
            if not self._next and self._unstored > 0:
                self._changed.wait(_PAUSE)
