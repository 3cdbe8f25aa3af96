"""``frozen.json``: what was written down and when, as a chain of entries that each seal the one before.

An entry is never changed. A study that has to change is frozen again, with a reason: the new entry names the
digest of the one before, so that the first cannot be exchanged without changing every digest after it. The
digest of an entry is the SHA-256 of the entry without its digest, as JSON with sorted keys and no spaces::

    json.dumps(entry, sort_keys=True, separators=(",", ":"), ensure_ascii=False)

Whoever knows a digest (from a preregistration, a commit, a letter) can tell offline that a bundle holds the
very entry that was written then.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from quaver.design.frozen.frozen_parts import Parts, digest


@dataclass(frozen=True, slots=True)
class Before:
    """What was known already when a study was frozen.

    Attributes:
        answers: Answers that were stored.
        gold: Items with a gold label.
    """

    answers: int
    gold: int


@dataclass(frozen=True, slots=True)
class Entry:
    """One freeze.

    Attributes:
        at: When, in UTC, as the clock of the machine had it.
        quaver: The version of Quaver.
        study: The study's name.
        before: What was known already.
        columns: The items' columns that are fixed.
        covariates: The columns that groups and conclusions are about.
        parts: The design (`frozen_parts`).
        because: Why it was frozen again; empty for the first.
        previous: The digest of the entry before; empty for the first.
        digest: Of this entry.
    """

    at: str
    quaver: str
    study: str
    before: Before
    columns: tuple[str, ...]
    covariates: tuple[str, ...]
    parts: Parts
    because: str = ""
    previous: str = ""
    digest: str = ""

    @property
    def rule(self) -> str:
        """The decision rule."""
        return str(self.parts.get("decision", {}).get("rule", ""))

    def document(self) -> dict[str, Any]:
        """The entry for JSON, sealed with its digest."""
        bare = {name: value for name, value in asdict(self).items() if name != "digest"}
        return bare | {"digest": digest(bare)}


def entries_in(document: Mapping[str, Any]) -> list[Entry]:
    """The entries of a file, oldest first."""
    found = []
    known = [one.name for one in fields(Entry)]
    for one in document.get("frozen", ()):
        given = {name: one[name] for name in known if name in one} | {"before": Before(**one["before"])}
        given |= {name: tuple(one[name]) for name in ("columns", "covariates")}
        found.append(Entry(**given))
    return found


def broken(document: Mapping[str, Any]) -> list[str]:
    """What is wrong with the chain of a file's entries, in words; nothing where it holds.

    >>> broken({"frozen": [{"at": "2026-11-22", "previous": "", "digest": "0"}]})
    ['the entry of 2026-11-22 was changed after it was sealed']
    """
    found, previous = [], ""
    for one in document.get("frozen", ()):
        bare = {name: value for name, value in one.items() if name != "digest"}
        if digest(bare) != one["digest"]:
            found.append(f"the entry of {one['at']} was changed after it was sealed")
        if one["previous"] != previous:
            found.append(f"the entry of {one['at']} does not follow the one before it")
        previous = one["digest"]
    return found


def with_entry(document: Mapping[str, Any], new: Entry) -> dict[str, Any]:
    """The document with a new entry behind those that it has, which stay as they are."""
    return {"format": 1, "frozen": [*document.get("frozen", ()), new.document()]}
