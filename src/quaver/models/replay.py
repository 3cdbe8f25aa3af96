"""``replay``: answers that exist already, in another study, without a model.

An answer is found by prompt, decoding and repeat number. If several calls have the same prompt (two variants
may render alike), the one with the same item and variant answers. A call without a stored answer gets an
error response, never another answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from quaver.core.model import Abilities, Answered
from quaver.core.records import Call, Condition, Request, Response
from quaver.core.response_validation import error_response
from quaver.models._defaults import Defaults
from quaver.models.recorded.stored_answers import StoredAnswers


class Replay(Defaults):
    """The answers of another study.

    Args:
        study: The other study's folder. Its answers match if the prompt and all options of the decoding are
            the same, except names and seeds.
        model: Which of its models; optional if it has one.

    Raises:
        Unavailable: There is no such study.
        UnknownName: It has no model of that name.
    """

    abilities = Abilities(
        1_000_000,
        constraint=True,
        seed=True,
        plain=True,
        schema=True,
        decoding=frozenset(["top_p", "top_k", "min_p", "repeat_penalty", "stop"]),
        continues=True,
        local=True,
    )

    def __init__(self, *, study: str, model: str | None = None) -> None:
        self._source = StoredAnswers(Path(study).expanduser(), model)
        self._conditions: Sequence[Condition] = ()
        self._items: Sequence[str] = ()

    def identity(self) -> str:
        """A hash of the answers."""
        return f"replay {self._source.digest}"

    def provenance(self) -> Mapping[str, Any]:
        """Where the answers come from, and what the other study knows about its model."""
        return {"engine": "replay", **self._source.facts}

    def place(self, conditions: Sequence[Condition], items: Sequence[str]) -> None:
        """Receive the conditions and items that a call's positions refer to."""
        self._conditions, self._items = conditions, items

    def answer(self, requests: Iterable[Request]) -> Iterator[Answered]:
        """Look up one request after another."""
        for request in requests:
            yield request, [self._found(request, call) for call in request.calls]

    def _found(self, request: Request, call: Call) -> Response:
        condition = self._conditions[call.condition] if self._conditions else None
        item = self._items[call.item] if self._items else None
        response = self._source.find(request, call.repeat, condition, item)
        if isinstance(response, str):
            return error_response(f"no stored answer: {response}", latency=0.0)
        return response

    def close(self) -> None:
        """Close the other study's file."""
        self._source.close()
