"""A simulated disk under a study's folder: it fills up, fails to write, and may tear what was not synced."""

import shutil
import sqlite3
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

__all__ = ["Disk"]

_connect = sqlite3.connect


class Disk:
    """What happens to what a study writes.

    Args:
        draw: Decides what of the file's end is torn.

    Attributes:
        fails: ``""``, ``"full"``, ``"io"`` or ``"unsure"``: what happens from the next commit but
            ``after`` on. ``unsure`` is a commit that is reported as failed, once, and took place.
        after: How many commits go well before that.
        was_hit: Whether anything failed.
    """

    def __init__(self, draw):
        self._draw, self._synced = draw, 0
        self.fails, self.after, self.was_hit = "", 0, False

    @contextmanager
    def entered(self):
        """Stand under SQLite."""
        disk = self

        class Connection(sqlite3.Connection):
            def execute(self, sql, *arguments):
                disk._meets(self, sql)
                done = super().execute(sql, *arguments)
                if sql == "COMMIT":
                    disk._synced = disk._wal_of(self)
                return done

        def connect(*arguments, **named):
            return _connect(*arguments, **{"factory": Connection, **named})

        with patch.object(sqlite3, "connect", connect):
            yield

    def _meets(self, db, sql):
        if not self.fails:
            return
        if sql == "COMMIT":
            if self.after:
                self.after -= 1
                return
            self.was_hit = True
            if self.fails == "unsure":
                self.fails = ""
                sqlite3.Connection.execute(db, "COMMIT")
                raise sqlite3.OperationalError("disk I/O error")
            sqlite3.Connection.execute(db, "ROLLBACK")
            raise sqlite3.OperationalError(
                "database or disk is full" if self.fails == "full" else "disk I/O error"
            )

    @staticmethod
    def _folder_of(db):
        return Path(sqlite3.Connection.execute(db, "PRAGMA database_list").fetchone()[2]).parent

    def _wal_of(self, db):
        wal = self._folder_of(db) / "responses.db-wal"
        return wal.stat().st_size if wal.exists() else 0

    def after_kill(self, folder, into):
        """What is found of a folder when the process has been killed."""
        shutil.copytree(folder, into, ignore=shutil.ignore_patterns("*.db-shm", ".run.*"))

    def after_power_cut(self, folder, into):
        """What is found when the machine went down: a part of what was not synced, some of it torn."""
        self.after_kill(folder, into)
        for name, synced in (("responses.db-wal", self._synced), ("responses.spill", 0)):
            file = into / name
            if file.exists() and file.stat().st_size > synced:
                whole = bytearray(file.read_bytes())
                end = self._draw.randint(synced, len(whole))
                for place in range(synced, end):
                    if self._draw.random() < 0.01:
                        whole[place] ^= 0xFF
                file.write_bytes(whole[:end])
