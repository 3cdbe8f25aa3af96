"""One simulated history of a study: runs, kills, edits, full disks; and what must hold after each step."""

import gc
import random
import sqlite3
import sys
from contextlib import ExitStack, contextmanager
from typing import Any, ClassVar
from unittest.mock import patch

import polars as pl
from tests.simulation.disk import Disk
from tests.simulation.schedule import Killed
from tests.simulation.server import Server
from tests.simulation.studies import edited, first_study
from tests.simulation.world import World

from quaver.collect.run.progress import Outcome
from quaver.collect.run.writer import Writer
from quaver.collect.store.response_store import Store
from quaver.collect.store.response_tables import COLUMNS
from quaver.errors import QuaverError, StoreError
from quaver.study.session import Study

__all__ = ["Broken", "History", "Rows", "good_calls", "no_garbage", "stored_rows"]

Rows = dict[bytes, tuple[Any, ...]]


class Broken(AssertionError):
    """Something that must always hold does not."""


@contextmanager
def no_garbage():
    """Have Python look for reference cycles between histories only.

    What a dead process was at ends when its generators are found, and takes a turn to do so.
    """
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


class History:
    """What happens to a study, all of it decided by a seed.

    Args:
        seed: Decides everything.
        home: An empty folder.

    Attributes:
        told: What happened, a line each.
        kills: How often a process was killed.
    """

    traced: ClassVar = (
        "/quaver/collect/",
        "/quaver/study/collection/round_of_calls.py",
        "/quaver/study/collection/study_run.py",
        "/quaver/models/served/",
    )
    """Files at whose lines the process may be killed."""
    lines: ClassVar = (30, 300, 1500, 4000)
    """Before how many of these lines, at most."""

    def __init__(self, seed, home):
        self.world = World(seed)
        self.draw = self.world.draw
        self.server = Server(random.Random(seed + 2), self.world.schedule)
        self.disk = Disk(random.Random(seed + 3))
        self._home, self._number = home, 0
        self.folder = home / "study-0"
        self.spec = first_study(self.draw, home)
        self.told = []
        self._meant = {}
        self._kept = {}
        self._elsewhere = {}
        self._owed = set()
        self._written = set()
        self._billed = 0
        self._kill_at = self._moments = self.kills = 0

    def __str__(self):
        return "\n".join(self.told)

    # ------------------------------------------------------------------ the whole

    def go(self):
        """Live through it, and compare the end with a study to which nothing happened.

        Raises:
            Broken: Something does not hold.
        """
        with no_garbage(), self.world.entered():
            if self.draw.random() < 0.2:
                self._another_study()
            for _ in range(self.draw.randint(2, 6)):
                step = self.draw.choices(
                    (self._run, self._edit, self._look, self._server_changes), (6, 4, 1, 1)
                )[0]
                step()
            self._finish()

    def _another_study(self):
        """One that asks much the same has been answered before, wholly or in part."""
        own, self.folder = self.folder, self._home / "another"
        most = self.draw.choice((None, 2))
        with self._alive():
            self._opened().run(requests=most)
        self._elsewhere = {key: row for key, row in self._rows().items() if row[0] != "error"}
        self._meant |= {key: meant for one in self.server.attempts for key, meant in one.asked}
        self.spec["reuse"] = [str(self.folder)]
        self.folder, self._owed, self._written = own, set(), set()
        self._say("another study is there", answers=len(self._elsewhere))

    def _edit(self):
        self.spec = edited(self.spec, self.draw, self._home)
        self._say("edited", **{k: v for k, v in self.spec.items() if k not in ("name", "task", "prompt")})

    def _server_changes(self):
        self.server.fingerprint += "+"
        self._say("the server serves something else under the same name")

    def _look(self):
        self._say("looked at")
        with self._alive():
            study = self._opened()
            if study.status().answered:
                study.annotations()

    # ------------------------------------------------------------------ a run

    def _run(self):
        """A run in which anything may happen."""
        self.server.faults, self.server.odd = self.draw.choice(((0.0, 0.0), (0.1, 0.1), (0.4, 0.2)))
        happens = self.draw.choice(("nothing", "kill", "kill", "power", "disk", "ctrl-c", "second", "pilot"))
        retry = self.draw.random() < 0.3
        asked = {"retry_errors": retry}
        self.spec.pop("budget", None)
        if self.draw.random() < 0.4:
            cap = self.draw.choice((("calls", 40), ("tokens", 3000)))
            self.spec["budget"] = {cap[0]: self.draw.randint(1, cap[1])}
        if happens == "pilot":
            asked["requests"] = self.draw.randint(1, 4)
        if happens == "disk":
            self.disk.fails = self.draw.choice(("full", "io", "unsure"))
            self.disk.after, self.disk.was_hit = self.draw.randint(4, 12), False
        if happens in ("kill", "power"):
            self._kill_at = self.draw.randint(1, self.draw.choice(self.lines))
        self._say("run", happens=happens, faults=self.server.faults, budget=self.spec.get("budget"), **asked)
        self._within(happens, asked)

    def _within(self, happens, asked):
        before, owed = len(self.server.attempts), set(self._owed)
        ended = None
        with self._alive(power=happens == "power"):
            study = self._opened()
            try:
                ended = study.run(watch=self._watching(happens, study), **asked)
            except QuaverError as error:
                ended = error
            except KeyboardInterrupt:
                ended = "interrupted twice"
        self.disk.fails = ""
        self._kill_at = 0
        attempts = self.server.attempts[before:]
        self._say("  ended", ended=_short(ended), attempts=len(attempts))
        self._check(attempts, owed, bool(asked.get("retry_errors")), ended, killed=ended is None)

    def _watching(self, happens, study):
        seen = [0]
        at = self.draw.randint(1, 3)

        def watch(progress):
            seen[0] += 1
            if happens == "ctrl-c" and seen[0] in (at, at + self.draw.randint(0, 3)):
                self.world.press_ctrl_c()
            if happens == "second" and seen[0] == at:
                self._second()

        return watch

    def _second(self):
        """Another process looks, and tries to collect too."""
        other = self._opened()
        now = other.status()
        if now.answered > now.total:
            raise Broken(f"{now.answered} of {now.total} answered, while it runs")
        if now.unplaced and not self._kept and not self._owed:
            raise Broken(f"{now.unplaced} stored answers fit no call, while it runs")
        try:
            other.run()
        except StoreError as error:
            if "another process" not in error.problem:
                raise
        else:
            now = other.status()
            if now.answered != now.total:
                raise Broken("two processes collect at once")

    @contextmanager
    def _alive(self, power=False):
        """One process, from its start to its end, whatever that is."""
        self._moments = 0
        with ExitStack() as stack:
            stack.enter_context(self.server.entered())
            stack.enter_context(self.disk.entered())
            stack.enter_context(self._taken_down(power))
            if self._kill_at:
                stack.enter_context(self._killing(power))
            try:
                yield
            except Killed:
                self.world.schedule.bury()
                self.folder = self._found
            else:
                self._bury_threads()

    @contextmanager
    def _taken_down(self, power):
        """Write down which answers survive whatever comes now.

        A kill may take none that the runner has taken in, a power cut none that is in the database.
        """
        keep, write = Writer.keep, Store.write

        def kept(writer, model, group):
            done = keep(writer, model, group)
            if not power and not self.world.schedule.dead:  # not after a second Ctrl-C
                self._owed |= {key for one in done for key in good_calls(one)}
            return done

        def written(store, group):
            done = write(store, group)
            if not self.world.schedule.dead:
                self._written |= {key for one in group for key in good_calls(one)}
                self._owed |= self._written
            return done

        with patch.object(Writer, "keep", kept), patch.object(Store, "write", written):
            yield

    def _bury_threads(self):
        """Threads that the run left behind end with the process."""
        self.world.schedule.kill()
        self.world.schedule.bury()

    @contextmanager
    def _killing(self, power):
        """Count the lines that run, and die at one of them."""
        import threading

        def line(frame, event, _):
            if event == "line":
                self._moments += 1
                if self._moments == self._kill_at:
                    self._die(power)
            return line

        def call(frame, event, _):
            return line if any(part in frame.f_code.co_filename for part in self.traced) else None

        before = sys.gettrace()
        threading.settrace(call)
        sys.settrace(call)
        try:
            yield
        finally:
            sys.settrace(before)
            threading.settrace(None)

    def _die(self, power):
        self._number += 1
        self.kills += 1
        self._found = self._home / f"study-{self._number}"
        if self.folder.exists():
            if power:
                self._owed &= self._written  # the spill is not synced
                self.disk.after_power_cut(self.folder, self._found)
            else:
                self.disk.after_kill(self.folder, self._found)
        self.world.schedule.kill()
        raise Killed

    # ------------------------------------------------------------------ what must hold

    def _opened(self):
        return Study.open(self.spec, folder=self.folder)

    def _rows(self):
        """The stored answers by key."""
        return stored_rows(self.folder / "responses.db")

    def _check(self, attempts, owed, retry, ended, *, killed):
        for attempt in attempts:
            for key, meant in attempt.asked:
                if self._meant.setdefault(key, meant) != meant:
                    raise Broken(f"one key, two things asked:\n{self._meant[key]}\n{meant}")
                if key in owed:
                    raise Broken(f"asked again for what was answered before a kill: {meant}")
                kept = self._kept.get(key) or self._elsewhere.get(key)
                if kept is not None and not (retry and kept[0] == "error"):
                    raise Broken(f"asked again for what is stored: {meant}, {kept}")
        rows = self._rows()
        for key, row in self._kept.items():
            if row[0] != "error" and rows.get(key) != row:
                raise Broken(f"a stored answer changed or is gone: {row} -> {rows.get(key)}")
            if key not in rows:
                raise Broken(f"a stored error is gone: {row}")
        if isinstance(ended, Outcome) and not owed <= set(rows):
            raise Broken(f"{len(owed - set(rows))} answers that the process had are lost")
        if isinstance(ended, Outcome):
            self._owed -= set(rows)
        self._check_caps(attempts)
        known = [one for one in attempts if self._is_known(one)]
        self._billed += sum(one.tokens for one in known if not killed or set(one.keys) <= set(rows))
        self._kept = rows

    def _is_known(self, attempt):
        """Whether the process that counts what was spent can know of this."""
        return True

    def _at_once(self):
        """How many requests are out at once, at most."""
        return sum(int(model["concurrency"]) for model in self.spec["models"])

    def _check_caps(self, attempts):
        """Nothing is asked or billed beyond the cap and what was in flight."""
        caps = self.spec.get("budget", {})
        new = {key for one in attempts for key in one.keys} - set(self._kept)
        if new and len(new) > caps.get("calls", len(new)):
            raise Broken(f"{len(new)} calls asked under a cap of {caps}")
        if "tokens" in caps:
            tried = sum(one.tokens for one in attempts if not one.keys)
            in_flight = self._at_once() * max((one.tokens for one in attempts), default=0)
            billed = sum(one.tokens for one in attempts if self._is_known(one))
            room = max(0, caps["tokens"] - self._billed)
            if billed > room + tried + in_flight:
                raise Broken(f"{billed} tokens billed where {room} were left, {in_flight} in flight")

    def _finish(self):
        """Let it end in peace; that must be what an undisturbed study ends in, and the end of asking."""
        self.server.faults = self.server.odd = 0.0
        self.spec.pop("budget", None)
        self._say("finish")
        before, owed = len(self.server.attempts), set(self._owed)
        with self._alive():
            ended = self._opened().run(retry_errors=True)
        self._check(self.server.attempts[before:], owed, True, ended, killed=False)
        if ended.ended not in ("finished", "narrow"):
            raise Broken(f"it does not come to its end: {ended}")
        before = len(self.server.attempts)
        with self._alive():
            again = self._opened().run()
            frame = _comparable(self._opened().annotations())
        if len(self.server.attempts) > before or again.done:
            raise Broken(f"a finished study asks again: {again}")
        self.spec.pop("reuse", None)
        whole, self.folder = self.folder, self._home / "undisturbed"
        with self._alive():
            study = self._opened()
            study.run()
            expected = _comparable(study.annotations())
        self.folder = whole
        if not frame.equals(expected):
            both = frame.join(expected, on=_PLACE, how="full", suffix="_expected")
            differing = both.filter(pl.col("label").ne_missing(pl.col("label_expected")))
            raise Broken(f"not what an undisturbed study ends in:\n{differing}")

    def _say(self, what, **details):
        self.told.append(f"{what} " + " ".join(f"{name}={value!r}" for name, value in details.items()))


def stored_rows(path):
    """The answers in a store by key, whatever the tables of this release are like beside."""
    if not path.exists():
        return {}
    db = sqlite3.connect(path)
    try:
        rows = db.execute("SELECT key, finish, text, error, seed FROM responses").fetchall()
    except sqlite3.OperationalError:  # killed before there were any tables
        return {}
    finally:
        db.close()
    found = {row[0]: row[1:] for row in rows}
    if len(found) < len(rows):
        raise Broken("a call has two stored answers")
    return found


def good_calls(kept):
    """The calls of an answer that was no error."""
    finish = COLUMNS.split(", ").index("finish")
    return {call[0] for call, row in zip(kept.calls, kept.rows, strict=True) if row[finish] != "error"}


_PLACE = ["item", "model", "variant", "decoding", "repeat", "evaluator"]


def _comparable(frame):
    text = frame.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))
    place = [name for name in _PLACE if name in text.columns]
    return text.select([*place, "label", "status", "reason"]).sort(place)


def _short(ended):
    if isinstance(ended, Outcome):
        return f"{ended.ended} {ended.before}+{ended.done} of {ended.total}, {ended.errors} errors"
    return " ".join(str(ended).split())[:300]
