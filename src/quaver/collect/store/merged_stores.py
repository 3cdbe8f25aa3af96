"""Answers of another store of the same study, copied row by row: how shards become one store.

Each group of rows is copied in one transaction together with a note of how far the copy has come, so a copy
that is killed goes on where it was, and one that is repeated adds nothing. A key that is there already counts
once; an answer replaces an error, as everywhere.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from quaver.collect.store.batch_rows import BatchRows
from quaver.collect.store.read_only import copied, live_uri, read_only_uri
from quaver.collect.store.response_tables import INSERT, STORED, SUMMED
from quaver.collect.store.tallies import column_of
from quaver.core.meter import Traffic

NOTED = "shard "
"""How the notes about other stores begin, in the table ``meta``."""

_ROWS = 20_000
"""Responses that are copied together."""

_FOUND = """
INSERT INTO temp.part_found SELECT r.id FROM part.responses r
    LEFT JOIN part.calls c ON c.response = r.id LEFT JOIN part.responses q ON q.id = c.parent
    LEFT JOIN main.responses known ON known.key = r.key
    LEFT JOIN main.responses quoted ON quoted.key = q.key
    WHERE {which} AND (known.id IS NULL OR known.finish = 'error' AND r.finish != 'error')
      AND (quoted.id IS NULL OR quoted.text = q.text)
"""
"""The responses to copy; a follow-up only if the answer that it quotes is the one that counts."""

_PROMPTS = """
INSERT INTO main.prompts SELECT p.id + ?, p.messages, p.checksum FROM part.prompts p
    WHERE p.id IN (SELECT r.prompt FROM temp.part_found f JOIN part.responses r ON r.id = f.id)
"""
_SUMMED = ", ".join(f"r.{name}" for name in SUMMED.split(", "))
_RESPONSES = INSERT.format(
    columns=STORED,
    rows=f"""SELECT r.key, r.prompt + ?, s.own, t.id, r.checksum, {_SUMMED}
    FROM temp.part_found f JOIN part.responses r ON r.id = f.id
    LEFT JOIN temp.part_sources s ON s.theirs = r.source
    LEFT JOIN part.terms u ON u.id = r.terms LEFT JOIN main.terms t ON t.asked = u.asked
    WHERE true ORDER BY r.id""",
)
_CALLS = """
INSERT OR REPLACE INTO main.calls (response, condition, item, repeat, parent)
    SELECT own.id, c.condition, c.item, c.repeat, (SELECT id FROM main.responses WHERE key = q.key)
    FROM temp.part_found f JOIN part.calls c ON c.response = f.id JOIN part.responses r ON r.id = f.id
    JOIN main.responses own ON own.key = r.key LEFT JOIN part.responses q ON q.id = c.parent
"""


class MergedStores(BatchRows):
    """A database that takes in others of the same study."""

    def taken_from(self, name: str) -> dict[str, Any]:
        """What is noted about another store; empty before anything was taken from it."""
        return dict(json.loads(self.noted(f"{NOTED}{name}") or "{}"))

    def all_taken(self) -> dict[str, dict[str, Any]]:
        """The notes about all other stores, by their names."""
        sql = "SELECT name, value FROM meta WHERE name LIKE ? || '%'"
        return {name.removeprefix(NOTED): json.loads(value) for name, value in self.rows(sql, (NOTED,))}

    def note_taken(self, name: str, facts: Mapping[str, Any]) -> None:
        """Add to what is noted about another store."""
        self.note(f"{NOTED}{name}", json.dumps(self.taken_from(name) | dict(facts)))

    def take_from(self, name: str, path: Path) -> int:
        """Copy what another store of the same study has and this one lacks.

        Both must have the calls of the same design in place.

        Args:
            name: The name under which is noted how far the copy has come.
            path: The other store; it may be written meanwhile by a process on this machine.

        Returns:
            How many responses were copied.

        Raises:
            StoreError: One of them cannot be read or written.
        """
        with self._translated(), self._attached(path):
            self._map_sources()
            last = int(self.taken_from(name).get("last", 0))
            highest = int(self._db.execute("SELECT ifnull(max(id), 0) FROM part.responses").fetchone()[0])
            taken = self._take_rows(
                name, f"r.id <= {last} AND r.finish != 'error' AND known.finish = 'error'", {}
            )
            while last < highest:
                until = min(last + _ROWS, highest)
                taken += self._take_rows(name, f"r.id > {last} AND r.id <= {until}", {"last": until})
                last = until
            self._take_traffic(name)
        return taken

    @contextmanager
    def _attached(self, path: Path) -> Iterator[None]:
        """Attach another database, only to be read, as ``part``."""
        copy = None
        uri = live_uri(path) or read_only_uri(path)
        if uri is None:
            copy = copied(path)
            uri = (Path(copy.name) / path.name).as_uri()
        self._db.execute("ATTACH ? AS part", (uri,))
        try:
            self._db.execute("CREATE TEMP TABLE part_found (id INTEGER PRIMARY KEY)")
            self._db.execute("CREATE TEMP TABLE part_sources (theirs INTEGER PRIMARY KEY, own INTEGER)")
            yield
        finally:
            for table in ("part_found", "part_sources"):
                self._db.execute(f"DROP TABLE IF EXISTS temp.{table}")
            self._db.execute("DETACH part")
            if copy is not None:
                copy.cleanup()

    def _map_sources(self) -> None:
        sql = "SELECT id, model, identity, provenance, reused FROM part.sources"
        for number, model, identity, provenance, reused in self._db.execute(sql).fetchall():
            own = self.register(model, identity, json.loads(provenance), reused)
            self._db.execute("INSERT INTO temp.part_sources VALUES (?, ?)", (number, own))

    def _take_rows(self, name: str, which: str, note: Mapping[str, Any]) -> int:
        """Copy some responses with all that belongs to them, and note how far that is."""
        with self._transaction():
            self._db.execute("DELETE FROM temp.part_found")
            self._db.execute(_FOUND.format(which=which))
            found = int(self._db.execute("SELECT count(*) FROM temp.part_found").fetchone()[0])
            if found:
                sql = "SELECT min(r.prompt) FROM temp.part_found f JOIN part.responses r ON r.id = f.id"
                first = int(self._db.execute(sql).fetchone()[0] or 0)
                own = int(self._db.execute("SELECT ifnull(max(id), 0) FROM main.prompts").fetchone()[0])
                shift = own + 1 - first
                self._db.execute(_PROMPTS, (shift,))
                self._db.execute("INSERT OR IGNORE INTO main.terms (asked) SELECT asked FROM part.terms")
                with self._counting():
                    self._db.execute(_RESPONSES, (shift,))
                self._db.execute(_CALLS)
            if note:
                self.note_taken(name, note)
        return found

    def _take_traffic(self, name: str) -> None:
        """Add the traffic that became no answer, as far as it has not been added yet."""
        names = [column_of(field) for field in Traffic._fields]
        sql = f"""SELECT s.own, {", ".join(f"total(t.{one})" for one in names)} FROM part.traffic t
            JOIN temp.part_sources s ON s.theirs = t.source GROUP BY s.own"""
        now = {str(own): values for own, *values in self._db.execute(sql)}
        before = self.taken_from(name).get("traffic", {})
        if now == before:
            return
        with self._transaction():
            for own, values in now.items():
                known = before.get(own, [0.0] * len(values))
                more = Traffic(*(one - other for one, other in zip(values, known, strict=True)))
                self._db.execute(*self._adding_traffic(int(own), more))
            self.note_taken(name, {"traffic": now})
