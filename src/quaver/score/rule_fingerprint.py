"""A fingerprint of the rules by which answers are read; it changes with the evaluators' code."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import cache
from hashlib import blake2b
from pathlib import Path

from quaver.score.parsing.evaluator import Evaluator


def mark_of_rules(evaluators: Iterable[Evaluator]) -> str:
    """A hash of the code that reads answers; a frame made by other code is rebuilt.

    Args:
        evaluators: The evaluators; one from another package counts with its own file.
    """
    theirs = {getattr(sys.modules.get(type(one).__module__), "__file__", None) for one in evaluators}
    own = Path(__file__).parent.rglob("*.py")
    files = {*own, *(Path(file) for file in theirs if file)}
    return _hash_of(tuple(sorted(files)))


@cache
def _hash_of(files: tuple[Path, ...]) -> str:
    """A hash of files, cached, since they do not change during a process."""
    state = blake2b(digest_size=16)
    for file in files:
        state.update(file.read_bytes() if file.is_file() else b"")  # a zipped package has no files
    return state.hexdigest()
