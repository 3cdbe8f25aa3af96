"""A study on three Ray nodes of this machine; nodes or drivers are killed in the middle.

Run as a program::

    python ray_nodes.py STUDY nodes|drivers KILLS
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from quaver.study.session import Study

NODES, WORKERS = 3, 4
PAUSE = float(os.environ.get("QUAVER_RAY_PAUSE", "0.05"))
PROMPTS = ("Is it so?", "Is this so?", "Would you say so?")


def annotate(text: str, prompt: str) -> str:
    """A model that answers the same to the same."""
    with open(os.environ["QUAVER_ASKED"], "a") as log:
        log.write(f"{text}|{next(one for one in PROMPTS if one in prompt)}\n")
    time.sleep(PAUSE)
    return ("positive", "negative", "it depends")[sha256(f"{text}|{prompt}".encode()).digest()[0] % 3]


def ports() -> dict[str, int]:
    """Free ports for a node's agents, which then need not say which they found."""

    def free() -> int:
        with socket.socket() as one:
            one.bind(("", 0))
            return int(one.getsockname()[1])

    names = ("metrics_agent_port", "metrics_export_port", "dashboard_agent_listen_port")
    return {name: free() for name in (*names, "runtime_env_agent_port")}


def cluster() -> Any:
    from ray.cluster_utils import Cluster

    some = {"num_cpus": 0, "include_dashboard": False, "object_store_memory": 100 * 2**20}
    made = Cluster(initialize_head=True, head_node_args={**some, **ports()})
    for _ in range(NODES):
        made.add_node(num_cpus=2, object_store_memory=100 * 2**20, **ports())
    return made


def _end(made: Any) -> None:
    import ray

    ray.shutdown()
    made.shutdown()


def ask(study: Path, address: str, workers: int = WORKERS) -> None:
    """Run the study on the cluster."""
    where = {"on": "ray", "address": address, "workers": workers}
    Study.open(study, functions={"fake": annotate}).run(where=where)


def stored(study: Path) -> set[str]:
    """What was answered, as the model notes what it is asked."""
    path = study.parent / "responses.db"
    rows: list[tuple[str]] = []
    if not path.exists():
        return set()
    with suppress(sqlite3.OperationalError), sqlite3.connect(path) as db:  # it is just being made
        rows = db.execute("SELECT p.messages FROM responses r JOIN prompts p ON p.id = r.prompt").fetchall()
    found = set()
    for (messages,) in rows:
        text = re.search(r"Text number \d+\.", messages)
        prompt = next(one for one in PROMPTS if one in messages)
        found.add(f"{text.group() if text else ''}|{prompt}")
    return found


def asked() -> list[str]:
    """What the model was asked so far."""
    log = Path(os.environ["QUAVER_ASKED"])
    return log.read_text().splitlines() if log.exists() else []


class Again:
    """Counts what was asked although it was stored when a process was killed."""

    def __init__(self, study: Path) -> None:
        self._study, self._looks = study, list[tuple[int, set[str]]]()

    def look(self) -> None:
        known = stored(self._study)
        self._looks.append((len(asked()), known))

    def count(self) -> int:
        lines = asked()
        return sum(line in known for at, known in self._looks for line in lines[at:])


def nodes_killed(study: Path, kills: int, moments: random.Random) -> tuple[int, int]:
    """Kill a random node now and then while the study runs, and start another."""
    made, done, again = cluster(), 0, Again(study)
    running = threading.Thread(target=ask, args=(study, made.address))
    running.start()
    while len(stored(study)) < 10 and running.is_alive():
        time.sleep(0.05)
    while running.is_alive() and done < kills:
        running.join(moments.uniform(0.3, 1.5))
        if running.is_alive():
            made.remove_node(moments.choice(made.list_all_nodes()[1:]), allow_graceful=False)
            again.look()
            made.add_node(num_cpus=2, object_store_memory=100 * 2**20, **ports())
            done += 1
    running.join()
    _end(made)
    return done, again.count()


def drivers_killed(study: Path, kills: int, moments: random.Random) -> tuple[int, int]:
    """Kill the process that runs the study, and run it again."""
    made, done, again = cluster(), 0, Again(study)
    for last in [*[False] * kills, True]:
        count = len(stored(study))
        driver = subprocess.Popen([sys.executable, __file__, str(study), "ask", made.address])
        while not last and driver.poll() is None and len(stored(study)) <= count:
            time.sleep(0.02)
        if not last and driver.poll() is None:
            time.sleep(moments.uniform(0.0, 0.5))
            driver.send_signal(signal.SIGKILL)
            driver.wait()
            time.sleep(1)  # its workers end with it
            again.look()
            done += 1
        driver.wait()
    _end(made)
    return done, again.count()


def main() -> None:
    study, what = Path(sys.argv[1]), sys.argv[2]
    os.environ["QUAVER_ASKED"] = str(study.parent / "asked.log")
    if what == "ask":
        ask(study, sys.argv[3])
        return
    lived = nodes_killed if what == "nodes" else drivers_killed
    kills, changed = lived(study, int(sys.argv[3]), random.Random(1))
    print(json.dumps({"kills": kills, "asked_again": changed}), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
