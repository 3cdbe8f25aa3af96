"""The three readings that an evaluator gives: a label, ``ambiguous``, ``no_label``."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from quaver.records import Reading

__all__ = ["ambiguous", "no_label", "valid"]


# Readings are frozen and few are different, so each is made once: millions of answers share them.
@lru_cache(maxsize=4096)
def valid(label: str, reason: str | None = None) -> Reading:
    """A label was read; ``reason`` says why, where a rule of last resort found it."""
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
