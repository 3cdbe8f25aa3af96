"""The shards of a study: folders in its own, each with a store, read as one.

A shard is run by a process of its own, perhaps on another machine, and knows nothing of the others. Whoever
reads the study takes in what the shards have meanwhile. A database that another machine is writing is not
touched: SQLite's locks do not reach that far.
"""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from quaver.collect.store.batch_rows import StoredBatches
from quaver.collect.store.merged_stores import take_from
from quaver.collect.store.read_only import journal, may_write
from quaver.collect.store.response_store import Store
from quaver.collect.store.store_lock import sole_writer_if_free
from quaver.core.records import Call
from quaver.design.calls.call_plan import Plan
from quaver.design.calls.experiment import Experiment
from quaver.design.calls.work_order import Share
from quaver.errors import StoreError
from quaver.study.sources.study_folder import StudyFolder

ShardState = Literal["missing", "running", "stopped", "finished"]

FOLDER = "shards"
"""The folder of all shards in a study's own."""

_TAKEN = "shard "
"""How the notes about shards begin in the table ``meta``."""

_ALIVE = 60.0
"""Seconds after which a shard that wrote nothing down is not taken for running, where locks do not tell."""


@dataclass(frozen=True, slots=True)
class ShardStatus:
    """How far one shard is.

    Attributes:
        shard: Its number and how many there are: ``3/8``.
        state: ``missing`` if it never ran, ``running``, ``stopped`` before its end, ``finished``.
        calls: Its calls; 0 where it is missing.
        answered: How many of them are answered, as it last wrote down.
        ended: What stopped it: ``interrupted``, a cap of the budget; None if it was killed.
        host: The machine that ran it last.
        seen: When it last wrote something down, in seconds since 1970.
    """

    shard: str
    state: ShardState
    calls: int = 0
    answered: int = 0
    ended: str | None = None
    host: str = ""
    seen: float | None = None


def _status(facts: Mapping[str, Any], running: bool) -> ShardStatus:
    ended = facts["ended"]
    state: ShardState = "running" if running else "finished" if ended == "finished" else "stopped"
    return ShardStatus(
        facts["shard"], state, facts["calls"], facts["answered"], ended, facts["host"], facts["seen"]
    )


class _Shard:
    """One shard's folder."""

    def __init__(self, path: Path) -> None:
        self.path, self.files = path, StudyFolder(path)
        self.facts = self.files.read("shard.json")

    @property
    def share(self) -> Share:
        return Share.read(self.facts["shard"])

    @property
    def stamp(self) -> list[list[int]]:
        """Changes whenever its store does."""
        store = self.files.responses
        result = []
        for file in (store, journal(store), store.with_suffix(".spill")):
            about = file.stat() if file.exists() else None
            result.append([about.st_size, about.st_mtime_ns, about.st_ctime_ns] if about else [])
        return result

    @property
    def is_here(self) -> bool:
        """Whether this machine ran it last."""
        return bool(self.facts["host"] == socket.gethostname())

    def runs(self) -> bool:
        """Whether a process is collecting for it, on whatever machine."""
        if not may_write(self.files.responses):
            return self.facts["ended"] is None and time.time() - self.facts["seen"] < _ALIVE
        with sole_writer_if_free(self.path) as free:
            return not free


