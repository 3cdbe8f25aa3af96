"""Texts that are nearly the same: copies, retweets, a template filled in twice, a question asked again.

Two texts are alike where half of their *shingles* (stretches of eight characters) are shared: Jaccard's J =
shared / all of both >= 0.5. In a text of fifteen words, two may differ. Shingles that more than a fifth of
the texts contain say nothing about which texts belong together, and are left out; where they make up most
of a text, that text counts as a filled-in form, and only an identical one is its copy.

J is estimated by one-permutation hashing (Li, Owen & Zhang 2012, NIPS 25; Shrivastava & Li 2014, UAI 30): a
hash throws each shingle into one of 128 bins, and the smallest hash of every bin is the text's signature. Two
texts with similarity J agree in a share J of their bins. Only texts that agree in three neighbouring bins are
compared, so the time grows with the number of texts and not with its square. Nothing is drawn at random: the
same texts always give the same groups.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from quaver.core.records import Item

Hashes = NDArray[np.uint64]
Ints = NDArray[np.int64]

_SHINGLE = 8
_ALIKE = 0.5
_STRAY = 0.3
"""A text that is less like the first of its group has been chained to it, and leaves the group."""

_COMMON = 0.2
_SAMPLED = 300
"""The texts, spread over all, in which common shingles are counted."""

_FEWEST = 20
"""Of fewer texts it is not known which shingles are common."""

_BINS, _ROWS = 128, 3
_LONGEST = 1500
"""Characters of a text that are compared."""

_BLOCK = 2**22
"""Characters that are hashed at a time."""

_TABLE = 22
_NOT_A_WORD = re.compile(r"[\W_]+")
_EMPTY = np.uint32(2**32 - 1)


NEAR_DUPLICATES = "near_duplicates"
"""The name of these groups, where a study takes them for its own."""


def with_near_duplicates(items: Sequence[Item], texts: Sequence[str]) -> list[Item]:
    """The items, each in the group of those whose texts are nearly the same as its own."""
    groups = enumerate(near_duplicates(texts).tolist())
    names = [f"text {group}" if group >= 0 else f"item {index}" for index, group in groups]
    return [
        replace(item, groups={**item.groups, NEAR_DUPLICATES: name})
        for item, name in zip(items, names, strict=True)
    ]


def near_duplicates(texts: Sequence[str]) -> Ints:
    """The groups of texts that are nearly the same.

    Case, punctuation and white space do not count.

    Returns:
        Each text's group, from 0 in the order of their first texts; -1 for a text that is like no other.

    >>> near_duplicates(["The vote is on Monday.", "Taxes fall.", "RT the vote is on Monday"]).tolist()
    [0, -1, 0]
    """
    words = (_NOT_A_WORD.sub(" ", text[:_LONGEST].casefold()).strip() for text in texts)
    plain = [f" {text} ".ljust(_SHINGLE) for text in words]
    same = _first_alike(plain)
    firsts = np.unique(same)
    distinct = [plain[at] for at in firsts]
    signatures, compared = _signatures(distinct, _common(distinct))
    leaders = firsts[_joined(signatures, compared)]
    return _numbered(leaders[np.searchsorted(firsts, same)])


def _first_alike(texts: Sequence[str]) -> Ints:
    """For each text the place of the first that is the same."""
    first: dict[str, int] = {}
    return np.array([first.setdefault(text, index) for index, text in enumerate(texts)], np.int64)


def _numbered(leaders: Ints) -> Ints:
    """Groups from 0 by the place of their first text; -1 for those of one text."""
    _, group, sizes = np.unique(leaders, return_inverse=True, return_counts=True)
    number = np.cumsum(sizes > 1) - 1
    return np.where(sizes[group] > 1, number[group], -1).astype(np.int64)


def _shingles(texts: Sequence[str]) -> Iterator[tuple[Hashes, Ints]]:
    """The hashes of all stretches of eight characters and each one's text, a block of texts at a time."""
    lengths = np.array([len(text) for text in texts], np.int64)
    ends = np.cumsum(lengths)
    start = 0
    while start < len(texts):
        before = ends[start] - lengths[start]
        stop = max(start + 1, int(np.searchsorted(ends, before + _BLOCK, "right")))
        letters = np.frombuffer("".join(texts[start:stop]).encode("utf-32-le", "surrogatepass"), np.uint32)
        owner = np.repeat(np.arange(start, stop), lengths[start:stop])
        hashes = np.zeros(max(letters.size - _SHINGLE + 1, 0), np.uint64)
        for index in range(_SHINGLE):
            hashes = hashes * np.uint64(0x9E3779B97F4A7C15) + letters[index : index + hashes.size]
        whole = owner[: hashes.size] == owner[_SHINGLE - 1 :]
        yield _mixed(hashes[whole]), owner[: hashes.size][whole]
        start = stop


