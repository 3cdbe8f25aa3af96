"""``replay``: answers that exist already, in another study or in a file, without a model.

An answer is found by prompt, decoding and repeat number. If several calls have the same prompt (two variants
may render alike), the one with the same item and variant answers. A call without a stored answer gets an
error response, never another answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from quaver.core.model import Abilities, Answered
from quaver.core.records import Call, Condition, Request, Response
from quaver.core.response_validation import error_response
from quaver.errors import SpecError
from quaver.models._defaults import Defaults
from quaver.models.recorded.stored_answers import AnswerFile, StoredAnswers

_HEEDED = frozenset(["top_p", "top_k", "min_p", "repeat_penalty", "stop"])


class Replay(Defaults):
    """The answers of another study, or of a file.

    Args:
        study: The other study's folder. Its answers match if the prompt and all options of the decoding are
            the same, except names and seeds.
        model: Which of its models; optional if it has one.
        file: A table of answers: CSV, TSV, JSONL or Parquet. Its column ``prompt`` holds what the model was
            sent (the messages, separated by a blank line), or ``item`` and ``variant`` identify the call.
            ``variant`` is optional if the study has one, ``repeat`` (from 0) if rows are in order of repeats,
            and ``decoding`` if it makes no difference.
        answer: The column of the answers.

    Raises:
        SpecError: Neither or both of ``study`` and ``file`` are given.
        Unavailable: There are no answers, or they cannot be told apart.

    A file does not say how its answers were made, so a study that needs log-probabilities, a constraint or a
    schema is refused.
    """

    abilities = Abilities(seed=True, plain=True, decoding=_HEEDED, continues=True, local=True)

    def __init__(
        self,
        *,
        study: str | None = None,
        model: str | None = None,
        file: str | None = None,
        answer: str = "answer",
    ) -> None:
        if (study is None) == (file is None):
            raise SpecError(
                "replay takes answers from a study or from a file",
                expected="either `study` or `file`",
                found="both" if study is not None else "neither",
            )
        self._source: StoredAnswers | AnswerFile
        if study is not None:
            self._source = StoredAnswers(Path(study).expanduser(), model)
            self.abilities = Abilities(
                1_000_000, constraint=True, seed=True, plain=True, schema=True, decoding=_HEEDED,
                continues=True, local=True,
            )  # fmt: skip
        else:
            self._source = AnswerFile(Path(str(file)).expanduser(), answer)
        self._conditions: Sequence[Condition] = ()
        self._items: Sequence[str] = ()

    def identity(self) -> str:
        """A hash of the answers."""
        return f"replay {self._source.digest}"

    def provenance(self) -> Mapping[str, Any]:
        """Where the answers come from, and what the other study knows about its model."""
        return {"engine": "replay", **self._source.facts}

    def place(self, conditions: Sequence[Condition], items: Sequence[str]) -> None:
        """Receive the conditions and items that a call's positions refer to."""
        self._conditions, self._items = conditions, items

    def answer(self, requests: Iterable[Request]) -> Iterator[Answered]:
        """Look up one request after another."""
        for request in requests:
            yield request, [self._found(request, call) for call in request.calls]

    def _found(self, request: Request, call: Call) -> Response:
        condition = self._conditions[call.condition] if self._conditions else None
        item = self._items[call.item] if self._items else None
        response = self._source.find(request, call.repeat, condition, item)
        if isinstance(response, str):
            return error_response(f"no stored answer: {response}", latency=0.0)
        return response

    def close(self) -> None:
        """Close the other study's file."""
        self._source.close()
