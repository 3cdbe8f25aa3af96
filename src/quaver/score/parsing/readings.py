"""The readings of evaluators: a label, ``ambiguous``, ``no_label``, and tied scores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from quaver.core.annotations import Reading


# Few readings differ, so each is made once and shared by millions of answers.
@lru_cache(maxsize=4096)
def valid(label: str, reason: str | None = None) -> Reading:
    """A label was read; ``reason`` is given if a fallback rule found it."""
    return Reading(label, "valid", reason)


@lru_cache(maxsize=4096)
def no_label(reason: str) -> Reading:
    """No label was read, and why."""
    return Reading(None, "no_label", reason)


@lru_cache(maxsize=4096)
def _ambiguous(reason: str) -> Reading:
    return Reading(None, "ambiguous", reason)


def ambiguous(labels: Iterable[str], how: str = "found") -> Reading:
    """Several labels were read: their codes, and how.

    >>> ambiguous(["pos", "neg"]).reason
    '2 labels found: neg, pos'
    """
    codes = sorted(set(labels))
    return _ambiguous(f"{len(codes)} labels {how}: {', '.join(codes)}")


def tied(labels: Iterable[str], probabilities: Mapping[str, float]) -> Reading:
    """The answer is ``valid`` but prefers no label.

    >>> tied(["pos", "neg"], {"pos": 0.5, "neg": 0.5}).reason
    '2 labels share the highest score: neg, pos'
    """
    codes = sorted(set(labels))
    reason = f"{len(codes)} labels share the highest score: {', '.join(codes)}"
    return Reading(None, "valid", reason, probabilities=probabilities)
