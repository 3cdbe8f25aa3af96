"""What a provider does with batches behind its API, whichever that is: queues, answers, expires, bills.

Nothing runs in the background: whatever should have happened by now is worked out whenever somebody asks.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

__all__ = ["DAY", "Behaviour", "Farm", "Job", "Line"]

DAY = 86_400.0


@dataclass
class Line:
    """One request of a batch.

    Attributes:
        id: Its custom id.
        body: What is asked.
        at: When it is executed, if the batch lasts that long.
        outcome: ``""`` until it is settled; then ``good``, ``unusable`` (billed, but nobody can read it),
            ``refused``, ``fault``, ``credit``, ``expired`` or ``cancelled``.
    """

    id: str
    body: dict[str, Any]
    at: float
    outcome: str = ""


@dataclass
class Job:
    """A batch.

    Attributes:
        id: Its id at the provider.
        name: What its client calls it.
        made: When it was made.
        lines: Its requests.
        valid: When it has been validated.
        problems: What validation found: code, message, line.
        cancelled: When it was cancelled.
        ended: When it ended.
        state: ``validating``, ``running``, ``ending``, ``done``, ``expired``, ``cancelled`` or ``failed``.
        facts: What the API keeps with it.
        dropped: Ids of settled lines that are missing from the results.
    """

    id: str
    name: str
    made: float
    lines: list[Line]
    valid: float
    problems: list[tuple[str, str, int | None]] = field(default_factory=list)
    cancelled: float | None = None
    ended: float | None = None
    state: str = "validating"
    facts: dict[str, Any] = field(default_factory=dict)
    dropped: set[str] = field(default_factory=set)

    def count(self, *outcomes):
        """How many lines ended so."""
        return sum(line.outcome in outcomes for line in self.lines)


@dataclass
class Behaviour:
    """How well a provider works.

    Attributes:
        shortest: Seconds from a batch's start to its first answer.
        longest: To its last, were there no expiry.
        expires: After so many seconds it gives up.
        refused: Share of requests that it refuses.
        faults: Share at which it fails.
        unusable: Share of answers that nobody can read.
        dropped: Share of batches whose results miss a line.
        requests: Most requests in a batch.
        size: Most bytes of its lines.
        queue: Most requests in all batches that run.
        credit: Answers until the account is empty; None for no end.
    """

    shortest: float = 5.0
    longest: float = 3600.0
    expires: float = DAY
    refused: float = 0.0
    faults: float = 0.0
    unusable: float = 0.0
    dropped: float = 0.0
    requests: int = 50_000
    size: int = 200_000_000
    queue: int | None = None
    credit: int | None = None


class Farm:
    """The machines behind the API.

    Args:
        clock: Says what time it is, in seconds since 1970.
        draw: Decides what goes wrong and how long things take.
        behaviour: How well it works.
        permanent: Whether a request is refused whenever it comes.

    Attributes:
        jobs: All batches, in the order in which they were made.
        billed: How often each custom id was answered and billed.
        paid: The same, but for answers that nobody can read.
    """

    def __init__(self, clock, draw, behaviour=None, permanent=lambda body: False):
        self.clock, self.draw = clock, draw
        self.behaviour = behaviour or Behaviour()
        self.permanent = permanent
        self.jobs = []
        self.billed = Counter()
        self.paid = Counter()
        self._number = 0

    def new_id(self, prefix):
        """An id that nothing else has."""
        self._number += 1
        return f"{prefix}{self._number:06d}{self.draw.randrange(16**8):08x}"

    def add(self, job_id, name, requests, **facts):
        """Take a batch."""
        now, how = self.clock(), self.behaviour
        valid = now + self.draw.uniform(0.0, how.shortest)
        lines = [
            Line(name_of, body, valid + self.draw.uniform(how.shortest, how.longest))
            for name_of, body in requests
        ]
        job = Job(job_id, name, now, lines, valid, facts=facts)
        self.jobs.append(job)
        return job

    def running(self):
        """The batches that are not over."""
        return (job for job in self.jobs if job.state in ("validating", "running", "ending"))

    def find(self, job_id):
        """A batch by its id, as it is now."""
        job = next((one for one in self.jobs if one.id == job_id), None)
        if job is not None:
            self.advance(job)
        return job

    def cancel(self, job):
        """Have a batch end early."""
        if job.state in ("validating", "running"):
            job.cancelled = self.clock()
            job.state = "ending"

    def advance(self, job):
        """Do what should have been done by now."""
        now = self.clock()
        if job.state == "validating" and now >= job.valid:
            self._validate(job)
        if job.state not in ("running", "ending"):
            return
        stops = min(job.cancelled or now, job.made + self.behaviour.expires)
        for line in sorted(job.lines, key=lambda one: one.at):
            if not line.outcome and line.at <= min(now, stops):
                line.outcome = self._executed(line)
        left = [line for line in job.lines if not line.outcome]
        if job.cancelled is not None and now >= job.cancelled + 2.0:
            self._end(job, "cancelled", left)
        elif now >= job.made + self.behaviour.expires and left:
            self._end(job, "expired", left)
        elif not left:
            self._end(job, "cancelled" if job.cancelled else "done", left)

    def _validate(self, job):
        how = self.behaviour
        queued = sum(len(one.lines) for one in self.jobs if one.state in ("running", "ending"))
        if how.queue is not None and queued + len(job.lines) > how.queue:
            job.problems.append(("token_limit_exceeded", "Enqueued token limit reached.", None))
        if how.credit is not None and how.credit <= 0:
            job.problems.append(("billing_hard_limit_reached", "Billing hard limit has been reached.", None))
        job.state = "failed" if job.problems else "running"
        job.ended = job.valid if job.problems else None

    def _executed(self, line):
        how = self.behaviour
        if self.permanent(line.body) or self.draw.random() < how.refused:
            return "refused"
        if self.draw.random() < how.faults:
            return "fault"
        if how.credit is not None:
            if how.credit <= 0:
                return "credit"
            how.credit -= 1
        self.billed[line.id] += 1
        if self.draw.random() < how.unusable:
            return "unusable"
        self.paid[line.id] += 1
        return "good"

    def _end(self, job, state, left):
        for line in left:
            line.outcome = "expired" if state == "expired" else "cancelled"
        job.state, job.ended = state, self.clock()
