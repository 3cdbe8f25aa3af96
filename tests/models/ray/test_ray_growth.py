"""Real Ray (make test-ray): nodes that join, GPUs that models take in turns."""

import json
import subprocess
import sys
from pathlib import Path

from tests.extras import needs
from tests.studies import written

pytestmark = needs("ray")

STUDY = """\
task: {{labels: [positive, negative]}}
items: {{source: items.csv, id: id, text: "{{{{ text }}}}"}}
prompt: {{instruction: Is it so?}}
models: [{models}]
evaluators: [label_match]
"""


def study(folder, items, *models):
    rows = "".join(f"{n},Text number {n}.\n" for n in range(items))
    written_models = ", ".join(f"{{name: {name}, use: function}}" for name in models)
    return written(folder, STUDY.format(models=written_models), "id,text\n" + rows)


def lived(study, what):
    done = subprocess.run(
        [sys.executable, "-m", "tests.models.ray.ray_growth", str(study), what],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        cwd=Path(__file__).parents[3],
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_nodes_that_join_during_a_run_get_workers(tmp_path):
    found = lived(study(tmp_path, 1500, "fake"), "growth")
    assert found == {"nodes": 2, "workers_at_first": 2, "workers": 4, "stored": 1500}


def test_each_worker_has_its_own_gpu(tmp_path):
    found = lived(study(tmp_path, 150, "one", "other"), "gpu")
    assert found["stored"] == 300
    assert all(found["workers"].values())
    assert (found["at_once"], found["at_once_on"]) == (2, {"0": 1, "1": 1})


def test_models_that_need_all_gpus_take_turns(tmp_path):
    found = lived(study(tmp_path, 150, "one", "other"), "gpus")
    assert found["stored"] == 300
    assert found["workers"] == {"one": 1, "other": 1}
    assert (found["at_once"], found["at_once_on"]) == (1, {"0,1": 1})
