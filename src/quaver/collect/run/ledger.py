"""What was spent, what failed and which configurations answered, by the stored responses."""

from __future__ import annotations

import json
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from quaver.collect.run.progress import Price, Spent, kind_of
from quaver.collect.store.response_store import Store
from quaver.collect.store.response_tables import WRITTEN
from quaver.collect.store.store_lock import REPAIR
from quaver.core.instrument import idle_knobs, record_in
from quaver.core.meter import TOKENS_A_CHARACTER, Traffic
from quaver.core.number_format import moment
from quaver.errors import StoreError

_SPEECHLESS = (
    "(trim(r.text, char(9, 10, 13, 32)) = '' OR r.text LIKE '<think>%' AND r.text NOT LIKE '%</think>%')"
)
_UNCOUNTED = "r.prompt_tokens IS NULL AND r.completion_tokens IS NULL AND r.finish != 'error'"
_SUMS = {
    "calls": "1",
    "errors": "r.finish = 'error'",
    "prompt_tokens": "r.prompt_tokens",
    "cached_tokens": "r.cached_tokens",
    "completion_tokens": WRITTEN,
    "thinking_tokens": "r.thinking_tokens",
    "estimated_prompt": f"CASE WHEN {_UNCOUNTED} THEN {TOKENS_A_CHARACTER} * "
    "(SELECT length(messages) FROM prompts WHERE id = r.prompt) END",
    "estimated_completion": f"CASE WHEN {_UNCOUNTED} THEN {TOKENS_A_CHARACTER} * "
    "(length(r.text) + ifnull(length(r.thinking), 0)) END",
    "speechless": f"r.finish = 'length' AND {_SPEECHLESS}",
    "empty": f"r.finish = 'stop' AND {_SPEECHLESS}",
}
"""What each response adds to the sums of an entry."""

_BATCH = "json_valid(s.provenance) AND json_extract(s.provenance, '$.batch') IS NOT NULL"
_ANSWERS = f"""
    SELECT s.model, s.reused, r.served_model, r.fingerprint, c.response IS NOT NULL, {_BATCH},
           {", ".join(f"total({sql})" for sql in _SUMS.values())}, min(r.received), max(r.received)
    FROM responses r LEFT JOIN calls c ON c.response = r.id LEFT JOIN sources s ON s.id = r.source
    GROUP BY r.source, r.served_model, r.fingerprint, c.response IS NOT NULL ORDER BY min(r.received)"""
_TRAFFIC = f"""SELECT s.model, {_BATCH}, {", ".join(f"t.{name}" for name in Traffic._fields)}
    FROM traffic t LEFT JOIN sources s ON s.id = t.source ORDER BY t.source"""

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


def ledger(store: Store) -> list[Entry]:
    """Totals of everything stored, and of replies that became no answer."""
    entries: list[Entry] = []
    for model, reused, served, fingerprint, placed, batch, *sums in store.rows(_ANSWERS):
        _check_numbers(store, sums)
        values: dict[str, Any] = dict(zip((*_SUMS, "first", "last"), sums, strict=True))
        values |= {"calls": int(sums[0]), "errors": int(sums[1]), "batch": bool(batch)}
        entries.append(Entry(model or "", reused, served, fingerprint, bool(placed), **values))
    for model, batch, *sums in store.rows(_TRAFFIC):
        _check_numbers(store, sums)
        values = dict.fromkeys(("calls", "errors", "thinking_tokens", "first", "last"), 0)
        values |= Traffic(*sums)._asdict() | {"batch": bool(batch)}
        entries.append(Entry(model or "", None, None, None, placed=False, **values))
    return entries


def _check_numbers(store: Store, row: Sequence[Any]) -> None:
    """Refuse totals that are not numbers."""
    odd = [number for number in row if not isinstance(number, int | float) or not abs(number) < _MOST]
    if odd:
        raise StoreError(
            "the totals of the stored answers are damaged",
            where=str(store.path),
            expected="numbers",
            found=repr(odd[0])[:80],
            fix=REPAIR,
        )


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


def changed(entries: Iterable[Entry]) -> list[str]:
    """A message for each model that answered from several configurations, as its server reports them."""
    hosts: dict[str, dict[str, list[float]]] = defaultdict(dict)
    for entry in sorted(entries, key=lambda entry: entry.first):
        name = " ".join(filter(None, (entry.served_model, entry.fingerprint)))
        if entry.placed and (entry.served_model, entry.fingerprint) != (None, None):
            hosts[entry.model].setdefault(name, [0, entry.first])[0] += entry.calls - entry.errors
    return [
        f"{model} answered from {len(several)} configurations: "
        + "; ".join(f"{name} ({n:,} answers from {moment(first)})" for name, (n, first) in several.items())
        for model, several in sorted(hosts.items())
        if len(several) > 1
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
    by_model: dict[str, dict[str, Any]] = defaultdict(dict)
    sums: dict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
    for model, decoding, terms, n in (row for row in counted if row[2] in records):
        record = records[terms]
        entry = by_model[model].setdefault(
            decoding, {"calls": 0, "knobs": {}, "hosts": Counter(), "apis": Counter()}
        )
        entry["calls"] += n
        for name in ("host", "api"):
            entry[f"{name}s"] += Counter({record[name]: n} if record[name] else {})
        for name, knob in record["knobs"].items():
            sums[model, decoding, name][json.dumps(knob)] += n
    for (model, decoding, name), counts in sums.items():
        by_model[model][decoding]["knobs"][name] = [[*json.loads(text), n] for text, n in counts.items()]
    return dict(by_model)


def idle_in(store: Store) -> list[tuple[str, str, int]]:
    """The models and knobs of which a server took several levels, and showed no difference; how many."""
    if not store.value("SELECT 1 FROM terms WHERE asked LIKE '%\"ignored\"%' LIMIT 1"):
        return []
    return [*idle_knobs(instruments(store))]


def without_words(entries: Iterable[Entry]) -> list[str]:
    """A message for each model whose thinking used up ``max_tokens``, or whose answers are empty."""
    sums: dict[str, Counter[str]] = defaultdict(Counter)
    for entry in entries:
        counted = {"calls": entry.calls, "speechless": int(entry.speechless), "empty": int(entry.empty)}
        sums[entry.model] += Counter(counted if entry.placed else {})
    speechless = [
        f"{tally['speechless']:,} answers of {model} stopped while it was thinking: raise `max_tokens`"
        for model, tally in sums.items()
        if tally["speechless"]
    ]
    return speechless + [
        f"{tally['empty']:,} of {tally['calls']:,} answers of {model} are empty (a tool call, a refusal or "
        "the chat template may be the cause); they have the status `empty` and no label"
        for model, tally in sums.items()
        if tally["empty"]
    ]


def errors_by_kind(store: Store) -> Counter[str]:
    """The number of errors of each kind in the current study."""
    sql = """SELECT r.error, count(*) FROM responses r JOIN calls a ON a.response = r.id
        WHERE r.finish = 'error' GROUP BY r.error"""
    return sum((Counter({kind_of(error): n}) for error, n in store.rows(sql)), Counter())


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