class Shards:
    """The shards in a study's folder.

    Args:
        folder: The study's folder.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / FOLDER
        self._found = [_Shard(path.parent) for path in sorted(self._path.glob("*/shard.json"))]

    def __len__(self) -> int:
        return len(self._found)

    @property
    def stamps(self) -> dict[str, list[list[int]]]:
        """Change whenever a shard has something new."""
        return {shard.path.name: shard.stamp for shard in self._found if shard.files.responses.exists()}

    @property
    def lock(self) -> dict[str, Any]:
        """The first one's ``study.lock.json``; empty where there is none."""
        return next((lock for shard in self._found if (lock := shard.files.read("study.lock.json"))), {})

    def check(self, name: str, fingerprint: str) -> None:
        """Find shards that cannot be one study."""
        other = [shard for shard in self._found if shard.facts["fingerprint"] != fingerprint]
        if other:
            named = ", ".join(f"{shard.share} of {shard.facts['study']!r}" for shard in other)
            raise StoreError(
                "shards of another study, or of this one before its file or its models changed",
                where=str(self._path),
                expected=f"shards of {name!r} as it is now",
                found=named,
                fix="run them again with this study file, which asks only what is missing; "
                f"or move their folders out of {FOLDER}/",
            )
        by_version: dict[str, list[str]] = {}
        for shard in self._found:
            by_version.setdefault(shard.facts["quaver"], []).append(str(shard.share))
        if len(by_version) > 1:
            raise StoreError(
                "different versions of Quaver ran these shards",
                where=str(self._path),
                expected="one version",
                found="; ".join(f"{version}: {', '.join(shards)}" for version, shards in by_version.items()),
                fix="run the older ones again with the newer version; nothing that is stored is asked again",
            )

    def check_idle(self) -> None:
        """Find shards that are being asked, or have calls out in batches, while the whole study is to be."""
        for shard in self._found:
            if shard.runs():
                raise StoreError(
                    "a shard of this study is running",
                    where=str(shard.path),
                    found=f"shard {shard.share} on {shard.facts['host']}, process {shard.facts['process']}",
                    fix="wait until it has ended, or run the shards that are missing",
                )
            if shard.files.responses.exists():
                with closing(Store(shard.files.responses)) as store:
                    out = sum(StoredBatches(store).calls_out().values())
                if out:
                    raise StoreError(
                        "a shard of this study has calls out in batches",
                        where=str(shard.path),
                        found=f"{out:,} calls of shard {shard.share}",
                        fix=f"collect them with `quaver run --shard {shard.share}` first",
                    )

    def take_in(self, store: Store) -> int:
        """Take in by key what the shards have and the store lacks; returns how many answers that were.

        The study's folder must be locked, and its store and the shards checked.
        """
        return sum(self._take(shard, store) for shard in self._new(store))

    def has_news(self, store: Store) -> bool:
        """Whether a shard has what may not have been taken in."""
        return bool(self._new(store))

    def _new(self, store: Store) -> list[_Shard]:
        taken = taken_shards(store)
        return [
            shard
            for shard in self._found
            if shard.files.responses.exists() and taken.get(shard.path.name, {}).get("stamp") != shard.stamp
        ]

    @staticmethod
    def _take(shard: _Shard, store: Store) -> int:
        path, name = shard.files.responses, shard.path.name
        if not may_write(path):
            return take_from(store, name, path)
        with sole_writer_if_free(shard.path) as free:
            if not free:
                return take_from(store, name, path) if shard.is_here else 0
            with closing(Store(path)) as part:
                part.take_in()
                shard.facts["answered"] = part.calls.counts().answered
            result = take_from(store, name, path)
            store.note(f"{_TAKEN}{name}", json.dumps({"stamp": shard.stamp, "status": shard.facts}))
            return result

    def statuses(self, store: Store | None) -> Sequence[ShardStatus]:
        """Every shard, those that are missing among them."""
        known: dict[Share, ShardStatus] = {}
        for taken in taken_shards(store).values() if store else ():
            known[Share.read(taken["status"]["shard"])] = _status(taken["status"], running=False)
        for shard in self._found:
            before = known.get(shard.share)
            now = _status(shard.facts, shard.runs())
            if before is None or now.state == "running" or now.answered >= before.answered:
                known[shard.share] = now
        every = {Share(of, number) for of in {one.of for one in known} for number in range(1, of + 1)}
        return [known.get(one, ShardStatus(str(one), "missing")) for one in sorted(every)]


def taken_shards(store: Store) -> dict[str, dict[str, Any]]:
    """What a study's store notes about shards that are over, by their folders' names.

    ``stamp`` is what their files looked like when all of them was taken in, so that they are looked at again
    only when they have changed; ``status`` is what they said of themselves.
    """
    sql = "SELECT name, value FROM meta WHERE name LIKE ? || '%'"
    return {name.removeprefix(_TAKEN): json.loads(value) for name, value in store.rows(sql, (_TAKEN,))}


class PlacedCalls:
    """The calls of one design, or of a share of it, and the answers to them in a store.

    Attributes:
        plan: Every call.
    """

    def __init__(
        self,
        experiment: Experiment,
        served: Mapping[str, Mapping[str, Any]],
        fingerprint: str,
        has: Callable[[int, int], bool] | None = None,
    ) -> None:
        self._experiment, self._fingerprint = experiment, fingerprint
        self.plan = Plan(
            experiment,
            {name: str(facts["identity"]) for name, facts in served.items()},
            {name: int(facts.get("logprobs", 0)) for name, facts in served.items()},
            has=has,
        )

    def are_in(self, store: Store) -> bool:
        """Whether the store has the calls of this design."""
        return store.calls.placed(self._fingerprint)

    def place(self, store: Store) -> None:
        """Make the store's calls those of this design."""
        if self.are_in(store):
            return
        counts = store.calls.counts()
        calls: Iterator[Call] = iter(())
        if counts.answered + counts.unplaced:
            names = self.plan.identities
            calls = (call for name in names for call in self.plan.calls(name, store.answered))
        ids = [item.id for item in self._experiment.items]
        store.calls.place(self._fingerprint, self._experiment.conditions, ids, calls)
