"""What the files of a study's folder hold that people can read, and so might edit."""

from __future__ import annotations

from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError
from typing_extensions import TypedDict

from quaver.collect.run.engine_noise import Noise
from quaver.design.factors.prompt_edits import Edit
from quaver.design.paraphrase.paraphrase_draft import Paraphrase


class _Draft(TypedDict):
    asked: dict[str, Any]
    paraphrases: list[Paraphrase]
    answers: dict[str, int]
    dropped: dict[str, dict[str, int]]


class _Spent(TypedDict):
    model: str
    asked: Any
    first: float
    last: float
    calls: int
    errors: int
    prompt_tokens: float
    cached_tokens: float
    completion_tokens: float
    thinking_tokens: float


class _Paraphrases(TypedDict, total=False):
    drafts: list[_Draft]
    spent: list[_Spent]
    edits: list[Edit]
    similarities: dict[str, dict[str, dict[str, float]]]


class _Round(TypedDict, total=False):
    items: int
    variants: int
    repeats: int
    calls: int
    width: float | None


class _Rounds(TypedDict, total=False):
    until: dict[str, Any]
    rounds: list[_Round]
    ended: str | None


class _Lock(TypedDict, total=False):
    models: dict[str, dict[str, Any]]


_SHAPES: dict[str, Any] = {
    "noise.json": dict[str, list[Noise]],
    "rounds.json": _Rounds,
    "study.lock.json": _Lock,
    "paraphrases.json": _Paraphrases,
}


def other_shape(name: str, document: Any) -> str | None:
    """What is wrong with the shape of a file's document; None where nothing is.

    >>> other_shape("paraphrases.json", {"edits": [{"factor": "paraphrase"}]})
    'edits.0.level: Field required'
    >>> other_shape("rounds.json", {"rounds": [], "ended": None})
    """
    try:
        _adapter(name).validate_python(document)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        return ": ".join(part for part in (".".join(map(str, first["loc"])), first["msg"]) if part)
    return None


@cache
def _adapter(name: str) -> TypeAdapter[Any]:
    return TypeAdapter(_SHAPES[name])
