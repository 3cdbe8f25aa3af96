"""The one writer of a run: answers go to the spill at once and to the store in groups."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from quaver._secrets import Keys, without_keys
from quaver.collect.run.feed import Feed
from quaver.collect.run.progress import Budget, Outcome, Progress, kind_of
from quaver.collect.store.batch_rows import BatchRow
from quaver.collect.store.database import UNFIT
from quaver.collect.store.response_store import Store
from quaver.collect.store.response_tables import row_of
from quaver.collect.store.spill import Receipt, Spill, line_of, receipts
from quaver.core.line_file import append_line
from quaver.core.meter import NO_TRAFFIC, Meter, Metered
from quaver.core.model import Answered, Model
from quaver.core.records import Call, Condition, Response
from quaver.core.response_validation import error_line, error_response

_EVERY = 10.0
"""Seconds between progress lines in the log."""

_LISTED = 5
"""Errors of a kind that the log lists one by one; the events list all."""


_OF_BATCH = ("name", "model", "state", "calls", "done", "refused", "remote", "note")
"""What the events tell of a batch, beside whether it is closed."""


class Journal:
    """A run's log and events; lines that cannot be written, as on a full disk, are dropped.

    Args:
        log: The log file, which is appended to; None for no log.
        events: Receives each event as a line of JSON; None for no events.
        conditions: The study's conditions, whose names identify errors.
        items: The ids of its items.

    The events are ``started`` (calls, stored, models), ``tried`` (a server: model, provenance), ``reused``
    (calls, by folder), ``stored`` (done, total, errors,
    tokens, money, rate), ``batch`` (one that was written, sent or closed: name, model, state,
    calls, done, refused, remote, closed, note), ``error`` (one call's: model, variant, decoding, follow_up,
    item, repeat, kind,
    error), ``fingerprint`` (a model answers from another configuration), ``note`` (what was
    learnt about a server: model, note), ``given_up`` (a model that cannot be
    used) and ``ended`` (how, done, missing; if how is ``error``, the error instead). Each has a ``time``, in
    seconds since 1970.
    """

    def __init__(
        self,
        log: Path | None = None,
        events: TextIO | None = None,
        *,
        conditions: Sequence[Condition] = (),
        items: Sequence[str] = (),
    ) -> None:
        self._log, self._events = log, events
        self._conditions, self._items = conditions, items
        self._by_kind: Counter[str] = Counter()
        self._served: dict[str, tuple[str | None, str | None]] = {}
        self._due = time.monotonic() + _EVERY

    def started(self, progress: Progress, models: Mapping[str, Mapping[str, Any]]) -> None:
        """A run has started."""
        self._line(
            f"run: {progress.before:,} of {progress.total:,} calls are stored; asking {', '.join(models)}"
        )
        self._event("started", calls=progress.total, stored=progress.before, models=models)

    def tried(self, model: str, facts: Mapping[str, Any]) -> None:
        """A server was probed."""
        for feature, reason in (facts.get("downgrades") or {}).items():
            self._line(f"the server of {model} does not honour {feature} ({reason}); asking without it")
        self._event("tried", model=model, provenance=facts)

    def reused(self, folders: Mapping[str, int]) -> None:
        """Answers were taken from other studies."""
        for folder, calls in folders.items():
            self._line(f"took {calls:,} answers from {folder}")
        self._event("reused", folders=folders)

    def batch(self, row: BatchRow) -> None:
        """A batch was written, sent or closed, or stands elsewhere than before."""
        note = f": {row.note}" if row.note else ""
        self._line(f"batch {row.name} of {row.model}, {row.calls:,} calls: {row.state}{note}")
        facts = {name: value for name, value in asdict(row).items() if name in _OF_BATCH}
        self._event("batch", **facts, closed=row.closed is not None)

    def stored(self, group: Sequence[Answered], progress: Progress) -> None:
        """A group of answers was stored."""
        if self._log is None and self._events is None:
            return
        for request, responses in group:
            for call, response in zip(request.calls, responses, strict=True):
                if response.finish == "error":
                    self._error(request.model, call, response)
                if response.served_model or response.fingerprint:
                    self._watch_served(request.model, response)
        self._event(
            "stored",
            done=progress.before + progress.done,
            total=progress.total,
            errors=progress.errors,
            tokens=round(progress.tokens),
            money=round(progress.money, 6),
            rate=round(progress.rate, 2),
        )
        if time.monotonic() >= self._due:
            self._due = time.monotonic() + _EVERY
            self._line(str(progress))

    def note(self, model: str, news: str) -> None:
        """Something was learnt about a model's server."""
        self._line(f"{model}: {news}")
        self._event("note", model=model, note=news)

    def given_up(self, model: str, error: Exception) -> None:
        """A model was given up; the others continue."""
        self._line(f"{model} is given up: {error}")
        self._event("given_up", model=model, error=str(error))

    def ended(self, outcome: Outcome) -> None:
        """A run has ended."""
        self._line(
            f"ended: {outcome.ended}; {outcome.done:,} calls in {outcome.seconds:,.1f} s, "
            f"{outcome.errors:,} errors, {outcome.missing:,} calls still to ask"
        )
        for kind, count in self._by_kind.items():
            if count > _LISTED:
                self._line(f"  {count:,} errors in all: {kind}")
        self._event(
            "ended",
            how=outcome.ended,
            done=outcome.done,
            missing=outcome.missing,
            errors=outcome.errors,
            seconds=round(outcome.seconds, 3),
            tokens=round(outcome.tokens),
            money=round(outcome.money, 6),
        )

    def broken_off(self, error: Exception) -> None:
        """A run ended early: a model cannot be used, or nothing can be written."""
        self._line(f"ended with an error: {error}")
        self._event("ended", how="error", error=str(error))

    def _error(self, model: str, call: Call, response: Response) -> None:
        kind = kind_of(response.error)
        self._by_kind[kind] += 1
        about: dict[str, Any] = {"model": model, "repeat": call.repeat}
        if call.condition < len(self._conditions):
            condition = self._conditions[call.condition]
            about |= {"variant": condition.variant, "decoding": condition.decoding}
            about |= {"follow_up": condition.follow_up} if condition.follow_up else {}
        if call.item < len(self._items):
            about["item"] = self._items[call.item]
        if self._by_kind[kind] <= _LISTED:
            where = ", ".join(f"{name} {value}" for name, value in about.items())
            self._line(f"error ({where}): {response.error}")
        self._event("error", **about, kind=kind, error=response.error)

    def _watch_served(self, model: str, response: Response) -> None:
        now = (response.served_model, response.fingerprint)
        if self._served.get(model) == now:
            return
        before = self._served.get(model)
        self._served[model] = now
        if before is not None:
            self._line(f"{model} answers from another configuration: {_named(now)}, before {_named(before)}")
            self._event("fingerprint", model=model, served_model=now[0], fingerprint=now[1], before=before)

    def _line(self, text: str) -> None:
        if self._log is None:
            return
        shown = "".join(c if c.isprintable() else " " for c in without_keys(text))
        with suppress(OSError):
            append_line(self._log, f"{time.strftime('%Y-%m-%d %H:%M:%S')}  {shown}")

    def _event(self, event: str, **facts: Any) -> None:
        if self._events is None:
            return
        line = json.dumps({"time": round(time.time(), 3), "event": event, **facts}, default=str)
        with suppress(OSError, ValueError):
            self._events.write(without_keys(line) + "\n")
            self._events.flush()


