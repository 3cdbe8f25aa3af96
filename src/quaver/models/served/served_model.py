"""What models behind a server have in common: the key, the connection, how they are asked, and the limits."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from quaver.core.calls import Request, Response
from quaver.core.conversation import answers_of
from quaver.core.meter import Meter
from quaver.core.model import Answered, Needs
from quaver.errors import MissingKey, SpecError
from quaver.models._defaults import Defaults
from quaver.models.served.exchange import Exchange
from quaver.models.served.pace import Pace
from quaver.models.served.server_faults import Address, Refused
from quaver.models.served.server_options import checked_key, is_here, is_named_by_environment
from quaver.models.served.server_reply import reading, sending, spent_on
from quaver.models.served.wire import Wire

if TYPE_CHECKING:
    from quaver.models.served.http_pool import Connection


class ServedModel(Defaults):
    """A client of a server.

    Attributes:
        meter: Counts replies that become no answer.
    """

    _model: str
    _version: str
    _body: Mapping[str, Any]
    _key: str
    _names_key: bool
    _usual: str
    _unencrypted: bool
    _wire: Wire
    _facts: dict[str, Any]
    _is_local: bool | None = None

    def _send_within(
        self,
        concurrency: int | None,
        requests_per_minute: float | None,
        timeout: float,
        retries: int,
        patience: float,
    ) -> None:
        """Take up the study's limits."""
        self.meter = Meter()
        self._timeout, self._retries, self._patience = timeout, retries, patience
        self._new_pace = partial(
            Pace,
            concurrency=concurrency,
            requests_per_minute=requests_per_minute,
        )
        self._pace = self._new_pace()

    @asynccontextmanager
    async def conversation(self) -> AsyncIterator[Exchange]:
        """Open the connection."""
        async with self._connected() as connection:
            yield Exchange(
                partial(self._send, connection),
                self._pace,
                self._address,
                retries=self._retries,
                patience=self._patience,
                meter=self.meter,
            )

    def answer(self, requests: Iterable[Request]) -> Iterator[Answered]:
        """Answer requests concurrently, in any order."""
        return answers_of(self, requests)

    def probe(self, needs: Needs) -> None:
        """Reach the server and test the features that the study needs.

        Raises:
            Unavailable: It does not answer.
            MissingKey: Its key is not in the environment.
            ModelError: It does not honour a feature that the study needs.
        """
        from quaver.models.served.probe import tried

        self._need(needs)
        trying = (self._wire.server, needs, self._connected, self._address, self._trying)
        self._facts = tried(*trying)
        self._wire.idle = frozenset(knob for knob, counts in self._facts["honoured"].items() if not counts)
        for knob in self._wire.idle:
            self.meter.tell(f"{knob} makes no difference that the server shows: its levels are repeats")

    def _need(self, needs: Needs) -> None:
        """What the study rests on is never left out, whatever the server refuses."""
        names = {"schema": needs.constraint, "logprobs": needs.logprobs, "seed": needs.seed}
        self._wire.needed = frozenset([*(name for name, needed in names.items() if needed), *needs.varied])

    def _named(self, *parts: str, **options: object) -> str:
        """The identity: what the model is called, options that were given, extra fields, its version."""
        given = [f"{name}={value}" for name, value in options.items() if value]
        fields = [f"{name}={self._body[name]!r}" for name in sorted(self._body)]
        return " ".join([*parts, *given, *fields, self._version]).strip()

    def _described(self, engine: str, **options: object) -> Mapping[str, Any]:
        """The provenance: address, names, options, what the server refused and what a probe found."""
        changes = self._wire.changes
        return {
            "engine": engine,
            "base_url": self._url,
            "model": self._model,
            "version": self._version,
            "body": dict(self._body),
            **options,
            **({"refused": dict(changes)} if changes else {}),
            **self._facts,
        }

    def check_key(self) -> None:
        """See that the key is in the environment.

        Raises:
            MissingKey: It is not.
        """
        self._secret()

    def close(self) -> None:
        """Forget what was learnt about the server's limits; no connection stays open between runs."""
        self._pace = self._new_pace()

    # ------------------------------------------------------------------ one call

    async def _trying(self, connection: Connection, request: Request) -> Response:
        """Like ``_send``, but counts the cost of answers that are not stored."""
        response = await self._send(connection, request)
        self.meter.count(spent_on(response))
        return response

    async def _send(self, connection: Connection, request: Request) -> Response:
        """Send a call; until the server has taken one, one at a time, since it may refuse a field."""
        if not self._wire.settled:
            async with connection.settling:
                if not self._wire.settled:
                    return await self._taken(connection, request)
        return await self._taken(connection, request)

    async def _taken(self, connection: Connection, request: Request) -> Response:
        wire = self._wire
        while True:
            version, body = wire.version, wire.body(request)
            try:
                with sending(self.meter, request):
                    came = await connection.post(wire.path(request), body)
            except Refused as fault:
                if wire.version == version:
                    if not wire.learn(fault, body):
                        raise
                    self.meter.tell(wire.news)
                continue
            if isinstance(came, Response):
                return came._replace(instrument=wire.record(request, body, came))
            with reading(self.meter, request, came):
                response = wire.read(came, request, body)
            wire.settled = True
            if not (self.meter.has_room and wire.grows(response, body)):
                return response
            self.meter.count(spent_on(response))
            self.meter.tell(wire.news)

    def _headers(self, key: str) -> dict[str, str]:
        """The headers of every request."""
        raise NotImplementedError

    @property
    def _url(self) -> str:
        return self._wire.server.base_url

    def _with_key(self) -> tuple[dict[str, str], str]:
        """The headers of every request, and the key among them."""
        key = self._secret()
        return self._headers(key), key

    def _connected(self) -> AbstractAsyncContextManager[Connection]:
        from quaver.models.served.http_pool import Connection

        key = self._secret()
        return Connection.opened(self._address, self._headers(key), key, self._timeout, self._pace.most)

    @property
    def _address(self) -> Address:
        start, bound = self._wire.server.start, self._is_its_own
        return Address(self._url, self._model, self._key, self.sends_key, start, bound)

    # ------------------------------------------------------------------ the key

    @property
    def _is_its_own(self) -> bool:
        """Whether the key may go to the address: its provider's, or one that was named for it."""
        return self._names_key or is_bound(self._url, self._usual, self._key)

    def _secret(self) -> str:
        """The key, if there is one for this address.

        Raises:
            MissingKey: None is in the environment, or it belongs to another address.
            SpecError: It would go over a network unencrypted.
        """
        secret = os.environ.get(self._key, "").strip() if self._key else ""
        if secret and not self._is_its_own:
            if not self._wire.server.needs_key:
                return ""
            raise MissingKey(
                f"the key in {self._key} belongs to another address, and is not sent to this one",
                where=self._url,
                expected=f"{self._usual}, or an address that is named for it",
                fix=f"if it is meant for this address, confirm it: `key: {self._key}` beside the model, or "
                f"--key-from {self._key}; otherwise name the variable that holds this address's key",
            )
        if not secret and self._wire.server.needs_key:
            raise MissingKey(
                f"the key for {self._model} is missing",
                where=self._url,
                expected=f"the environment variable {self._key}",
                fix=f"export {self._key}=…; a study file never holds a key",
            )
        if (
            secret
            and urlsplit(self._url).scheme == "http"
            and not is_here(self._url)
            and not self._unencrypted
        ):
            raise SpecError(
                "the key would be sent to another machine unencrypted",
                where=self._url,
                expected="https",
                fix="use https, or a tunnel to 127.0.0.1; if the network is your own: `unencrypted: true` "
                "beside the model",
            )
        return checked_key(secret, self._key, self._url)

    @property
    def is_free(self) -> bool:
        """Whether no key is sent, and the server says that it is of a kind that people run themselves.

        An address on this machine alone says nothing: a proxy to a paid service may listen there.
        """
        if self.sends_key:
            return False
        if self._is_local is None:
            from quaver.models.served.local_kinds import kind_at

            kind = kind_at(self._url)
            if kind is None:  # nothing answers there now, so that nothing can be paid either
                return bool(self._wire.server.start) and is_here(self._url)
            self._is_local = bool(kind)
        return self._is_local

    @property
    def sends_key(self) -> bool:
        """Whether a key is sent with every request."""
        return bool(self._key and self._is_its_own and os.environ.get(self._key, "").strip())


def is_bound(url: str, usual: str, variable: str) -> bool:
    """Whether an address is that to which the key in a variable belongs.

    >>> is_bound("https://api.openai.com/v1", "https://api.openai.com/v1", "OPENAI_API_KEY")
    True
    >>> is_bound("https://openai.example/v1", "https://api.openai.com/v1", "OPENAI_API_KEY")
    False
    """
    here, there = urlsplit(url), urlsplit(usual)
    same = bool(usual) and (here.scheme, here.netloc) == (there.scheme, there.netloc)
    return same or (is_here(url) and is_here(usual)) or is_named_by_environment(url, variable)
