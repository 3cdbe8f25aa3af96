"""One simulated history of a study in shards: runs and merges that are killed, repeated, and done elsewhere.

Each shard is a run into a folder of its own, to which all may happen that happens to a run; merges are killed
at any line; and a shard's folder is removed and asked anew on a machine that knows nothing of the study.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.simulation.history import Broken, History, Rows, no_garbage, stored_rows
from tests.simulation.server import Attempt

from quaver.errors import QuaverError
from quaver.study.merging import merge
from quaver.study.session import Study

__all__ = ["ShardHistory"]


class ShardHistory(History):
    """What happens to a study in shards, all of it decided by a seed.

    Args:
        seed: Decides everything.
        home: An empty folder.

    Attributes:
        happened: How often shards were run, merged, killed and asked anew.
    """

    traced = (
        *History.traced,
        "/quaver/study/sources/shards.py",
        "/quaver/study/sources/study_file_source.py",
        "/quaver/study/merging.py",
        "/quaver/study/collection/shard_run.py",
    )

    def __init__(self, seed: int, home: Path) -> None:
        super().__init__(seed, home)
        self._of, self._shard = self.draw.randint(1, 3), ""
        self._owed_by: dict[str, set[bytes]] = {}

    def go(self) -> None:
        """Live through it, and compare the end with a study to which nothing happened.

        Raises:
            Broken: Something does not hold.
        """
        with no_garbage(), self.world.entered():
            for _ in range(self.draw.randint(3, 8)):
                self.draw.choices((self._run_one, self._merge, self._anew), (6, 4, 1))[0]()
            self._finish()

    def _run_one(self) -> None:
        self._shard = f"{self.draw.randint(1, self._of)}/{self._of}"
        self._say("shard", shard=self._shard)
        self._owed = self._owed_by.setdefault(self._shard, set())
        self._run()
        self._owed_by[self._shard], self._owed, self._shard = self._owed, set(), ""

    def _merge(self) -> None:
        if self.draw.random() < 0.6:
            self._kill_at = self.draw.randint(1, self.draw.choice((30, 300, 1500)))
        self._say("merge", killed_at=self._kill_at)
        try:
            with self._alive():
                merge(self._opened())
        except QuaverError as error:
            if "no shards" not in error.problem:
                raise
        self._kill_at = 0
        self._check([], set(), False, None, killed=True)

    def _anew(self) -> None:
        """A shard's folder is removed, asked anew on another machine, and copied back."""
        self._shard = f"{self.draw.randint(1, self._of)}/{self._of}"
        self._say("anew", shard=self._shard)
        shutil.rmtree(self._part(self._shard), ignore_errors=True)
        here, self.folder = self.folder, self._home / f"elsewhere-{len(self.told)}"
        with self._alive():
            self._opened().run(requests=self.draw.choice((None, 2)))
        if self._part(self._shard).is_dir():
            into = here / self._part(self._shard).relative_to(self.folder)
            shutil.copytree(self._part(self._shard), into)
        self.folder, self._shard = here, ""
        self._meant |= {key: meant for one in self.server.attempts for key, meant in one.asked}
        self._owed_by.clear()
        self._kept = self._rows()
        # What was answered must not be asked again; an error may be.
        self._written &= {key for key, row in self._kept.items() if row[0] != "error"}

    def _part(self, shard: str) -> Path:
        return self.folder / "shards" / shard.replace("/", "-of-")

    def _second(self) -> None:
        """Another process that runs a shard waits for it, which is not looked at here."""

    def _watching(self, happens: str, study: Study) -> Callable[[Any], None]:
        return super()._watching("nothing" if happens == "second" else happens, study)

    def _opened(self) -> Study:
        return Study.open(self.spec, folder=self.folder, shard=self._shard or None)

    def _die(self, power: bool) -> None:
        super()._die(power=False)

    def _rows(self) -> Rows:
        """The answers of the whole study and of its shards; what the study's own store has comes first.

        An error of the study's own store is none that a shard knows of: its folder may be another by now.
        """
        found: Rows = {}
        for store in (self.folder, *sorted(self.folder.glob("shards/*"))):
            for key, row in stored_rows(store / "responses.db").items():
                if row[0] == "error" and store == self.folder:
                    continue
                if key not in found or found[key][0] == "error" != row[0]:
                    found[key] = row
        return found

    def _check_caps(self, attempts: list[Attempt]) -> None:
        """A shard has a share of every cap, which the study's own tests look at."""

    def _finish(self) -> None:
        """All shards end in peace; merged, they are the whole study, of which nothing is left to ask."""
        self.server.faults = self.server.odd = 0.0
        self.spec.pop("budget", None)
        for number in range(1, self._of + 1):
            self._shard = f"{number}/{self._of}"
            with self._alive():
                ended = self._opened().run(retry_errors=True)
            if ended.ended != "finished":
                raise Broken(f"a shard does not come to its end: {ended}")
        self._shard = ""
        self._kept = self._rows()
        self._owed.clear()
        before = len(self.server.attempts)
        for _ in range(2):
            with self._alive():
                merged = merge(self._opened())
            if merged.missing or merged.unfinished:
                raise Broken(f"finished shards leave calls out: {merged}")
        with self._alive():
            asked = self._opened().run(retry_errors=True)
        if len(self.server.attempts) > before or asked.done:
            raise Broken(f"merged shards are asked again: {asked}")
        super()._finish()
