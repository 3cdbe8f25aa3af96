"""One simulated history of a study that is asked in batches: kills between steps, lost replies, odd results.

A step is a request to the provider or a commit of the store; the process may die before and after each. What
must hold: no answer that was paid is lost, and none is paid twice.
"""

import json
import random
import sqlite3
import time
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

from tests.batches.cases import CASES, Clock, document
from tests.batches.farm import DAY, Behaviour, Farm
from tests.batches.gemini_provider import through_lines
from tests.batches.reaching import Answer, Broken, reaching
from tests.simulation.disk import Disk
from tests.simulation.schedule import Killed

from quaver.errors import QuaverError
from quaver.models.served.batch_http import AnthropicBatches, OpenAIBatches
from quaver.models.served.gemini_batches import GeminiBatches
from quaver.study.session import Study

__all__ = ["BatchHistory", "BrokenBatch"]

_SERVICES = (OpenAIBatches, AnthropicBatches, GeminiBatches)
_WIRE = ("break", "lost", "late", "500", "500 after", "429", "page", "empty")
_LONGEST_ON_ITS_WAY = 60.0
_connect = sqlite3.connect


class BrokenBatch(AssertionError):
    """An answer was lost or paid twice, or the study does not come to an end."""


class BatchHistory:
    """What happens to a study, all of it decided by a seed.

    Args:
        seed: Decides everything.
        home: An empty folder.
        provider: A name of ``cases.CASES``; drawn if left out.

    Attributes:
        told: What happened, a line each.
        steps: Steps of the process that runs.
        die_at: The step at which it dies; 0 for none.
    """

    def __init__(self, seed, home, provider=None):
        self.draw = random.Random(seed)
        self.case = CASES[provider or self.draw.choice(list(CASES))]
        self.clock = Clock()
        self.farm = Farm(self.clock, random.Random(seed + 1), self._behaviour(), self._refuses)
        self.provider = self.case.provider(self.farm, self._say)
        self.wire = self.draw.choice((0.0, 0.1, 0.3))
        self.odd = self.draw.choice((0.0, 0.3))
        self.told = []
        self.steps = self.die_at = 0
        self._home, self._number = home, 0
        self.folder = home / "study-0"
        self._late = []
        self._kept = {}
        self._own = set()
        self._more = {"repeats": self.draw.choice((1, 2, 3))}
        self._limit = self.draw.choice((2, 5, 100))
        self._fault = ""

    def __str__(self):
        return "\n".join(self.told)

    def _behaviour(self):
        draw = self.draw
        return Behaviour(
            longest=draw.choice((60.0, 3600.0, 2 * DAY)),
            refused=0.0,
            faults=draw.choice((0.0, 0.2)),
            unusable=draw.choice((0.0, 0.1)),
            queue=draw.choice((None, None, 4, 9)),
            credit=draw.choice((None, None, None, 7)),
        )

    def _refuses(self, body):
        return "Text 4" in self.case.text_of(body)

    @staticmethod
    def _say(text):
        return "yes" if "Text 3" in text else "no"

    # ------------------------------------------------------------------ the whole

    def go(self):
        """Live through it.

        Raises:
            BrokenBatch: Something does not hold.
        """
        with self._entered():
            at, stride = self.draw.randint(1, 8), self.draw.randint(1, 9)
            for _ in range(self.draw.randint(3, 9)):
                self._run(die_at=at)
                at += stride
                self._time_passes()
                if self.draw.random() < 0.15:
                    self._edit()
            self._finish()

    def every_step(self):
        """Die once at every step of every process until the study is finished; returns how often."""
        deaths, self._limit, self._more = 0, 100, {"repeats": 1}
        with self._entered():
            for _ in range(12):
                at = 1
                while self._run(die_at=at) is None:
                    at, deaths = at + 1, deaths + 1
                self.clock.now += DAY / 2
            self._finish()
        return deaths

    def _time_passes(self):
        self.clock.now += self.draw.choice((0.0, 1.0, 60.0, 1800.0, DAY / 3, 3 * DAY))

    def _edit(self):
        name, choices = self.draw.choice(
            (("repeats", (1, 2, 3)), ("follow_ups", ([], ["verbal_decimal"])), ("budget", ({}, {"calls": 9})))
        )
        self._more[name] = self.draw.choice(choices)
        self._told(f"edited: {name}: {self._more[name]}")

    def _finish(self):
        """Nothing goes wrong any more; the study has to come to its end, with every answer that was paid."""
        self.wire = self.odd = 0.0
        self.farm.behaviour.credit = self.farm.behaviour.queue = None
        self.farm.behaviour.longest = 60.0
        self._more.pop("budget", None)
        for _ in range(40):
            ended = self._run(die_at=0)
            self.clock.now += DAY / 2
            if getattr(ended, "ended", "") == "finished":
                break
        else:
            raise BrokenBatch("it does not come to an end")
        rows = self._rows()
        lost = [name for name in self.farm.paid if name in self._own and rows.get(name, "error") == "error"]
        if lost:
            raise BrokenBatch(f"{len(lost)} answers were paid and are not stored")
        with self._opened() as study:
            status = study.status()
        if status.answered != status.total or status.batches:
            raise BrokenBatch(
                f"{status.answered} of {status.total} answered, {len(status.batches)} batches out"
            )

    # ------------------------------------------------------------------ one process

    def _run(self, die_at):
        """One process; None if it died."""
        self.steps, self.die_at = 0, die_at
        asked = self.draw.choice(({}, {}, {}, {"wait": True}, {"cancel_batches": True}))
        if not self.wire and not self.odd and not die_at:
            asked = {}
        ended = None
        try:
            with self._opened() as study:
                ended = study.run(**asked)
        except QuaverError as error:
            ended = error
        except Killed:
            self._number += 1
            found = self._home / f"study-{self._number}"
            if self.folder.exists():
                Disk(self.draw).after_kill(self.folder, found)
            self.folder = found
        self.die_at = 0
        self._told(f"run {asked}: {'killed at' if ended is None else str(ended)[:200]} {self.steps}")
        self._check()
        return ended

    @contextmanager
    def _opened(self):
        model = {**self.case.model, "batch": True}
        yield Study.open(document(model, **self._more), folder=self.folder)

    def _check(self):
        rows = self._rows()
        twice = [name for name, times in self.farm.paid.items() if times > 1]
        if twice:
            raise BrokenBatch(f"{len(twice)} answers were paid twice: {twice[:3]}")
        gone = [key for key, finish in self._kept.items() if finish != "error" and key not in rows]
        if gone:
            raise BrokenBatch(f"{len(gone)} stored answers are gone")
        self._kept = rows

    def _rows(self):
        """How each stored answer ended, by key."""
        path = self.folder / "responses.db"
        if not path.exists():
            return {}
        db = _connect(path)
        try:
            if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'responses'").fetchone():
                return {}
            return {key.hex(): finish for key, finish in db.execute("SELECT key, finish FROM responses")}
        finally:
            db.close()

    def _told(self, line):
        self.told.append(f"{self.clock.now - 1.8e9:>10,.0f}  {line}")

    # ------------------------------------------------------------------ the world

    @contextmanager
    def _entered(self):
        history = self

        class Connection(sqlite3.Connection):
            def execute(self, sql, *arguments):
                if sql != "COMMIT":
                    return super().execute(sql, *arguments)
                history.step()
                done = super().execute(sql, *arguments)
                history.step()
                return done

        def connect(*arguments, **named):
            return _connect(*arguments, **{"factory": Connection, **named})

        with ExitStack() as stack:
            stack.enter_context(patch.object(time, "time", self.clock))
            stack.enter_context(patch.object(time, "sleep", self.clock.sleep))
            stack.enter_context(patch.dict("os.environ", {self.case.variable: self.case.key}))
            stack.enter_context(patch.object(sqlite3, "connect", connect))
            for service in _SERVICES:
                stack.enter_context(patch.object(service, "most_requests", self._limit))
            stack.enter_context(reaching(self._faulted, self._sends, self.step))
            yield

    def step(self):
        """The process takes a step, or dies."""
        self.steps += 1
        if self.die_at and self.steps >= self.die_at:
            raise Killed

    def _sends(self):
        """Whether a request arrives at the provider."""
        self.step()
        self._arrive()
        self._fault = self.draw.choice(_WIRE) if self.draw.random() < self.wire else ""
        return self._fault != "break"

    def _arrive(self):
        """What was on its way arrives in time."""
        due = [one for one in self._late if one[0] <= self.clock.now]
        self._late = [one for one in self._late if one not in due]
        for _, request in due:
            self.provider(request)

    def _faulted(self, request):
        """The reply to a request that arrived."""
        match self._fault:
            case "late":
                on_its_way = self.draw.uniform(0.0, _LONGEST_ON_ITS_WAY)
                self._late.append((self.clock.now + on_its_way, request))
                raise Broken
            case "500":
                return Answer.json({"error": {"message": "no"}}, 500)
            case "429":
                return Answer.json({"error": {"message": "slow down"}}, 429)
        reply = self._answered(request)
        match self._fault:
            case "lost":
                raise Broken
            case "500 after":
                return Answer(502, b"bad gateway")
            case "page":
                return Answer(200, b"<html>maintenance</html>")
            case "empty":
                return Answer(200, b"")
        return reply

    def _answered(self, request):
        reply = self.provider(request)
        self._own |= {line.id for job in self.farm.jobs for line in job.lines}
        content = reply.content
        if b"inlinedResponses" in content and request.path.count("/") > 2:
            return Answer(reply.status, through_lines(content, self._odd))
        if b"custom_id" in content[:400]:
            return Answer(reply.status, self._odd(content))
        return reply

    def _odd(self, content):
        """Results with lines that nobody asked for, lines that come twice, and lines that are missing."""
        if self.draw.random() >= self.odd:
            return content
        lines = content.splitlines(keepends=True)
        match self.draw.choice(("twice", "unknown", "not JSON", "cut", "types")):
            case "twice":
                lines += lines[:2]
            case "unknown":
                lines.insert(
                    0,
                    lines[0]
                    .replace(b'"custom_id": "', b'"custom_id": "x')
                    .replace(b'"key": "', b'"key": "x'),
                )
            case "not JSON":
                lines.insert(0, b"<html>\n")
            case "types":
                lines.insert(0, json.dumps({"custom_id": 7, "key": [], "result": 1}).encode() + b"\n")
            case "cut":
                return content[: len(content) // 2]
        return b"".join(lines)