def _named(served: tuple[str | None, str | None]) -> str:
    return " ".join(part for part in served if part)


_GROUP, _GROUP_BYTES = 5000, 2**21
"""Responses, and their bytes, that are written together. Each touches a page of the index of keys, so that a
larger group takes less; only a fast model answers as many before the group is due."""
_SHORTEST, _LONGEST, _SHARE = 0.1, 0.5, 20.0
"""Seconds between two writes: the shortest, the longest, and in between a multiple of the last write's
duration.
Writing each answer alone would cost more than asking."""


class Kept(NamedTuple):
    """Answers that arrived together and survive a kill.

    Attributes:
        answered: The requests and their responses.
        receipts: The same, as they are stored.
        calls: How many responses they are.
        weight: Their size in bytes.
    """

    answered: Sequence[Answered]
    receipts: Sequence[Receipt]
    calls: int
    weight: int


@dataclass(frozen=True, slots=True)
class AskedModel:
    """A model that is asked in a run.

    Attributes:
        name: Its name in the study.
        model: It.
        source: Its number in the store.
        feed: The requests that it can be sent, which learns what is stored.
    """

    name: str
    model: Model
    source: int
    feed: Feed

    @property
    def meter(self) -> Meter | None:
        """Counts replies that become no answer, if there can be any."""
        return self.model.meter if isinstance(self.model, Metered) else None


