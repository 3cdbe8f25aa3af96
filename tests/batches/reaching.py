"""Puts a provider where the network would be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest.mock import patch

import httpx2

from quaver.models.served import batch_http

__all__ = ["reaching"]


@contextmanager
def reaching(provider: Callable[[httpx2.Request], httpx2.Response]) -> Iterator[None]:
    """Whatever is sent to a provider of batches goes to this one."""

    def opened() -> httpx2.Client:
        return httpx2.Client(transport=httpx2.MockTransport(provider), follow_redirects=False)

    with patch.object(batch_http, "opened", opened):
        yield
