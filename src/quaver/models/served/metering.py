"""Metering of calls over HTTP, however they end."""

from __future__ import annotations

from collections.abc import Sequence

from quaver.core.meter import TOKENS_A_CHARACTER, Meter, Traffic, reported_usage
from quaver.core.records import Request, Response
from quaver.errors import ModelError
from quaver.models.served.server_faults import Passing

_ONE_EACH = Traffic(sent=1, received=1)


class sending:  # noqa: N801
    """Count a request that the block sends, and its reply; a reply that was lost may still be billed."""

    __slots__ = ("_meter", "_n", "_request")

    def __init__(self, meter: Meter, request: Request, n: int) -> None:
        self._meter, self._request, self._n = meter, request, n

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, fault: BaseException | None, trace: object) -> None:
        if fault is None or isinstance(fault, ModelError) or (isinstance(fault, Passing) and fault.status):
            self._meter.count(_ONE_EACH)
        elif isinstance(fault, Passing) and not fault.unreached:
            longest = float(self._n * self._request.decoding.max_tokens)
            read = _prompt(self._request)
            self._meter.count(Traffic(1, 0, 1, estimated_prompt=read, estimated_completion=longest))
            fault.billed = True


class reading:  # noqa: N801
    """Count a reply that the block cannot turn into answers."""

    __slots__ = ("_content", "_meter", "_request")

    def __init__(self, meter: Meter, request: Request, content: bytes) -> None:
        self._meter, self._request, self._content = meter, request, content

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, fault: BaseException | None, trace: object) -> None:
        if not isinstance(fault, Exception):
            return
        usage = reported_usage(self._content)
        begun = not usage and b'"choices"' in self._content
        self._meter.count(
            Traffic(
                discarded=1,
                **usage,
                estimated_prompt=_prompt(self._request) if begun else 0,
                estimated_completion=len(self._content) * TOKENS_A_CHARACTER if begun else 0,
            )
        )
        if isinstance(fault, Passing):
            fault.billed = bool(usage) or begun


def spent_on(responses: Sequence[Response]) -> Traffic:
    """The cost of answers that are not stored: those of a probe."""
    first, together = responses[0], (responses[0].raw or {}).get("completion_tokens_of_request")
    return Traffic(
        discarded=1,
        prompt_tokens=first.prompt_tokens or 0,
        cached_tokens=first.cached_tokens or 0,
        completion_tokens=together or sum(one.completion_tokens or 0 for one in responses),
    )


def _prompt(request: Request) -> float:
    return sum(len(content) for _, content in request.prompt.messages) * TOKENS_A_CHARACTER
