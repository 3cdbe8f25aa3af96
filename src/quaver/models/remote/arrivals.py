"""What has arrived from workers, until the driver takes it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any


class Arrivals:
    """Values and errors, each for something that was asked; several may come for the same."""

    def __init__(self) -> None:
        self._came: dict[object, deque[Any]] = {}

    def add(self, refs: Iterable[object], value: Any) -> None:
        """Something came for each of these; an exception will be raised."""
        for ref in refs:
            self._came.setdefault(ref, deque()).append(value)

    def among(self, refs: Sequence[object]) -> list[object]:
        """Those for which something is here, as often as it is; what nobody waits for is forgotten."""
        known = set(refs)
        for ref in [one for one in self._came if one not in known]:
            del self._came[ref]
        return [ref for ref, came in self._came.items() for _ in came]

    def got(self, ref: object) -> Any:
        """The first that came for it.

        Raises:
            BaseException: It is one.
        """
        came = self._came[ref].popleft()
        if not self._came[ref]:
            del self._came[ref]
        if isinstance(came, BaseException):
            raise came
        return came
