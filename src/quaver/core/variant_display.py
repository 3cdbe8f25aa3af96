"""Variants and calls in words: their origin, terms, and how they differ from the original."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from quaver.core.records import Decoding, Request

_TOKEN = re.compile(r"\s+|\w+|[^\w\s]")
_LONGEST = 3000
"""Words compared one by one; a longer difference counts as new as a whole."""


class Change(NamedTuple):
    """A piece of a text: the same as in the original, gone, or new."""

    kind: Literal["same", "gone", "new"]
    text: str


class ShownVariant(NamedTuple):
    """A variant for display: its id, its origin in words, and its messages by role."""

    id: str
    origin: list[str]
    messages: list[tuple[str, list[Change]]]


def changes(before: str, after: str) -> list[Change]:
    """The differences between two texts, word by word.

    >>> changes("Is it good?", "Is it really bad?")[1:-1]
    [Change(kind='gone', text='good'), Change(kind='new', text='really bad')]
    """
    one, other = _TOKEN.findall(before), _TOKEN.findall(after)
    head = _shared(one, other)
    tail = _shared(one[head:][::-1], other[head:][::-1])
    middle = _compared(one[head : len(one) - tail], other[head : len(other) - tail])
    found = [Change("same", "".join(one[:head])), *middle]
    return _merged([*found, Change("same", "".join(one[len(one) - tail :]) if tail else "")])


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    """The number of tokens that two texts share at the beginning."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def _compared(one: Sequence[str], other: Sequence[str]) -> list[Change]:
    if max(len(one), len(other)) > _LONGEST:
        return [Change("gone", "".join(one)), Change("new", "".join(other))]
    found: list[Change] = []
    for kind, i, j, k, m in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if kind == "equal":
            found.append(Change("same", "".join(one[i:j])))
        else:
            found += [Change("gone", "".join(one[i:j])), Change("new", "".join(other[k:m]))]
    return found


def _merged(pieces: Sequence[Change]) -> list[Change]:
    """Drop empty pieces, and join two changes that only white space separates."""
    runs: list[list[str]] = []  # same, or gone and new
    for kind, text in pieces:
        if not text:
            continue
        same = kind == "same"
        if runs and len(runs[-1]) == (1 if same else 2):
            runs[-1][0 if kind != "new" else 1] += text
        else:
            runs.append([text] if same else [text if kind == "gone" else "", text if kind == "new" else ""])
    found: list[Change] = []
    at = 0
    while at < len(runs):
        run = runs[at]
        while len(run) == 2 and at + 2 < len(runs) and not runs[at + 1][0].strip():
            space, after = runs[at + 1][0], runs[at + 2]
            run = [run[0] + space + after[0], run[1] + space + after[1]]
            at += 2
        kinds: tuple[Literal["same", "gone", "new"], ...] = ("same",) if len(run) == 1 else ("gone", "new")
        found += [Change(kind, text) for kind, text in zip(kinds, run, strict=True) if text]
        at += 1
    return found


def marked_messages(
    before: Sequence[Sequence[str]], after: Sequence[Sequence[str]]
) -> list[tuple[str, list[Change]]]:
    """The messages of a prompt with their differences from the original, by role."""
    waiting: dict[str, list[str]] = {}
    for role, content in before:
        waiting.setdefault(role, []).append(content)
    found = []
    for role, content in after:
        known = waiting.get(role)
        found.append((role, changes(known.pop(0) if known else "", content)))
    return found


_LEFT_OUT = frozenset(["family", "parent", "meaning", "edits", "by"])


def origin_in_words(origin: Mapping[str, Any], covariates: Mapping[str, Any]) -> list[str]:
    """The origin of each of a variant's levels, the comparison of meaning, and the number of edits."""
    lines = []
    for factor, one in origin.items():
        maker = one.get("engine") or one.get("family", "")
        facts = [f"{key} {_plain(value)}" for key, value in one.items() if key not in {*_LEFT_OUT, "engine"}]
        edits = one.get("edits", ())
        facts += [f"edited {len(edits)} time{'s' * (len(edits) != 1)} by hand"] if edits else []
        parts = ", ".join(facts)
        by = f", by {one['by']}" if one.get("by") else ""
        lines.append(f"{factor}: {maker}{by}" + (f" ({parts})" if parts else ""))
        meaning = one.get("meaning")
        if meaning and not covariates.get("original"):
            lines.append(
                f"similarity {meaning['similarity']:.2f} ({meaning['by']}), "
                f"length ×{meaning['length']:.2f}, words ×{meaning['words']:.2f}"
            )
    if covariates.get("flagged"):
        lines.append(f"flagged: {covariates.get('flags', '')}")
    return lines


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_plain(one)}" for key, one in value.items())
    if isinstance(value, list | tuple):
        return " and ".join(map(_plain, value))
    return repr(value) if isinstance(value, str) and value != value.strip() else str(value)


@lru_cache(maxsize=4096)
def terms_of(decoding: Decoding, choices: tuple[str, ...], schema: str) -> str:
    """Decoding, allowed answers and JSON schema as a JSON list; without a schema it has two parts.

    >>> decoding, choices = json.loads(terms_of(Decoding("greedy", max_tokens=8), ("yes", "no"), ""))
    >>> decoding["max_tokens"], choices
    (8, ['yes', 'no'])
    """
    values = asdict(decoding)
    del values["name"], values["grid"]
    if decoding.temperature == 0:
        del values["seed"]
    parts: list[Any] = [values, choices]
    return json.dumps([*parts, schema] if schema else parts, sort_keys=True)


def decoding_of(terms: str) -> tuple[Decoding, tuple[str, ...], str]:
    """Decoding, allowed answers and JSON schema of terms; the decoding has no name.

    >>> decoding_of(terms_of(Decoding("greedy", max_tokens=9), ("yes", "no"), ""))[1:]
    (('yes', 'no'), '')
    """
    values, choices, *schema = json.loads(terms)
    known: dict[str, Any] = {
        name: tuple(one) if isinstance(one, list) else one for name, one in values.items()
    }
    return Decoding("", **known), tuple(choices), schema[0] if schema else ""


def request_terms(request: Request) -> str:
    """The terms under which a request is sent, whatever its key says."""
    return terms_of(request.decoding, request.choices, request.schema)
