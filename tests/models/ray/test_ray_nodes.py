"""Real Ray: three nodes on this machine, some of them killed, and the driver as well (make test-ray)."""

import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from tests.extras import needs
from tests.studies import written

from quaver.study.session import Study

pytestmark = needs("ray")

ITEMS = "id,text\n" + "".join(f"{n},Text number {n}.\n" for n in range(300))
STUDY = """\
task: {labels: [positive, negative]}
items: {source: items.csv, id: id, text: "{{ text }}"}
prompt: {instruction: Is it so?}
variants:
  - use: instructions
    texts: {a: Is this so?, b: Would you say so?}
models: [{name: fake, use: function}]
evaluators: [label_match]
repeats: 2
"""
CALLS = 300 * 3 * 2
KILLS = int(os.environ.get("QUAVER_RAY_KILLS", "20"))
"""Nodes that are killed, and drivers."""
SEED = os.environ.get("QUAVER_RAY_SEED", "1")


def frame(study):
    keys = ["variant", "decoding", "item", "repeat", "evaluator"]
    found = study.annotations()
    return found.with_columns(pl.col(keys[:3] + keys[4:]).cast(pl.String)).sort(keys)


def lived(study, what):
    script = str(Path(__file__).with_name("ray_nodes.py"))
    done = subprocess.run(
        [sys.executable, script, str(study), what, str(KILLS), SEED],
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    print(done.stdout)
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("what", ["nodes", "drivers"])
def test_kills_lose_nothing_and_change_no_annotation(tmp_path, what):
    from tests.models.ray.ray_nodes import annotate, label

    study = written(tmp_path / "ray", STUDY, ITEMS)
    found = lived(study, what)
    whole = Study.open(written(tmp_path / "whole", STUDY, ITEMS), functions={"fake": label})
    assert found["kills"] == KILLS
    assert found["stored"] == found["calls_stored"] == CALLS
    assert found["asked"] >= CALLS
    assert found["asked_again"] == 0
    whole.run()
    ray = Study.open(study, functions={"fake": annotate})
    assert frame(ray).equals(frame(whole))
