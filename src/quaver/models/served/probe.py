"""Probes a server for the features that a study needs.

A constraint that is silently ignored is worse than none.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from quaver.core.calls import Call, Message, Prompt, Request, Response
from quaver.core.conversation import finished
from quaver.core.model import Needs
from quaver.core.records import Decoding
from quaver.errors import MissingKey, ModelError, Unavailable
from quaver.models.served.presets import Preset
from quaver.models.served.server_faults import Address, Passing, Refused

if TYPE_CHECKING:
    from quaver.models.served.http_pool import Connection

_TRIES = 4
_CHOICES = ("zq7 kd", "vx3 pf")
"""Answers that no model would give unless it is restricted to them."""

_SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {"zq7": {"type": "string", "enum": ["kd", "pf"]}},
        "required": ["zq7"],
        "additionalProperties": False,
    }
)
_PAGE = re.compile(rb"\s*<(!doctype|html)", re.IGNORECASE)
"""The beginning of a web page."""

_NO_LIST = (500, 501)
"""Statuses of servers that answer prompts but cannot list their models."""

_THINKING = 2048
"""Tokens for a second try, if the first ones were all spent on thinking."""

_QUESTION = "Tell me in a few words what you did yesterday, and who was there."
_OPEN, _DRAWS = "List eight unusual words at random, and nothing else.", (7, 8, 9)
"""A question that hardly any two draws answer alike, and the seeds of such draws."""

_ASKED = {
    "choice": ("constraint: labels", "check that `supports: {choice: …}` names a method that it knows"),
    "schema": ("an answer that follows a schema", "leave that variant out, or `held: false` in the task"),
    "logprobs": ("logprobs", "ask for fewer, or start the server so that it allows more"),
    "seed": ("seed", "leave `seed` out of the decoding"),
}

Arriving = Callable[["Connection", Request], Awaitable[Response]]


def tried(
    server: Preset,
    needs: Needs,
    connected: Callable[[], AbstractAsyncContextManager[Connection]],
    address: Address,
    arriving: Arriving,
) -> dict[str, Any]:
    """Reach a server and test the features that a study needs.

    Returns:
        For the provenance: its version, and what it honours.

    Raises:
        ModelError: It cannot be reached, or does not honour one of them.
    """

    async def run() -> dict[str, Any]:
        async with connected() as connection:
            await _reach(connection, address)
            facts: dict[str, Any] = {"server": await _version(connection, server), "honoured": {}}
            probe = _Probe(server, needs, lambda request: arriving(connection, request), address)
            for name, trial in probe.trials():
                try:
                    lack = await trial
                except Refused as error:
                    lack = f"it answers {error.words or error.found or error.problem}"
                if lack:
                    raise _dishonoured(name, lack, address)
                facts["honoured"][name] = name not in probe.idle
            return facts

    return finished(run())


async def _reach(connection: Connection, address: Address) -> None:
    for left in range(_TRIES - 1, -1, -1):
        try:
            if _PAGE.match(await connection.get("/models")):
                raise address.page()
        except Passing as fault:
            if not left and fault.status in _NO_LIST:
                return
            if (fault.unreached and left < 2) or not left:
                raise address.silent(fault) from None
            await asyncio.sleep(fault.wait if fault.wait is not None else 0.3)
        except (MissingKey, Unavailable):
            raise
        except ModelError as error:
            if "key" in error.problem:
                raise
            return  # not every server lists its models
        else:
            return


async def _version(connection: Connection, server: Preset) -> str | None:
    if server.version is not None:
        path, key = server.version
        parts = urlsplit(server.base_url)
        with suppress(Passing, ModelError, ValueError, AttributeError):
            content = await connection.get(f"{parts.scheme}://{parts.netloc}{path}")
            version = json.loads(content).get(key)
            return None if version is None else str(version)
    return None


class _Probe:
    """The trials of a server; each ends in what it lacks, in words, or in an empty text.

    Attributes:
        idle: Knobs that the server takes, and that change nothing.
    """

    def __init__(
        self, server: Preset, needs: Needs, send: Callable[[Request], Awaitable[Response]], address: Address
    ) -> None:
        self._server, self._needs, self._send, self._address = server, needs, send, address
        self._question = _QUESTION
        self.idle: list[str] = []

    def trials(self) -> Iterator[tuple[str, Awaitable[str]]]:
        """What is to be tried."""
        needs = self._needs
        for knob, ends in needs.varied.items():
            yield knob, self._varied(knob, ends)
        if needs.constraint:
            yield "choice", self._held(choices=_CHOICES)
        if needs.schema:
            yield "schema", self._held(schema=_SCHEMA)
        if needs.logprobs:
            yield "logprobs", self._logprobs(needs.logprobs)
        if needs.seed:
            yield "seed", self._seed()

    async def _held(self, choices: tuple[str, ...] = (), schema: str = "") -> str:
        decoding = Decoding("", max_tokens=40, constraint="labels" if choices else "none")
        response = await self._ask(decoding, choices, schema)
        text = response.text.strip()
        with suppress(ValueError, TypeError, AttributeError):
            if text in choices or (schema and json.loads(text).get("zq7") in ("kd", "pf")):
                return ""
        if not response.text and response.finish == "length":
            said = f"nothing, and thinks for more than {_THINKING:,} tokens"
        else:
            said = repr(response.text[:60])
        return f"asked for {f'one of {choices}' if choices else 'an object of a schema'}, it answers {said}"

    async def _logprobs(self, wanted: int) -> str:
        if wanted > self._server.logprobs:
            return f"it returns at most {self._server.logprobs}"
        response = await self._ask(Decoding("", max_tokens=2, logprobs=wanted))
        given = min((len(token.top) for token in response.tokens), default=0)
        return "" if given >= wanted else f"asked for {wanted}, it returns {given}"

    async def _seed(self) -> str:
        decoding = Decoding("", temperature=1.0, max_tokens=24)
        drawn = [await self._ask(decoding, seed=seed) for seed in (7, 7, 8, 9)]
        texts = [f"{response.thinking or ''}{response.text}" for response in drawn]
        if texts[0] != texts[1]:
            return "the same seed draws another answer"
        return "another seed draws the same answer" if len(set(texts)) == 1 else ""

    async def _varied(self, knob: str, ends: tuple[float, float]) -> str:
        """Whether the server takes both ends of what the study varies; it never learns to do without.

        A knob of the sampling is idle where the same seeds draw the same answers at both ends.
        """
        self._question = _OPEN
        said = []
        for end in ends:
            value: Any = {knob: int(end) if knob in ("max_tokens", "top_k") else end}
            decoding = replace(Decoding("", temperature=1.0, max_tokens=40), **value)
            seeds = _DRAWS if knob != "max_tokens" else _DRAWS[:1]
            said.append([(await self._ask(decoding, seed=seed)).text for seed in seeds])
        self._question = _QUESTION
        if knob != "max_tokens" and said[0] == said[1]:
            self.idle.append(knob)
        return ""

    async def _ask(
        self, decoding: Decoding, choices: tuple[str, ...] = (), schema: str = "", seed: int = 7
    ) -> Response:
        """The answer to the test question; if thinking used up all tokens, a second try gets more."""
        response = await self._sent(decoding, choices, schema, seed)
        said = response.text.strip() or (response.thinking and not (choices or schema))
        if response.finish == "length" and not said:
            response = await self._sent(replace(decoding, max_tokens=_THINKING), choices, schema, seed)
        return response

    async def _sent(self, decoding: Decoding, choices: tuple[str, ...], schema: str, seed: int) -> Response:
        prompt = Prompt((Message("user", self._question),), self._question, "")
        request = Request("", prompt, decoding, choices, seed, (Call(bytes(16), 0, 0, 0),), schema=schema)
        for left in range(_TRIES - 1, -1, -1):
            try:
                response = await self._send(request)
            except Passing as fault:
                if not left:
                    raise Refused(self._address.silent(fault)) from None
                await asyncio.sleep(min(fault.wait, 60.0) if fault.wait is not None else 0.5)
            else:
                if error := response.error:
                    raise Refused(ModelError("the server does not answer", found=error))
                return response
        raise AssertionError


def _dishonoured(name: str, lack: str, address: Address) -> ModelError:
    where, instead = _ASKED.get(
        name, (name, f"ask at one {name.replace('_', ' ')} only: levels that are not sent are repeats")
    )
    return ModelError(
        f"the server does not honour {name}",
        where=address.url,
        expected=f"what `{where}` asks for",
        found=lack,
        fix=instead,
    )
