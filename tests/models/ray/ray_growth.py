"""A study on Ray nodes of this machine that join while it runs, or have GPUs in name.

Run as a program::

    python -m tests.models.ray.ray_growth STUDY growth|gpu|gpus
"""

import json
import os
import sys
import threading
import time
from functools import partial
from pathlib import Path

from tests.models.ray.ray_nodes import cluster, end, node, stored

from quaver.models.ray_workers import RayWorkers
from quaver.study.session import Study


def _noted(model):
    """Take a moment, and write down who did and when."""
    import ray

    where = {"node": ray.get_runtime_context().get_node_id(), "gpu": os.environ.get("CUDA_VISIBLE_DEVICES")}
    began = time.time()
    time.sleep(0.05)
    line = {"model": model, "worker": os.getpid(), **where, "began": began, "ended": time.time()}
    with open(os.environ["QUAVER_ASKED"], "a") as log:
        log.write(json.dumps(line) + "\n")
    return "positive"


def one(text, prompt):
    """A model that takes a moment."""
    return _noted("one")


def other(text, prompt):
    """Another."""
    return _noted("other")


def asked():
    """What was written down."""
    return [json.loads(line) for line in Path(os.environ["QUAVER_ASKED"]).read_text().splitlines()]


def most_at_once(lines):
    """How many calls ran at the same time, at most."""
    changes = sorted([(line["began"], 1) for line in lines] + [(line["ended"], -1) for line in lines])
    now = most = 0
    for _, change in changes:
        now += change
        most = max(most, now)
    return most


def growth(study):
    """A node joins while the study runs."""
    RayWorkers.every = 2.0
    made = cluster(nodes=1)
    running = threading.Thread(
        target=lambda: Study.open(study, functions={"fake": one}).run(
            where={"on": "ray", "address": made.address}
        )
    )
    running.start()
    while stored(study) < 50 and running.is_alive():
        time.sleep(0.02)
    node(made)
    running.join()
    end(made)
    lines = asked()
    return {
        "nodes": len({line["node"] for line in lines}),
        "workers_at_first": len({line["worker"] for line in lines[:50]}),
        "workers": len({line["worker"] for line in lines}),
        "stored": stored(study),
    }


def gpus(study, each):
    """Two models on a node with two GPUs, and how many of these a worker has for itself."""
    made = cluster(nodes=0)
    node(made, num_cpus=4, num_gpus=2)
    where = {"on": "ray", "address": made.address, "gpus_per_worker": each}
    Study.open(study, functions={"one": one, "other": other}).run(where=where)
    end(made)
    lines = asked()
    return {
        "workers": {name: len({line["worker"] for line in lines if line["model"] == name}) for name in NAMES},
        "at_once": most_at_once(lines),
        "at_once_on": {
            gpu: most_at_once([line for line in lines if line["gpu"] == gpu])
            for gpu in sorted({line["gpu"] for line in lines})
        },
        "stored": stored(study),
    }


NAMES = ("one", "other")


def main():
    study = Path(sys.argv[1])
    os.environ["QUAVER_ASKED"] = str(study.parent / "asked.log")
    parts = {"growth": growth, "gpu": partial(gpus, each=1), "gpus": partial(gpus, each=2)}
    print(json.dumps(parts[sys.argv[2]](study)), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
