"""How one model is asked: its dialect and fields, less what its server has refused; and the record of that.

A server knows best what it takes. Where it refuses a request and its sentence names a field, the field is
renamed, lowered or left out, and the request is sent again. What was learnt holds for the run, and every
answer's record says what was sent.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from quaver.core.calls import Message, Request, Response
from quaver.core.instrument import State, record_of
from quaver.models.served.dialects import (
    CHAT_API,
    DIALECTS,
    NESTED,
    RESPONSES_API,
    Dialect,
    asked_of,
    at,
    is_plain,
    put,
)
from quaver.models.served.presets import Preset
from quaver.models.served.server_faults import Refused, refusal_hints, room_in
from quaver.models.served.server_reply import read_reply

MOST_CHANGES: Final = 5
"""What is learnt from refusals about one model, at most."""

_ROOMS: Final = (4096, 16_384, 65_536)
"""Tokens for thinking beyond the answer's own, each tried where the last left no room for the answer."""

_PROTECTED = frozenset(["model", "messages", "prompt", "input", "contents", "n", "store", "system"])
_INSTEAD = re.compile(r"[Uu]se [`'\"“]?([A-Za-z_]{3,40})[`'\"”]? instead")
_AT_MOST = re.compile(
    r"(?:at most|maximum|max (?:value|allowed)|<=|less than or equal to|up to|exceed\w*)\D{0,40}?(\d[\d,_]*)"
)
_RESPONSES_ONLY = re.compile(r"v1/responses|responses (api|endpoint)", re.IGNORECASE)
_SYSTEM = re.compile(r"(system|developer) (role|message|instruction|prompt)|role.{0,20}system", re.IGNORECASE)


class Wire:
    """The way to one model.

    Args:
        server: What the server honours, as far as it is known.
        model: The model's name there.
        api: The dialect.

    Attributes:
        changes: What was learnt from refusals: by field, what became of it.
        needed: Knobs that the study cannot do without, since it varies them or rests on them.
        idle: Knobs that the server takes, and that a probe saw change nothing.
        room: Tokens for thinking beyond the answer's own.
        settled: Whether the server has taken a request as it is made now.
    """

    def __init__(self, server: Preset, model: str, api: str = "chat") -> None:
        self.server, self._model = server, model
        self._api = DIALECTS[api]
        self.changes: dict[str, Any] = {}
        self.needed: frozenset[str] = frozenset()
        self.idle: frozenset[str] = frozenset()
        self.room = 0
        self.settled = False

    @property
    def dialect(self) -> Dialect:
        """The API that is spoken now."""
        return RESPONSES_API if self.changes.get("api") == RESPONSES_API.name else self._api

    @property
    def version(self) -> int:
        """A number that grows with whatever is learnt."""
        return len(self.changes) + self.room

    @property
    def news(self) -> str:
        """What was learnt last, in words."""
        if self.changes and not self.room:
            field, change = next(reversed(self.changes.items()))
            became = f"sent as {change[0]}" if isinstance(change, list) else str(change)
            return f"asked differently from now on: {field}: {became}"
        return f"it was cut off while it was thinking: it gets {self.room:,} tokens for that from now on"

    def body(self, request: Request) -> dict[str, Any]:
        """The body that asks for an answer to a call."""
        if self.changes.get("system"):
            request = request._replace(prompt=request.prompt._replace(messages=_merged(request)))
        body = self.dialect.body(self.server, self._model, request)
        for field in self.dialect.fields["max_tokens"]:
            if (limit := at(body, field)) is not None:
                put(body, field, min(limit + self.room, self.changes.get("limit", limit + self.room)))
        for field, change in self.changes.items():
            if field in ("api", "system", "limit") or (value := at(body, field)) is None:
                continue
            put(body, field, None)
            if isinstance(change, list):
                put(body, change[0], value)
        return body

    def path(self, request: Request) -> str:
        """Where a request goes, below the base URL."""
        return self.dialect.path(self._model, request.prompt.messages)

    # ------------------------------------------------------------------ what refusals teach

    def learn(self, fault: Refused, body: Mapping[str, Any]) -> bool:
        """Change what is sent by what a server refuses; whether there is something to change."""
        if len(self.changes) >= MOST_CHANGES:
            return False
        words = fault.words
        if self.dialect is CHAT_API and _RESPONSES_ONLY.search(words) and fault.status in (400, 404):
            self.changes["api"] = RESPONSES_API.name
            return True
        if fault.status not in (400, 404, 422, 501):
            return False
        field = self._field(fault, body)
        if (
            field
            and field not in self.changes
            and not any(field in names and knob in self.needed for knob, names in self.dialect.fields.items())
        ):
            return self._change(field, words, body)
        roles = [message.get("role") for message in body.get("messages", ()) if isinstance(message, dict)]
        if _SYSTEM.search(f"{fault.field} {words}") and "system" in roles and "system" not in self.changes:
            self.changes["system"] = "joined to the user's message"
            return True
        return False

    def _field(self, fault: Refused, body: Mapping[str, Any]) -> str:
        """The field that a refusal is about; empty where it names none."""
        fields = list(_fields(body))
        if room_in(fault.words):
            return next((field for field in self.dialect.fields["max_tokens"] if field in fields), "")
        for field in fields:
            if fault.field and fault.field.split("[")[0] in (field, field.rpartition(".")[2]):
                return field
        named = [
            (len(word), field) for field in fields for word in _words(field) if _names(fault.words, word)
        ]
        if named:
            return max(named)[1]
        unnamed = refusal_hints()["unnamed"]
        if re.search(unnamed["sentence"], fault.words, re.IGNORECASE):
            return next((field for field in unnamed["order"] if field in fields), "")
        return ""

    def _change(self, field: str, words: str, body: Mapping[str, Any]) -> bool:
        instead, most = _INSTEAD.search(words), _AT_MOST.search(words)
        value = at(body, field)
        if instead and instead[1] not in body and instead[1] not in _PROTECTED:
            self.changes[field] = [instead[1]]
        elif field in self.dialect.fields["max_tokens"] and most and isinstance(value, int):
            limit = room_in(words) or int(re.sub(r"\D", "", most[1]))
            if not 0 < limit < value:
                return False
            self.changes["limit"] = limit
        else:
            self.changes[field] = " ".join(words.split())[:200] or "refused"
            if field == "logprobs" or field == "top_logprobs":  # one is nothing without the other
                self.changes |= {
                    name: self.changes[field] for name in ("logprobs", "top_logprobs") if name in body
                }
        return True

    # ------------------------------------------------------------------ what comes back

    def read(self, content: bytes, request: Request, body: Mapping[str, Any]) -> Response:
        """The response in a reply, with its record."""
        last = request.prompt.messages[-1]
        wrapped = request.choices if self.server.choice == "json_schema" and not request.schema else ()
        reply, host = read_reply(
            content,
            logprobs=request.decoding.logprobs,
            begun=last.content if last.role == "assistant" else "",
            wrapped=wrapped,
            completion=self.dialect.completion,
        )
        return reply._replace(instrument=self.record(request, body, reply, host))

    def grows(self, response: Response, body: Mapping[str, Any]) -> bool:
        """Whether an answer was cut off in thought, and there is more room to give them."""
        if not _is_cut_in_thought(response):
            return False
        limit = self._sent("max_tokens", body) or 0
        if limit < min(self.room, self.changes.get("limit", self.room)):
            return True  # it was sent before the room grew
        larger = next((room for room in _ROOMS if room > self.room), None)
        if larger is None or self.room >= self.changes.get("limit", larger):
            return False
        self.room = larger
        return True

    def record(self, request: Request, body: Mapping[str, Any], response: Response, host: str = "") -> str:
        """The record of a response to what was sent."""
        knobs = {}
        for name, asked in asked_of(self.server, request).items():
            sent = self._sent(name, body)
            if asked is not None or sent is not None:
                knobs[name] = asked, _shown(name, sent), self._state(name, asked, sent, response)
        return record_of(knobs, host, "" if self.dialect is CHAT_API else self.dialect.name)

    def _sent(self, knob: str, body: Mapping[str, Any]) -> Any:
        """What a body has of a knob; None where it has nothing."""
        fields = self.dialect.fields.get(knob, ())
        changed = [change[0] for field in fields if isinstance(change := self.changes.get(field), list)]
        values = (at(body, field) for field in (*fields, *changed))
        return next((value for value in values if value is not None), None)

    def _state(self, name: str, asked: Any, sent: Any, response: Response) -> State:
        if sent is None:
            fields = self.dialect.fields.get(name, ())
            return "refused" if any(field in self.changes for field in fields) else "dropped"
        if name in self.idle:
            return "ignored"
        if name == "max_tokens":
            if asked is not None and sent < asked:
                return "capped"
            written = response.completion_tokens
            if written is None or written > sent >= written - (response.thinking_tokens or 0):
                return "sent"  # some servers count thinking beside it
            return "honoured" if written <= sent else "ignored"
        if name == "logprobs":
            if not response.tokens:
                return "ignored" if response.text else "sent"
            return (
                "honoured" if all(len(token.top) >= (asked or 0) for token in response.tokens) else "capped"
            )
        if name == "schema":
            return "honoured" if _follows(asked, response) else "ignored" if response.text else "sent"
        return "sent"


