"""Every error that Quaver raises on purpose, as one tree.

::

    QuaverError
    ├── SpecError            the study file is wrong or contradicts itself
    ├── ItemError            the items (texts, ids, gold labels) are not usable
    ├── ModelError           a model cannot be used, or did not answer
    │   ├── MissingKey         its key is not in the environment
    │   ├── Unavailable        it cannot be reached, or its file is missing
    │   ├── RateLimited        it asks for fewer requests
    │   └── ContextOverflow    the prompt is longer than its context
    ├── StoreError           the response store cannot be read or written
    ├── UnknownName          no plug-in, column or field of that name (the nearest is suggested)
    └── MeasureError         the annotations do not allow this measure

Each says where the problem is, what was expected, what was found, and what to do. Foreign errors are
translated at one boundary each: those of YAML and pydantic in ``study_file``, of table readers in
``table_files``, of an engine in its file under ``models``, of SQLite in ``database``.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from quaver._secrets import without_key_values

__all__ = [
    "ContextOverflow",
    "ItemError",
    "MeasureError",
    "MissingKey",
    "ModelError",
    "QuaverError",
    "RateLimited",
    "SpecError",
    "StoreError",
    "Unavailable",
    "UnknownName",
    "nearest",
]

_MOST_NAMES = 60
"""The most names that an error lists."""

_LONGEST = 120
"""The most characters of an unknown name in a message."""

_LONGEST_TEXT = 1000
"""The most characters of what was found in a message."""


class QuaverError(Exception):
    """An error that the user can fix.

    Args:
        problem: What is wrong, as one clause without a full stop.
        where: The file (and line), the field or the argument.
        expected: What would have been right.
        found: What was there instead.
        fix: What to do now.

    API keys and the credentials in addresses are removed from all of them. The message is ``where: problem``
    on one line, then the other parts, one a line.

    >>> print(SpecError("zero repeats", where="study.yaml:4: repeats", expected="1 or more", found="0"))
    study.yaml:4: repeats: zero repeats
      expected: 1 or more
      found: 0
    """

    def __init__(
        self,
        problem: str,
        *,
        where: str | None = None,
        expected: str | None = None,
        found: str | None = None,
        fix: str | None = None,
    ) -> None:
        self.where = where
        self.problem = without_key_values(problem)
        self.expected = expected and without_key_values(expected)
        self.found = found and without_key_values(found)
        self.fix = fix and without_key_values(fix)
        super().__init__(self.problem)

    def __str__(self) -> str:
        problem, excerpt = _cut(self.problem), _cut(self.found or "")
        where = self.where and without_key_values(self.where)
        lines = [f"{where}: {problem}" if where else problem]
        parts = (("expected", self.expected), ("found", excerpt), ("to do", self.fix))
        lines += [f"  {name}: {text}" for name, text in parts if text]
        return "\n".join(lines)

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows: the message, without Quaver's own lines above it."""
        return [f"{type(self).__name__}: {self}"]


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}…"


class SpecError(QuaverError):
    """The study file is wrong or contradicts itself."""


class ItemError(QuaverError):
    """The items (texts, ids, gold labels) are not usable."""


class ModelError(QuaverError):
    """A model cannot be used, or did not answer."""


class MissingKey(ModelError):
    """The model's key is not in the environment."""


class Unavailable(ModelError):
    """The model cannot be reached, or its file is missing."""


class RateLimited(ModelError):
    """The model asks for fewer requests."""


class ContextOverflow(ModelError):
    """The prompt is longer than the model's context."""


class StoreError(QuaverError):
    """The response store cannot be read or written."""


class MeasureError(QuaverError):
    """The annotations do not allow this measure."""


class UnknownName(QuaverError):
    """Nothing has that name; the nearest one is suggested.

    Args:
        kind: What was looked up, in the singular: ``"model"``, ``"column"``.
        name: The unknown name.
        known: The names that exist.
        where: The file, field or argument that has the name.
        fix: What to do; by default, use the nearest name, or one of them.

    >>> print(UnknownName("measure", "consistancy", ["accuracy", "consistency"]))
    unknown measure 'consistancy'
      expected: one of accuracy, consistency
      found: consistancy
      to do: did you mean 'consistency'?
    """

    def __init__(
        self,
        kind: str,
        name: str,
        known: Iterable[str],
        *,
        where: str | None = None,
        fix: str | None = None,
    ) -> None:
        known = sorted(known)
        name = str(name)[:_LONGEST]
        guess = nearest(name, known)
        instead = "use one of these" if known else "remove it"
        super().__init__(
            f"unknown {kind} {name!r}",
            where=where,
            expected=f"one of {_listed(known)}" if known else f"no {kind} exists here",
            found=name or "''",
            fix=fix or (f"did you mean {guess!r}?" if guess else instead),
        )


def _listed(names: Sequence[str]) -> str:
    more = f", … ({len(names)} in all)" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name most similar to ``name``, or None if none is similar."""
    names_like_it = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return names_like_it[0] if names_like_it else None


_commands: list[bool] = []
"""Holds something while a command runs."""

_OPTION = re.compile(r"""(?<![\w-])--([a-z][a-z-]*)(?:=| (?=["'A-Z]|\S+,\S))?""")
"""An option, and what stands before its value."""

_ARGUMENTS = {"function": "functions=", "measure": "measures=", "yes": "yes=True"}
"""What options are called in Python, where that is not their own name."""


@contextmanager
def on_the_command_line() -> Iterator[None]:
    """While a command runs, errors name its options."""
    _commands.append(True)
    try:
        yield
    finally:
        _commands.pop()


def as_called(text: str | None) -> str | None:
    """A text with the options in it named as the caller wrote them: in Python they are arguments.

    Commands that a text tells to run keep theirs.

    >>> as_called('name the column with --gold, or list --labels "a, b"')
    'name the column with gold=, or list labels="a, b"'
    >>> as_called("quaver gold STUDY --n 200")
    'quaver gold STUDY --n 200'
    """
    if not text or _commands or re.search(r"\b(?:quaver|pip|uv|make|pytest|vllm) |Study\.open\(", text):
        return text
    return re.sub(_OPTION, lambda match: _ARGUMENTS.get(match[1], match[1].replace("-", "_") + "="), text)
