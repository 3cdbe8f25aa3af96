"""Probes a server for the features that a study needs.

A constraint that is silently ignored is worse than none.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from quaver.core.event_loop import finished
from quaver.core.model import Needs
from quaver.core.records import Call, Decoding, Message, Prompt, Request, Response
from quaver.errors import MissingKey, ModelError, Unavailable
from quaver.models.served.presets import Preset
from quaver.models.served.server_faults import Address, Passing, Refused

if TYPE_CHECKING:
    from quaver.models.served.http_pool import Connection

_TRIES = 4
_CHOICES = ("zq7 kd", "vx3 pf")
"""Answers that no model would give unless it is restricted to them."""

_SCHEMA = {
    "type": "object",
    "properties": {"zq7": {"type": "string", "enum": ["kd", "pf"]}},
    "required": ["zq7"],
    "additionalProperties": False,
}
_PAGE = re.compile(rb"\s*<(!doctype|html)", re.IGNORECASE)
"""The beginning of a web page."""

_NO_LIST = (500, 501)
"""Statuses of servers that answer prompts but cannot list their models."""

_THINKING = 2048
"""Tokens for a second try, if the first ones were all spent on thinking."""

_QUESTION = "Tell me in a few words what you did yesterday, and who was there."

Arriving = Callable[["Connection", Preset, Request], Awaitable[Response]]


@dataclass(slots=True)
class Found:
    """The result of a probe.

    Attributes:
        server: The preset, without the features that the server does not honour.
        facts: For the provenance: its version, and what it honours.
        downgrades: Features that the study does without, with the reason.
    """

    server: Preset
    facts: dict[str, Any] = field(default_factory=dict)
    downgrades: dict[str, str] = field(default_factory=dict)


def tried(
    server: Preset,
    needs: Needs,
    connected: Callable[[], AbstractAsyncContextManager[Connection]],
    address: Address,
    arriving: Arriving,
    allowed: Collection[str],
) -> Found:
    """Reach a server and test the features that a study needs."""
    probe = _Probe(server, needs, address, arriving)

    async def run() -> Found:
        async with connected() as connection:
            return await probe.found(connection, allowed)

    return finished(run())


class _Probe:
    def __init__(self, server: Preset, needs: Needs, address: Address, arriving: Arriving) -> None:
        self._server, self._needs, self._address, self._arriving = server, needs, address, arriving

    async def found(self, connection: Connection, allowed: Collection[str]) -> Found:
        """Test everything that the study needs."""
        self._connection = connection
        await self._reach()
        result = Found(self._server, {"server": await self._version()})
        honoured: dict[str, bool] = {}
        for name, tries in self._trials():
            try:
                lack = await tries()
            except Refused as error:
                lack = f"it answers {error.words or error.found or error.problem}"
            honoured[name] = not lack
            if lack and name not in allowed:
                raise self._dishonoured(name, lack)
            if lack:
                result.downgrades[name] = lack
                result.server = replace(result.server, **({name: _OFF[name]} if name in _OFF else {}))
        result.facts["honoured"] = honoured
        return result

    def _trials(self) -> list[tuple[str, Callable[[], Awaitable[str]]]]:
        needs = self._needs
        trials: list[tuple[str, Callable[[], Awaitable[str]], object]] = [
            ("choice", self._choice, needs.constraint),
            ("schema", self._schema, needs.schema),
            ("logprobs", self._logprobs, needs.logprobs),
            ("seed", self._seed, needs.seed),
        ]
        varied = [(knob, partial(self._varied, knob, ends)) for knob, ends in needs.varied.items()]
        return [*varied, *((name, tries) for name, tries, needed in trials if needed)]

    # ------------------------------------------------------------------ the server

    async def _reach(self) -> None:
        for left in range(_TRIES - 1, -1, -1):
            try:
                if _PAGE.match(await self._connection.get("/models")):
                    raise self._address.page()
            except Passing as fault:
                if not left and fault.status in _NO_LIST:
                    return
                if (fault.unreached and left < 2) or not left:
                    raise self._address.silent(fault) from None
                await asyncio.sleep(fault.wait if fault.wait is not None else 0.3)
            except (MissingKey, Unavailable):
                raise
            except ModelError as error:
                if "key" in error.problem:
                    raise
                return  # not every server lists its models
            else:
                return

    async def _version(self) -> str | None:
        if self._server.version is None:
            return None
        path, key = self._server.version
        parts = urlsplit(self._server.base_url)
        with suppress(Passing, ModelError, ValueError, AttributeError):
            version = json.loads(await self._connection.get(f"{parts.scheme}://{parts.netloc}{path}")).get(
                key
            )
            return None if version is None else str(version)
        return None

    # ------------------------------------------------------------------ what is tried

    async def _choice(self) -> str:
        decoding = Decoding("", max_tokens=24, constraint="labels")
        response = await self._ask(decoding, choices=_CHOICES, spoken=True)
        if response.text.strip() in _CHOICES:
            return ""
        return f"asked for one of {_CHOICES}, it answers {_shown(response)}"

    async def _schema(self) -> str:
        decoding = Decoding("", max_tokens=40)
        response = await self._ask(decoding, schema=json.dumps(_SCHEMA), spoken=True)
        with suppress(ValueError, TypeError, AttributeError):
            if json.loads(response.text).get("zq7") in ("kd", "pf"):
                return ""
        return f"asked for an object of a schema, it answers {_shown(response)}"

    async def _logprobs(self) -> str:
        wanted = self._needs.logprobs
        if wanted > self._server.logprobs:
            return f"it returns at most {self._server.logprobs}"
        response = await self._ask(Decoding("", max_tokens=2, logprobs=wanted))
        given = min((len(token.top) for token in response.tokens), default=0)
        return "" if given >= wanted else f"asked for {wanted}, it returns {given}"

    async def _seed(self) -> str:
        decoding = Decoding("", temperature=1.0, max_tokens=24)
        texts = [_drawn(await self._ask(decoding, seed=seed)) for seed in (7, 7, 8, 9)]
        if texts[0] != texts[1]:
            return "the same seed draws another answer"
        return "another seed draws the same answer" if len(set(texts)) == 1 else ""

    async def _varied(self, knob: str, ends: tuple[float, float]) -> str:
        """Whether the server takes both ends of what the study varies; it never learns to do without."""
        whole = knob in ("max_tokens", "top_k")
        for end in ends:
            value: Any = {knob: int(end) if whole else end}
            await self._ask(replace(Decoding("", max_tokens=16), **value))
        return ""

    async def _ask(
        self,
        decoding: Decoding,
        *,
        choices: tuple[str, ...] = (),
        schema: str = "",
        seed: int = 7,
        spoken: bool = False,
    ) -> Response:
        """The answer to the test question; if thinking used up all tokens, a second try gets more."""
        response = await self._sent(decoding, choices, schema, seed)
        if _is_cut_short(response, spoken):
            response = await self._sent(replace(decoding, max_tokens=_THINKING), choices, schema, seed)
        return response

    async def _sent(self, decoding: Decoding, choices: tuple[str, ...], schema: str, seed: int) -> Response:
        messages = (Message("user", _QUESTION),)
        calls = (Call(bytes(16), 0, 0, 0),)
        request = Request("", Prompt(messages, _QUESTION, ""), decoding, choices, seed, calls, schema=schema)
        for left in range(_TRIES - 1, -1, -1):
            try:
                response = await self._arriving(self._connection, self._server, request)
            except Passing as fault:
                if not left:
                    silent = ModelError(
                        "the server does not answer",
                        where=self._address.url,
                        found=fault.reason,
                        fix="check that it runs at this address, and read its log",
                    )
                    raise Refused(silent) from None
                await asyncio.sleep(min(fault.wait, 60.0) if fault.wait is not None else 0.5)
            else:
                if error := response.error:
                    raise Refused(ModelError("the server does not answer", found=error))
                return response
        raise AssertionError

    def _dishonoured(self, name: str, lack: str) -> ModelError:
        where, instead = _ASKED.get(
            name, (name, f"ask at one {name.replace('_', ' ')} only: levels that are not sent are repeats")
        )
        return ModelError(
            f"the server does not honour {name}",
            where=self._address.url,
            expected=f"what `{where}` asks for",
            found=lack,
            fix=f"{instead}; or do without it (this is recorded): `allow_downgrade: [{name}]`",
        )


def _is_cut_short(response: Response, spoken: bool) -> bool:
    said = response.text.strip() or (response.thinking and not spoken)
    return response.finish == "length" and not said


def _drawn(response: Response) -> str:
    return f"{response.thinking or ''}{response.text}"


def _shown(response: Response) -> str:
    if response.text or response.finish != "length":
        return repr(response.text[:60])
    return f"nothing, and thinks for more than {_THINKING:,} tokens"


_ASKED = {
    "choice": ("constraint: labels", "check that `supports: {choice: …}` names a method that it knows"),
    "schema": ("an answer that follows a schema", "leave that variant out"),
    "logprobs": ("logprobs", "ask for fewer, or start the server so that it allows more"),
    "seed": ("seed", "leave `seed` out of the decoding"),
}


_OFF: Mapping[str, Any] = {"choice": "none", "schema": False, "logprobs": 0, "seed": ""}
"""By feature, the value of a server without it."""