def _shown(name: str, sent: Any) -> Any:
    """A value as the record has it: of a schema its form, of a seed that it was sent."""
    if name == "seed":
        return None if sent is None else True
    if name == "schema" and sent is not None:
        return sent.get("type", "choice") if isinstance(sent, dict) else "choice"
    return sent


def _follows(asked: Any, response: Response) -> bool:
    """Whether an answer has the form that was asked for: an object, or one of the labels."""
    if asked == "labels":
        return bool(response.text.strip())
    try:
        return isinstance(json.loads(response.text), dict)
    except (ValueError, RecursionError):
        return False


def _is_cut_in_thought(response: Response) -> bool:
    if response.finish != "length":
        return False
    text = response.text.strip()
    return not text or (text.startswith("<think>") and "</think>" not in text)


def _merged(request: Request) -> tuple[Message, ...]:
    """The messages, with the system's merged into the user's first."""
    messages = request.prompt.messages
    if is_plain(messages):
        return messages
    system = [message.content for message in messages if message.role == "system"]
    rest = [message for message in messages if message.role != "system"]
    first = next((index for index, message in enumerate(rest) if message.role == "user"), None)
    if first is None:
        return messages
    rest[first] = rest[first]._replace(content="\n\n".join([*system, rest[first].content]))
    return tuple(rest)


def _words(field: str) -> Iterator[str]:
    leaf = field.rpartition(".")[2]
    yield from (field, leaf, *refusal_hints()["words"].get(leaf, ()))


def _names(sentence: str, word: str) -> bool:
    return re.search(rf"(?<![\w.]){re.escape(word)}(?!\w)", sentence, re.IGNORECASE) is not None


def _fields(body: Mapping[str, Any]) -> Iterator[str]:
    for name, value in body.items():
        if name in _PROTECTED:
            continue
        if name in NESTED and isinstance(value, dict):
            yield from (f"{name}.{inner}" for inner in value)
        else:
            yield name
