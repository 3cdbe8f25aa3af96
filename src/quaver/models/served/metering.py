"""Metering of calls over HTTP, however they end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from quaver.core.meter import TOKENS_A_CHARACTER, Meter, Traffic, reported_usage
from quaver.core.records import Request, Response
from quaver.errors import ModelError
from quaver.models.served.server_faults import Passing


@contextmanager
def sending(meter: Meter, request: Request, n: int) -> Iterator[None]:
    """Count a request that the block sends, and its reply; a reply that was lost may still be billed."""
    try:
        yield
    except Passing as fault:
        if fault.status:
            meter.count(Traffic(sent=1, received=1))
        elif not fault.unreached:
            longest = float(n * request.decoding.max_tokens)
            lost = Traffic(1, 0, 1, estimated_prompt=_prompt(request), estimated_completion=longest)
            meter.count(lost)
            fault.billed = True
        raise
    except ModelError:
        meter.count(Traffic(sent=1, received=1))
        raise
    meter.count(Traffic(sent=1, received=1))


@contextmanager
def reading(meter: Meter, request: Request, content: bytes) -> Iterator[None]:
    """Count a reply that the block cannot turn into answers."""
    try:
        yield
    except Exception as fault:
        usage = reported_usage(content)
        begun = not usage and b'"choices"' in content
        meter.count(
            Traffic(
                discarded=1,
                **usage,
                estimated_prompt=_prompt(request) if begun else 0,
                estimated_completion=len(content) * TOKENS_A_CHARACTER if begun else 0,
            )
        )
        if isinstance(fault, Passing):
            fault.billed = bool(usage) or begun
        raise


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
