"""What models behind a server have in common: the key, the connection, and sending within limits."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import TYPE_CHECKING, Any

from quaver.core.meter import Meter
from quaver.core.model import Answered
from quaver.core.records import Request
from quaver.errors import MissingKey
from quaver.models._defaults import Defaults
from quaver.models.served.flight import Flight, Landed, Part
from quaver.models.served.pace import Pace
from quaver.models.served.server_faults import Address
from quaver.models.served.server_options import checked_key

if TYPE_CHECKING:
    from quaver.models.served.http_pool import Connection


class ServedModel(Defaults):
    """A client of a server, which may be one of several in the workers of a cluster.

    Attributes:
        meter: Counts replies that become no answer.
        found: What a probe found out about the server.
    """

    found: Any = None
    _model: str
    _key: str

    def _send_within(
        self,
        concurrency: int | None,
        requests_per_minute: float | None,
        tokens_per_minute: float | None,
        timeout: float,
        retries: int,
        patience: float,
    ) -> None:
        """Take up the study's limits."""
        self.meter = Meter()
        self._timeout, self._retries, self._patience = timeout, retries, patience
        self._concurrency = concurrency
        self._rates: dict[str, Any] = {
            "requests_per_minute": requests_per_minute,
            "tokens_per_minute": tokens_per_minute,
        }
        self._new_pace: Callable[[], Pace] = partial(Pace, concurrency=concurrency, **self._rates)
        self._pace = self._new_pace()

    @property
    def is_rated(self) -> bool:
        """Whether the study limits the rate."""
        return any(self._rates.values())

    def keep_share(self, share: float, begin: float) -> None:
        """Keep to a share of the study's rate."""
        rates = {name: rate and rate * share for name, rate in self._rates.items()}
        self._new_pace = partial(Pace, concurrency=self._concurrency, **rates)
        self._pace.limit(**rates, begin=begin)

    def answer(self, requests: Iterable[Request]) -> Iterator[Answered]:
        """Answer requests concurrently, in any order."""
        flight = Flight(
            self._send,
            self._pace,
            self._address,
            shared=self._draws_together,
            retries=self._retries,
            patience=self._patience,
            has_room=lambda: self.meter.has_room,
        )
        yield from flight.answers(requests, self._connected)

    def check_key(self) -> None:
        """See that the key is in the environment.

        Raises:
            MissingKey: It is not.
        """
        self._secret()

    def close(self) -> None:
        """Forget what was learnt about the server's limits; no connection stays open between runs."""
        self._pace = self._new_pace()

    async def _send(self, connection: Connection, part: Part) -> Landed:
        raise NotImplementedError

    def _headers(self, key: str) -> dict[str, str]:
        """The headers of every request."""
        raise NotImplementedError

    @property
    def _url(self) -> str:
        raise NotImplementedError

    @property
    def _needs_key(self) -> bool:
        raise NotImplementedError

    @property
    def _start(self) -> str:
        """The command that starts such a server."""
        return ""

    @property
    def _draws_together(self) -> bool:
        """Whether a request's calls are sent together."""
        return False

    def _connected(self) -> AbstractAsyncContextManager[Connection]:
        from quaver.models.served.http_pool import Connection

        key = self._secret()
        return Connection.opened(self._address, self._headers(key), key, self._timeout, self._pace.most)

    @property
    def _address(self) -> Address:
        has_key = bool(self._key and os.environ.get(self._key))
        return Address(self._url, self._model, self._key, has_key, self._start)

    def _secret(self) -> str:
        secret = os.environ.get(self._key, "").strip() if self._key else ""
        if not secret and self._needs_key:
            raise MissingKey(
                f"the key for {self._model} is missing",
                where=self._url,
                expected=f"the environment variable {self._key}",
                fix=f"export {self._key}=…; a study file never holds a key",
            )
        return checked_key(secret, self._key, self._url)
