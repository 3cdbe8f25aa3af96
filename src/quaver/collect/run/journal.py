"""A run's log: what happened, a line each, for people."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from quaver._secrets import without_keys
from quaver.collect.run.progress import Outcome, Progress, kind_of
from quaver.core.calls import Call, Response
from quaver.core.line_file import append_line
from quaver.core.model import Answered
from quaver.core.records import Condition

_EVERY = 10.0
"""Seconds between progress lines."""

_LISTED = 5
"""Errors of a kind that are listed one by one."""


class Journal:
    """Writes the log; lines that cannot be written, as on a full disk, are dropped.

    Args:
        log: The file, which is appended to; None for no log.
        conditions: The study's conditions, whose names identify errors.
        items: The ids of its items.
    """

    def __init__(
        self, log: Path | None = None, conditions: Sequence[Condition] = (), items: Sequence[str] = ()
    ) -> None:
        self._log, self._conditions, self._items = log, conditions, items
        self._by_kind: Counter[str] = Counter()
        self._due = time.monotonic() + _EVERY

    def line(self, text: str) -> None:
        """Write a line, without keys."""
        if self._log is None:
            return
        shown = "".join(c if c.isprintable() else " " for c in without_keys(text))
        with suppress(OSError):
            append_line(self._log, f"{time.strftime('%Y-%m-%d %H:%M:%S')}  {shown}")

    def stored(self, group: Sequence[Answered], progress: Progress) -> None:
        """A group of answers was stored: its errors, and now and then the progress."""
        if self._log is None:
            return
        for request, responses in group:
            for call, response in zip(request.calls, responses, strict=True):
                if response.finish == "error":
                    self._error(request.model, call, response)
        if time.monotonic() >= self._due:
            self._due = time.monotonic() + _EVERY
            self.line(str(progress))

    def ended(self, outcome: Outcome) -> None:
        """A run has ended."""
        self.line(
            f"ended: {outcome.ended}; {outcome.done:,} calls in {outcome.seconds:,.1f} s, "
            f"{outcome.errors:,} errors, {outcome.missing:,} calls still to ask"
        )
        for kind, count in self._by_kind.items():
            if count > _LISTED:
                self.line(f"  {count:,} errors in all: {kind}")

    def _error(self, model: str, call: Call, response: Response) -> None:
        kind = kind_of(response.error)
        self._by_kind[kind] += 1
        if self._by_kind[kind] > _LISTED:
            return
        about: dict[str, Any] = {"model": model, "repeat": call.repeat}
        if call.condition < len(self._conditions):
            condition = self._conditions[call.condition]
            about |= {"variant": condition.variant, "decoding": condition.decoding}
            about |= {"follow_up": condition.follow_up} if condition.follow_up else {}
        if call.item < len(self._items):
            about["item"] = self._items[call.item]
        self.line(
            f"error ({', '.join(f'{name} {value}' for name, value in about.items())}): {response.error}"
        )