def _mixed(hashes: Hashes) -> Hashes:
    """Each bit of a hash made to depend on all others (the finaliser of splitmix64)."""
    hashes = (hashes ^ (hashes >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    hashes = (hashes ^ (hashes >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return hashes ^ (hashes >> np.uint64(31))


def _common(texts: Sequence[str]) -> NDArray[np.bool_]:
    """By the first bits of its hash, whether a shingle is in more than a fifth of the texts."""
    table = np.zeros(2**_TABLE, bool)
    if len(texts) < _FEWEST:
        return table
    some = [texts[at] for at in np.unique(np.linspace(0, len(texts) - 1, _SAMPLED).astype(np.int64))]
    each = []
    for hashes, owner in _shingles(some):
        edges = np.flatnonzero(np.diff(owner)) + 1
        each += [np.unique(one) for one in np.split(hashes, edges)]
    known, counts = np.unique(np.concatenate(each), return_counts=True)
    table[known[counts > _COMMON * len(some)] >> np.uint64(64 - _TABLE)] = True
    return table


def _signatures(
    texts: Sequence[str], common: NDArray[np.bool_]
) -> tuple[NDArray[np.uint32], NDArray[np.bool_]]:
    """Each text's smallest hash in every bin, and whether it has enough of its own to be compared."""
    found = np.full(len(texts) * _BINS, _EMPTY, np.uint32)
    every, own = np.zeros(len(texts), np.int64), np.zeros(len(texts), np.int64)
    for hashes, owner in _shingles(texts):
        kept = ~common[hashes >> np.uint64(64 - _TABLE)]
        every += np.bincount(owner, minlength=len(texts))
        hashes, owner = hashes[kept], owner[kept]
        own += np.bincount(owner, minlength=len(texts))
        place = owner * _BINS + (hashes & np.uint64(_BINS - 1)).astype(np.int64)
        np.minimum.at(found, place, (hashes >> np.uint64(10)).astype(np.uint32))
    return _filled(found.reshape(-1, _BINS)), own * 2 > every


def _filled(signatures: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Empty bins take the value of the next full one, changed by how far away it is."""
    full = np.concatenate([signatures, signatures], axis=1) != _EMPTY
    positions = np.where(full, np.arange(2 * _BINS), 2 * _BINS)
    following = np.minimum.accumulate(positions[:, ::-1], axis=1)[:, ::-1][:, :_BINS]
    away = (following - np.arange(_BINS)).astype(np.uint32)
    taken = np.take_along_axis(signatures, following % _BINS, axis=1)
    return taken + away * np.uint32(0x9E3779B1)


def _joined(signatures: NDArray[np.uint32], compared: NDArray[np.bool_]) -> Ints:
    """For each text the place of the first text of its group."""
    one, other = _candidates(signatures, np.flatnonzero(compared))
    alike = _agreement(signatures, one, other) >= _ALIKE
    size = len(signatures)
    links = scipy.sparse.coo_array((np.ones(alike.sum()), (one[alike], other[alike])), (size, size))
    count, group = scipy.sparse.csgraph.connected_components(links, directed=False)
    first = np.full(count, size, np.int64)
    np.minimum.at(first, group, np.arange(size))
    leader = first[group]
    stray = _agreement(signatures, leader, np.arange(size)) < _STRAY
    return np.where(stray, np.arange(size), leader)


def _candidates(signatures: NDArray[np.uint32], rows: Ints) -> tuple[Ints, Ints]:
    """Pairs of texts that agree in three neighbouring bins: each with the first such, and the one before."""
    pairs: list[NDArray[Any]] = []
    size = np.int64(len(signatures))
    for start in range(0, _BINS - _ROWS + 1, _ROWS):
        key = np.zeros(rows.size, np.uint64)
        for index in range(start, start + _ROWS):
            key = _mixed(key + signatures[rows, index])
        order = np.argsort(key, kind="stable")
        fresh = np.concatenate([[True], key[order][1:] != key[order][:-1]])[: rows.size]
        head = np.maximum.accumulate(np.where(fresh, np.arange(rows.size), 0))
        late = np.flatnonzero(~fresh)
        member = rows[order[late]]
        pairs += [rows[order[head[late]]] * size + member, rows[order[late - 1]] * size + member]
    found = np.unique(np.concatenate(pairs))
    return found // size, found % size


def _agreement(signatures: NDArray[np.uint32], one: Ints, other: Ints) -> NDArray[np.float64]:
    """In what share of the bins two texts agree, for each pair."""
    shares = [
        (
            signatures[one[index : index + _BLOCK // _BINS]]
            == signatures[other[index : index + _BLOCK // _BINS]]
        ).mean(1)
        for index in range(0, one.size, _BLOCK // _BINS)
    ]
    return np.concatenate([np.zeros(0), *shares])