class Writer:
    """Gathers answers and writes them in groups.

    Args:
        store: Receives the groups.
        spill: Keeps answers until then.
        progress: Updated with every group.
        asked: The models, by name.
        budget: Knows what was spent.
        watch: Called after every group.
        journal: Records what happens.
    """

    def __init__(
        self,
        store: Store,
        spill: Spill,
        progress: Progress,
        asked: Mapping[str, AskedModel],
        budget: Budget,
        watch: Callable[[Progress], None],
        journal: Journal,
    ) -> None:
        self._store, self._spill, self._progress, self._asked = store, spill, progress, asked
        self._budget, self._watch, self._journal = budget, watch, journal
        self._keys = Keys()
        self._group: list[tuple[Kept, str]] = []
        self._size = self._weight = 0
        self._took = 0.0
        self.wait()

    def keep(self, model: str, group: Sequence[Answered]) -> Kept:
        """Add answers to the spill; thread-safe.

        A response that cannot be stored becomes an error, whose call can be asked again.
        """
        try:
            return self._kept(model, group)
        except UNFIT:
            fitting = [
                (request, [self._fitting(response) for response in responses]) for request, responses in group
            ]
            return self._kept(model, fitting)

    def _kept(self, model: str, group: Sequence[Answered]) -> Kept:
        made = receipts(group, self._asked[model].source, self._keys)
        calls = sum(len(responses) for _, responses in group)
        weight = self._spill.add(made)
        if self._spill.failed:
            self._budget.stop("interrupted")
        return Kept(group, made, calls, weight)

    def _fitting(self, response: Response) -> Response:
        try:
            line_of(row_of(response, self._keys))
        except UNFIT as error:
            return error_response(f"the answer cannot be stored: {error_line(error)}")
        return response

    def take(self, model: str, kept: Sequence[Kept]) -> None:
        """Add answers to the next group."""
        for one in kept:
            self._group.append((one, model))
            self._size += one.calls
            self._weight += one.weight

    def give_up(self, model: str, error: Exception) -> None:
        """A model is given up."""
        self._progress.given_up[model] = error
        self._journal.given_up(model, error)

    def is_due(self) -> bool:
        """Whether the group should be written now."""
        return self._size >= _GROUP or self._weight >= _GROUP_BYTES or time.monotonic() >= self.due

    def wait(self) -> None:
        """Set the time when the next group is due."""
        self.due = time.monotonic() + min(_LONGEST, max(_SHORTEST, _SHARE * self._took))

    def flush(self) -> None:
        """Write the group."""
        for name, asked in self._asked.items():
            if asked.meter is None:
                continue
            for news in asked.meter.take_news():
                self._journal.note(name, news)
            self._progress.waits[name] = asked.meter.waits
            if (traffic := asked.meter.take()) != NO_TRAFFIC:
                self._store.add_traffic(asked.source, traffic)
        if self._group:
            began = time.monotonic()
            unfit = self._store.write([receipt for kept, _ in self._group for receipt in kept.receipts])
            self._spill.forget(kept.receipts for kept, _ in self._group)
            self._took = time.monotonic() - began
            stored, self._group, self._size, self._weight = self._group, [], 0, 0
            written: list[Answered] = []
            for kept, model in stored:
                group = [_as_stored(one, unfit) for one in kept.answered] if unfit else kept.answered
                self._asked[model].feed.stored(group)
                written += group
            self._count(written)
            self._journal.stored(_notable(written), self._progress)
        self.wait()
        self._watch(self._progress)

    def _count(self, group: Sequence[Answered]) -> None:
        progress = self._progress
        conditions = [request.calls[0].condition for request, responses in group for _ in responses]
        progress.done += len(conditions)
        progress.by_condition.update(conditions)
        for response in [one for _, responses in group for one in responses if one.finish == "error"]:
            progress.errors += 1
            progress.by_kind[kind_of(response.error)] += 1
        spent = self._budget.spent
        progress.tokens, progress.money = spent.tokens, spent.money


def _notable(group: Sequence[Answered]) -> list[Answered]:
    """The answers of which the journal has something to say: errors, and those that say who gave them."""
    result = []
    for answered in group:
        for response in answered[1]:
            if response.finish == "error" or response.served_model or response.fingerprint:
                result.append(answered)
                break
    return result


def _as_stored(answered: Answered, unfit: Mapping[bytes, Response]) -> Answered:
    """An answer, with the errors that were stored in place of some responses."""
    request, responses = answered
    return request, [
        unfit.get(call.key, response) for call, response in zip(request.calls, responses, strict=True)
    ]
