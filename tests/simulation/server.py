"""A simulated server: what it answers is a hash of what it was asked; how well it does so is chance."""

import asyncio
import json
import random
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any
from unittest.mock import patch

import aiohttp

from quaver.models.openai_compatible import OpenAICompatible
from quaver.models.served import local_kinds
from quaver.models.served.http_pool import HttpPool, HttpReply
from quaver.study.collection import round_of_calls

__all__ = ["FAULTS", "Attempt", "Server"]

_ASKED = ContextVar("asked", default=None)

FAULTS = (
    "429", "429 now", "429 later", "500", "503 later", "break", "slow", "empty", "cut", "no choices",
)  # fmt: skip
_BILLED = ("", "break", "slow", "cut", "no choices")
"""Faults that come after the model has done its work: a provider bills them."""

ODD = (
    {"model": {"a": 1}},
    {"system_fingerprint": ["x"]},
    {"model": "\ud800"},
    {"id": None, "created": "yesterday", "choice": []},
)
"""What a reply says beside an answer that is good, and what nobody can use."""

_WORDS = ("favor", "against", "neither", "I cannot say.", "", "favor or against", "Favor!")


@dataclass(frozen=True, slots=True)
class Attempt:
    """A prompt that reached the server.

    Attributes:
        sent: When it left its client; the network takes its time.
        at: When it arrived.
        keys: The calls that it was sent for; none where the server was only tried.
        meant: What each of these asks, with the seed that it is drawn with.
        tokens: Billed for it.
        good: Whether an answer went back.
    """

    sent: float
    at: float
    keys: tuple[bytes, ...]
    meant: tuple[str, ...]
    tokens: int
    good: bool

    @property
    def asked(self):
        """Each call's key with what it asks."""
        return list(zip(self.keys, self.meant, strict=True))


@dataclass
class Server:
    """Whatever is reached over HTTP.

    Attributes:
        draw: Decides what goes wrong.
        clock: Says what time it is.
        faults: Share of the study's prompts at which something does.
        odd: Share of good replies with metadata that nobody can use.
        fingerprint: What it says of itself; changes when something else is served under the same name.
        attempts: All prompts that reached it.
    """

    draw: random.Random
    clock: Any
    faults: float = 0.0
    odd: float = 0.0
    fingerprint: str = "f1"
    attempts: list[Attempt] = field(default_factory=list)

    @contextmanager
    def entered(self):
        """Stand where the network is."""
        server, send = self, OpenAICompatible._send

        async def remembering(model, to, asked):
            _ASKED.set(asked if any(asked.calls[0].key) else None)  # else the server is only tried
            return await send(model, to, asked)

        async def posted(pool, url, headers, body):
            return await server.send(body)

        async def listed(pool, url, headers):
            return _reply(200, {"data": [{"id": "m"}], "version": "1"})  # its models, or its version

        with (
            patch.object(HttpPool, "post", posted),
            patch.object(HttpPool, "get", listed),
            patch.object(OpenAICompatible, "_send", remembering),
            patch.object(local_kinds, "kind_at", lambda url: ""),
            patch.object(round_of_calls, "_check_pilot", lambda *_: None),  # many an answer is of no use here
        ):
            yield

    async def send(self, content):
        """Answer a prompt, or not."""
        body, asked = json.loads(content), _ASKED.get()
        calls = asked.calls if asked else ()
        sent = self.clock.now
        await asyncio.sleep(self.draw.choice((0.0, 0.01, 0.3)))
        fault = self.draw.choice(FAULTS) if asked and self.draw.random() < self.faults else ""
        whole = _completion(body, self.fingerprint, asked is not None)
        self.attempts.append(
            Attempt(
                sent,
                self.clock.now,
                tuple(call.key for call in calls),
                (_meant(body),) if calls else (),
                whole["usage"]["total_tokens"] if fault in _BILLED else 0,
                not fault,
            )
        )
        if not fault and self.draw.random() < self.odd:
            whole |= self.draw.choice(ODD)
        return await _faulted(fault, whole)


async def _faulted(fault, whole):
    match fault:
        case "":
            return _reply(200, whole)
        case "break":
            raise aiohttp.ClientError("the connection broke")
        case "slow":
            await asyncio.sleep(300)
            return _reply(200, whole)
        case "empty":
            return HttpReply(200, {}, b"")
        case "cut":
            return HttpReply(200, {}, json.dumps(whole).encode()[:-20])
        case "no choices":
            return _reply(200, whole | {"choices": None})
    status, _, how = fault.partition(" ")
    wait = {"now": "0", "later": "7"}.get(how)
    return _reply(int(status), {"error": {"message": "no"}}, {"retry-after": wait} if wait else {})


def _reply(status, document, headers=None):
    return HttpReply(status, dict(headers or {}), json.dumps(document).encode())


def _meant(body):
    """All that decides an answer."""
    return json.dumps(body, sort_keys=True)


def _completion(body, fingerprint, is_study):
    read, written = len(json.dumps(body["messages"])) // 4, 3
    return {
        "model": "m-1",
        "system_fingerprint": fingerprint,
        "choices": [_choice(body, is_study)],
        "usage": {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written},
    }


def _choice(body, is_study):
    drawn = int.from_bytes(blake2b(_meant(body).encode(), digest_size=8).digest(), "little")
    text = _text(body, drawn)
    choice = {"index": 0, "message": {"role": "assistant", "content": text}}
    is_filtered = drawn % 41 == 7 and is_study
    choice["finish_reason"] = "content_filter" if is_filtered else "stop"
    if body.get("logprobs"):
        tops = [{"token": f"{text[:1]}{k}", "logprob": -0.5 - k} for k in range(body["top_logprobs"])]
        choice["logprobs"] = {"content": [{"token": text[:1], "logprob": -0.4, "top_logprobs": tops}]}
    return choice


def _text(body, drawn):
    if held := body.get("structured_outputs"):
        return str(held["choice"][drawn % len(held["choice"])])
    if form := body.get("response_format"):
        fields = form["json_schema"]["schema"]["properties"]
        held = {name: one.get("enum", ["x"]) for name, one in fields.items()}
        return json.dumps({name: some[drawn % len(some)] for name, some in held.items()})
    word = _WORDS[drawn % len(_WORDS)]
    return f"{word} {drawn}" if body["max_tokens"] == 24 else word  # who tries its seeds wants to see them
