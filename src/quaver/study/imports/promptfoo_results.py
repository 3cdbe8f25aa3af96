"""The results of promptfoo, JSON or JSON Lines, as rows of answers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from quaver.study.imports.columns import is_called, plain

_SAY_GOLD: Final = ("equals", "iequals", "contains", "icontains", "starts-with")
"""The assertions whose value is the answer that a test expects."""
_LONGEST_NAME: Final = 60
"""Characters of a prompt's label, beyond which it is the prompt's text and no name of it."""


def rows_of_results(results: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """A row an answer. A test's variables make the item, so that what ``--repeat`` asked again is a repeat.

    A provider's settings are never read: with JSON Lines, promptfoo writes its key there.
    """
    placed = sorted(results, key=lambda one: (one["testIdx"], one["promptIdx"]))
    tests = _names_of_tests(placed)
    prompts: dict[str, str] = {}
    asked = Counter[tuple[str, ...]]()
    for one in placed:
        provider, label = one["provider"], one["prompt"]["label"]
        is_name = len(label) <= _LONGEST_NAME and "{{" not in label and "\n" not in label
        variant = prompts.setdefault(label, label if is_name else f"prompt {len(prompts) + 1}")
        place = (tests[_variables(one)], variant, provider.get("label") or provider["id"])
        output = (one.get("response") or {}).get("output")
        row = plain(one.get("namedScores", {})) | plain(one["vars"])
        row |= dict(zip(("item", "variant", "model"), place, strict=True))
        row |= {
            "prompt": label,
            "repeat": asked[place],
            "answer": output if isinstance(output, str) or output is None else json.dumps(output),
            "score": None if one.get("error") and output is None else one["score"],
        }
        if (gold := _expected(one)) is not None:
            row["gold"] = gold
        asked[place] += 1
        yield row


def _variables(one: Mapping[str, Any]) -> str:
    return json.dumps(one["vars"], sort_keys=True)


def _names_of_tests(results: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """What the tests are called: by a variable that is called as ids are, or by their numbers."""
    tests = {_variables(one): one["vars"] for one in results}
    for name in next(iter(tests.values()), ()):
        ids = [str(given.get(name, "")) for given in tests.values()]
        if is_called("item", name) and len(set(ids)) == len(tests):
            return dict(zip(tests, ids, strict=True))
    return {test: f"test {number}" for number, test in enumerate(tests, start=1)}


def _expected(one: Mapping[str, Any]) -> str | None:
    """The answer that the test's first assertion of a text expects."""
    for part in (one.get("gradingResult") or {}).get("componentResults") or ():
        said = part.get("assertion") or {}
        if said.get("type") in _SAY_GOLD:
            value = (part.get("metadata") or {}).get("renderedAssertionValue", said["value"])
            return value if isinstance(value, str) else None
    return None
