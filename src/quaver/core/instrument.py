"""The instrument record: of each knob of a call, what was asked, what was sent, what the reply shows of it.

The record belongs to the terms under which an answer is stored, so that calls with the same record share a
row. Only models behind a server write one: what runs in this process heeds what it is asked.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal

State = Literal["sent", "honoured", "ignored", "capped", "refused", "dropped"]
"""``sent``: the reply does not show whether it counted; ``honoured``, ``ignored``: the reply shows that it
did, or did not; ``capped``: the server allows less; ``refused``: the server rejected it, and was asked
without it; ``dropped``: it was never sent."""

KNOBS: Final = (
    "temperature",
    "top_p",
    "effort",
    "thinking",
    "seed",
    "max_tokens",
    "stop",
    "schema",
    "logprobs",
)

_MARK = ', {"instrument": '


Knob = tuple[Any, Any, State]
"""What became of one knob: the value that the study asks for, or None; the value in the request, or None, so
that the provider's default counts; and what the request and its reply show."""


def record_of(knobs: Mapping[str, Knob], host: str = "", api: str = "") -> str:
    """A record as JSON: the knobs in order, the host that answered, the API.

    >>> record_of({"temperature": (0.0, None, "refused")}, host="Together")
    '{"instrument": {"temperature": [0.0, null, "refused"]}, "host": "Together"}'
    """
    about = {name: value for name, value in (("host", host), ("api", api)) if value}
    return json.dumps({"instrument": {name: knobs[name] for name in KNOBS if name in knobs}, **about})


def terms_with(terms: str, record: str | None) -> str:
    """Terms with the record of the instrument at their end.

    >>> terms_with('[{"seed": 1}, []]', record_of({}))
    '[{"seed": 1}, [], {"instrument": {}}]'
    """
    return f"{terms[:-1]}, {record}]" if record else terms


def asked_in(terms: str | None) -> str | None:
    """Terms without the record of the instrument.

    >>> asked_in(terms_with('[{"seed": 1}, []]', record_of({})))
    '[{"seed": 1}, []]'
    """
    if terms is None:
        return None
    asked, mark, _ = terms.partition(_MARK)
    return f"{asked}]" if mark else terms


def record_text(terms: str | None) -> str | None:
    """The record in terms as JSON; None where there is none."""
    _, mark, record = (terms or "").partition(_MARK)
    return f'{{"instrument": {record[:-1]}' if mark else None


def record_in(terms: str | None) -> dict[str, Any]:
    """The record in terms: ``knobs`` by name, ``host`` and ``api``; empty where there is none."""
    if (record := record_text(terms)) is None:
        return {}
    document = json.loads(record)
    return {"knobs": document["instrument"], "host": document.get("host", ""), "api": document.get("api", "")}


def idle_knobs(instruments: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str, int]]:
    """The knobs of which a server took several levels and showed no difference.

    Args:
        instruments: By model and decoding the records summed (`quaver.collect.run.ledger.instruments`).

    Yields:
        The model, the knob, and how many levels were sent.
    """
    for model, decodings in instruments.items():
        for knob in KNOBS:
            levels = [level for decoding in decodings.values() for level in decoding["knobs"].get(knob, ())]
            sent = {json.dumps(value) for _, value, _, *_ in levels}
            if len(sent) > 1 and all(state == "ignored" for _, _, state, *_ in levels):
                yield model, knob, len(sent)


def idle_words(model: str, knob: str, levels: int) -> str:
    """The warning about a knob that the server ignores."""
    return f"{knob} made no difference that the server of {model} shows: its {levels} levels count as repeats"
