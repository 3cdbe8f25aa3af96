"""The terms of a call: everything but model and prompt that decides its answer, as one text.

They are part of a call's key (``call_keys``) and are stored beside its answer (``response_tables``), so that
what was sent can be compared with what the key says.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import lru_cache
from typing import Any

from quaver.core.records import Decoding, Request


@lru_cache(maxsize=4096)
def terms_of(decoding: Decoding, choices: tuple[str, ...], schema: str) -> str:
    """Decoding, allowed answers and JSON schema as a JSON list; without a schema it has two parts.

    Args:
        decoding: Its name is left out, since it changes no answer; so is the seed of greedy decoding.
        choices: The only answers allowed; empty where the decoding has no constraint.
        schema: JSON schema that the answer must follow; empty for none.

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
