"""Variants and calls in words: their origin, terms, and how they differ from the original."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import takewhile
from typing import Any, Literal

from quaver.core.calls import Request
from quaver.core.media import noted_in_words
from quaver.core.records import Decoding

_TOKEN = re.compile(r"\w+\s*|[^\w\s]\s*|\s+")
_LONGEST = 3000
"""Words compared one by one; a longer difference counts as new as a whole."""


Change = tuple[Literal["same", "gone", "new"], str]
"""A piece of a text: the same as in the original, gone, or new."""


def changes(before: str, after: str) -> list[Change]:
    """The differences between two texts, word by word.

    >>> changes("Is it good?", "Is it really bad?")[1:-1]
    [('gone', 'good'), ('new', 'really bad')]
    """
    old, new = _TOKEN.findall(before), _TOKEN.findall(after)
    head = _shared(old, new)
    tail = _shared(old[head:][::-1], new[head:][::-1])
    old_rest, new_rest = old[head : len(old) - tail], new[head : len(new) - tail]
    parts: Sequence[tuple[str, int, int, int, int]] = [("replace", 0, len(old_rest), 0, len(new_rest))]
    if max(len(old_rest), len(new_rest)) <= _LONGEST:
        parts = SequenceMatcher(None, old_rest, new_rest, autojunk=False).get_opcodes()
    changed_parts: list[Change] = [("same", "".join(old[:head]))]
    for kind, i, j, k, m in parts:
        if kind == "equal":
            changed_parts.append(("same", "".join(old_rest[i:j])))
        else:
            gone, new_text = "".join(old_rest[i:j]), "".join(new_rest[k:m])
            space = gone[len(gone.rstrip()) :]
            if not new_text.endswith(space):
                space = ""
            changed_parts.append(("gone", gone.removesuffix(space)))
            changed_parts.append(("new", new_text.removesuffix(space)))
            changed_parts.append(("same", space))  # the space behind both
    changed_parts.append(("same", "".join(old[len(old) - tail :])))
    return [change for change in changed_parts if change[1]]


def _shared(old: Sequence[str], new: Sequence[str]) -> int:
    """The number of words that two texts share at the beginning."""
    return len([*takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False))])


def marked_messages(
    before: Sequence[Sequence[str]], after: Sequence[Sequence[str]]
) -> list[tuple[str, list[Change]]]:
    """The messages of a prompt with their differences from the original, by role."""
    waiting: dict[str, list[str]] = {}
    for role, content in before:
        waiting.setdefault(role, []).append(content)
    result = []
    for role, content in after:
        known = waiting.get(role)
        pair = [known.pop(0) if known else "", content]
        if role == "media":
            pair = [said and noted_in_words(said) for said in pair]
        result.append((role, changes(*pair)))
    return result


_LEFT_OUT = frozenset(["family", "parent", "by"])


def origin_in_words(origin: Mapping[str, Any], covariates: Mapping[str, Any]) -> list[str]:
    """The origin of each of a variant's levels, and what a paraphrase has lost."""
    lines = []
    for factor, origin_of_factor in origin.items():
        maker = origin_of_factor.get("engine") or origin_of_factor.get("family", "")
        facts = [
            f"{key} {plain(value)}"
            for key, value in origin_of_factor.items()
            if key not in {*_LEFT_OUT, "engine"}
        ]
        parts = ", ".join(facts)
        by = f", by {origin_of_factor['by']}" if origin_of_factor.get("by") else ""
        lines.append(f"{factor}: {maker}{by}" + (f" ({parts})" if parts else ""))
    if covariates.get("flagged"):
        lines.append(f"flagged: {covariates.get('flags', '')}")
    return lines


def plain(value: Any) -> str:
    """A value of a document in words.

    >>> plain({"favor": 46, "against": [1, 2]})
    'favor 46, against 1 and 2'
    """
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {plain(part)}" for key, part in value.items())
    if isinstance(value, list | tuple):
        return " and ".join(map(plain, value))
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
        name: tuple(value) if isinstance(value, list) else value for name, value in values.items()
    }
    return Decoding("", **known), tuple(choices), schema[0] if schema else ""


def request_terms(request: Request) -> str:
    """The terms under which a request is sent, whatever its key says."""
    return terms_of(request.decoding, request.choices, request.schema)
