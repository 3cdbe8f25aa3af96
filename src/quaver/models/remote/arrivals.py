"""What has arrived from workers, until the driver takes it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any


class Arrivals:
    """Values and errors, each for something that was asked; several may come for the same.

    They are taken in the order in which they came: a worker's error comes after all that it answered.
    """

    def __init__(self) -> None:
        self._came: deque[tuple[object, Any]] = deque()

    def add(self, refs: Iterable[object], value: Any) -> None:
        """Something came for each of these; an exception will be raised."""
        self._came.extend((ref, value) for ref in refs)

    def among(self, refs: Sequence[object]) -> list[object]:
        """Those for which something is here, as often as it is; what nobody waits for is forgotten."""
        known = set(refs)
        self._came = deque(one for one in self._came if one[0] in known)
        return [ref for ref, _ in self._came]

    def got(self, ref: object) -> Any:
        """The first that came for it.

        Raises:
            BaseException: It is one.
        """
        at, came = next((at, value) for at, (one, value) in enumerate(self._came) if one == ref)
        del self._came[at]
        if isinstance(came, BaseException):
            raise came
        return came
