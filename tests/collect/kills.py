"""Runs a study twenty times and kills it each time in the middle; then to its end.

Run as a program, so that the processes that are killed are not the tests' own::

    python kills.py STUDY LOG SEED

Every asking appends a line to LOG. What was stored after each kill is printed, as JSON.
"""

import json
import os
import random
import signal
import sqlite3
import sys
import time
from hashlib import sha256
from pathlib import Path

from quaver.study.session import Study

KILLS = 20


def asking(log):
    """A model that answers the same to the same and writes down what it was asked."""
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def annotate(text, prompt):
        os.write(file, f"{text}|{prompt}\n".replace("\n", " ").encode() + b"\n")
        time.sleep(0.0001)
        return sha256(f"{text}|{prompt}".encode()).hexdigest()[:12]

    return annotate


def run(study, log):
    """Collect until the end, or until somebody ends it."""
    Study.open(study, functions={"fake": asking(log)}).run()


def stored(study):
    """Key -> answer and place, as the database has them."""
    with sqlite3.connect(study.parent / "responses.db") as db:
        rows = db.execute(
            "SELECT hex(r.key), r.text, r.seed, r.received, c.condition, c.item, c.repeat "
            "FROM responses r JOIN calls c ON c.response = r.id"
        )
        return {key: rest for key, *rest in rows.fetchall()}


def killed(study, log, pause):
    """Run in a process that is killed a while after its first asking."""
    size = log.stat().st_size if log.exists() else 0
    process = os.fork()
    if not process:
        try:
            run(study, log)
        finally:
            os._exit(0)
    while (log.stat().st_size if log.exists() else 0) == size:
        if os.waitpid(process, os.WNOHANG)[0]:
            return  # it had nothing left to ask
        time.sleep(0.002)
    time.sleep(pause)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)


def main(study, log, seed):
    """Kill it twenty times, look each time, then let it end."""
    # Loads what every process would load, and no more: one that has measured has threads and cannot fork.
    _ = Study.open(study, functions={"fake": asking(log)}).experiment
    moments = random.Random(seed)
    seen = []
    for _ in range(KILLS):
        killed(study, log, moments.uniform(0.0, 0.25))
        found = stored(study)
        answers = {key: (answer, received) for key, (answer, _, received, *_) in found.items()}
        seen.append({"answers": answers, "askings": len(log.read_text().splitlines())})
    run(study, log)
    json.dump({"seen": seen, "end": stored(study)}, sys.stdout)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
