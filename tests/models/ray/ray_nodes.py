"""A study on three Ray nodes of this machine; nodes or drivers are killed in the middle.

Run as a program::

    python ray_nodes.py STUDY nodes|drivers KILLS [SEED]

The model writes down what it is asked and when; the store says when each answer was received. A call that is
asked after its answer was received has been asked again.
"""

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

from quaver.study.session import Study

NODES, WORKERS = 3, 4
PAUSE = float(os.environ.get("QUAVER_RAY_PAUSE", "0.1"))
PROMPTS = ("Is it so?", "Is this so?", "Would you say so?")
_TEXT = re.compile(r"Text number \d+\.")


def annotate(text, prompt):
    """A model that writes down what it is asked."""
    with open(os.environ["QUAVER_ASKED"], "a") as log:
        log.write(f"{time.time()!r}|{text}|{next(one for one in PROMPTS if one in prompt)}\n")
    time.sleep(PAUSE)
    return label(text, prompt)


def label(text, prompt):
    """What it answers: the same to the same."""
    return ("positive", "negative", "it depends")[sha256(f"{text}|{prompt}".encode()).digest()[0] % 3]


def ports():
    """Free ports for a node's agents, which then need not say which they found."""

    def free():
        with socket.socket() as one:
            one.bind(("", 0))
            return int(one.getsockname()[1])

    names = ("metrics_agent_port", "metrics_export_port", "dashboard_agent_listen_port")
    return {name: free() for name in (*names, "runtime_env_agent_port")}


def node(made, num_cpus=2, num_gpus=0):
    """Have a node join the cluster."""
    made.add_node(num_cpus=num_cpus, num_gpus=num_gpus, object_store_memory=100 * 2**20, **ports())


def cluster(nodes=NODES):
    """A head that has no room for a worker, and nodes that have."""
    from ray.cluster_utils import Cluster

    some = {"num_cpus": 0, "include_dashboard": False, "object_store_memory": 100 * 2**20}
    made = Cluster(initialize_head=True, head_node_args={**some, **ports()})
    for _ in range(nodes):
        node(made)
    return made


def end(made):
    """Disconnect, and end all nodes."""
    import ray

    ray.shutdown()
    made.shutdown()


def kill(made, one, workers_too):
    """Kill a node by SIGKILL: its Ray process, which its workers notice, or all of it at once."""
    parent = one.all_processes["raylet"][0].process.pid
    children = _children(parent) if workers_too else []
    for pid in [parent, *children]:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    made.remove_node(one, allow_graceful=False)


def _children(parent):
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if int(stat.read_text().rpartition(")")[2].split()[1]) == parent:
                found.append(int(stat.parent.name))
    return found


def ask(study, address, workers=WORKERS):
    """Run the study on the cluster."""
    where = {"on": "ray", "address": address, "workers": workers}
    Study.open(study, functions={"fake": annotate}).run(where=where)


def stored(study):
    """How many answers are stored."""
    path = study.parent / "responses.db"
    if path.exists():
        with suppress(sqlite3.OperationalError), sqlite3.connect(path) as db:  # it is just being made
            return int(db.execute("SELECT count(*) FROM responses").fetchone()[0])
    return 0


def count(study):
    """What the model was asked, what is stored, and what was asked after its answer had been received."""
    lines = [line.split("|", 1) for line in Path(os.environ["QUAVER_ASKED"]).read_text().splitlines()]
    with sqlite3.connect(study.parent / "responses.db") as db:
        rows = db.execute(
            "SELECT r.received, r.key, p.messages FROM responses r JOIN prompts p ON p.id = r.prompt"
        ).fetchall()
    received = {}
    for at, _, messages in rows:
        text = _TEXT.search(messages)
        what = f"{text.group() if text else ''}|{next(one for one in PROMPTS if one in messages)}"
        received[what] = min(at, received.get(what, at))
    return {
        "asked": len(lines),
        "stored": len(rows),
        "calls_stored": len({key for _, key, _ in rows}),
        "asked_again": sum(float(at) > received[what] for at, what in lines),
    }


def nodes_killed(study, kills, calls, chance):
    """Kill a random node at random moments while the study runs, and have another join."""
    made, done = cluster(), 0
    running = threading.Thread(target=ask, args=(study, made.address))
    running.start()
    for moment in sorted(chance.randint(1, int(0.6 * calls)) for _ in range(kills)):
        while stored(study) < moment and running.is_alive():
            time.sleep(0.02)
        running.join(chance.uniform(0.0, 0.3))
        if running.is_alive():
            kill(made, chance.choice(made.list_all_nodes()[1:]), workers_too=chance.random() < 0.5)
            node(made)
            done += 1
    running.join()
    end(made)
    return done


def drivers_killed(study, kills, calls, chance):
    """Kill the process that runs the study at random moments, some of its start, and run it again."""
    made, done = cluster(), 0
    for last in [*[False] * kills, True]:  # half of the calls on average, so that some are left to the last
        before, share = stored(study), chance.randint(0, calls // kills)
        driver = subprocess.Popen([sys.executable, __file__, str(study), "ask", made.address])
        while not last and share and driver.poll() is None and stored(study) < before + share:
            time.sleep(0.02)
        if not last and driver.poll() is None:
            time.sleep(chance.uniform(0.0, 0.3 if share else 4.0))
            driver.send_signal(signal.SIGKILL)
            done += 1
        driver.wait()
    end(made)
    return done


def main():
    study, what = Path(sys.argv[1]), sys.argv[2]
    os.environ["QUAVER_ASKED"] = str(study.parent / "asked.log")
    if what == "ask":
        ask(study, sys.argv[3])
        return
    calls = Study.open(study, functions={"fake": annotate}).plan().calls
    lived, seed = nodes_killed if what == "nodes" else drivers_killed, int((sys.argv[4:] or ["1"])[0])
    began = time.monotonic()
    kills = lived(study, int(sys.argv[3]), calls, random.Random(seed))
    print(
        json.dumps({"kills": kills, **count(study), "seconds": round(time.monotonic() - began)}), flush=True
    )
    os._exit(0)


if __name__ == "__main__":
    main()
