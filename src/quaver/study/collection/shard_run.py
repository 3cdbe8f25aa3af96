"""A shard's run: what the study's folder has already is taken over, and a record is kept of how far it is."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from importlib.metadata import version
from typing import Final

from quaver.collect.run.progress import Outcome, Progress
from quaver.collect.store.read_only import may_write
from quaver.collect.store.response_store import Store
from quaver.collect.store.reuse import reuse
from quaver.collect.store.store_lock import sole_writer
from quaver.core.records import Request, Response
from quaver.study.sources.shards import Shards
from quaver.study.sources.study_file_source import StudyFile

WAIT: Final = 120.0
"""Seconds that a shard waits for a process that reads its answers, or for one that writes the whole study."""

_EVERY = 10.0
"""Seconds between two records of how far a shard is."""


class ShardRecord:
    """What a run keeps in ``shard.json``; of a whole study nothing.

    It first takes over what was collected elsewhere: by the whole study for a shard, by shards for a study.

    Args:
        study: The study, or a shard of it, whose folder is locked.
        store: Its store, with its calls in place.

    Raises:
        StoreError: Another process is collecting for the whole study or, for that, for a shard; or the shards
            do not belong together.
    """

    def __init__(self, study: StudyFile, store: Store) -> None:
        self._study, self._store, self._written = study, store, 0.0
        if study.share is None:
            shards = Shards(study.folder)
            if shards:
                shards.check(study.spec.name, study.fingerprint)
                shards.check_idle()
                study.take_in(shards, store)
        else:
            self._write(None)
            _take_over(study, store)

    def watching(self, watch: Callable[[Progress], None]) -> Callable[[Progress], None]:
        """The same, and what is answered is written down now and then."""
        if self._study.share is None:
            return watch

        def both(progress: Progress) -> None:
            if time.monotonic() - self._written >= _EVERY:
                self._write(None)
            watch(progress)

        return both

    def end(self, outcome: Outcome) -> Outcome:
        """Write down how the run ended."""
        if self._study.share is not None:
            self._write(outcome.ended)
        return outcome

    def _write(self, ended: str | None) -> None:
        study = self._study
        self._written = time.monotonic()
        study.files.write(
            "shard.json",
            {
                "shard": str(study.share),
                "study": study.spec.name,
                "fingerprint": study.fingerprint,
                "quaver": version("quaver"),
                "host": socket.gethostname(),
                "process": os.getpid(),
                "calls": study.calls - self._store.calls.unfollowed(),
                "answered": self._store.calls.counts().answered,
                "ended": ended,
                "seen": time.time(),
            },
        )


def _take_over(study: StudyFile, store: Store) -> None:
    """Copy answers to the shard's calls that the study's folder has, so that they are not asked again."""
    whole = study.home.responses
    if not whole.is_file():
        return

    def stored(keys: Sequence[bytes]) -> Mapping[bytes, Response]:
        return store.answered(keys, errors=False)  # an error here gives way to an answer there

    def requests(model: str) -> Iterator[Request]:
        return study.plan.requests(model, stored)

    with sole_writer(study.home.path, WAIT) if may_write(whole) else nullcontext():
        for model in study.served:
            while reuse(requests(model), store, {str(study.home.path): study.home.path}, own=True):
                if not any(follow_up.quotes_answer for follow_up in study.experiment.follow_ups.values()):
                    break  # otherwise once more, for the follow-ups of what was taken
