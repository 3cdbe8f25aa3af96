"""No measure leaves BLAS's threads spinning: on a shared machine they take the time that others need."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import json, threading, time, warnings
from pathlib import Path
import numpy as np
import polars as pl
import scipy.linalg  # it brings a BLAS of its own, whose threads spin when they are made
import quaver
from quaver.core import registry

warnings.simplefilter("ignore")
tasks, own = Path("/proc/self/task"), threading.get_native_id()
name = (tasks / str(own) / "comm").read_text()

def others():
    # BLAS's threads are called as the process is, those of other libraries after what they do.
    named = [one for one in tasks.iterdir() if int(one.name) != own and (one / "comm").read_text() == name]
    times = [(one / "stat").read_text().rpartition(")")[2].split()[11:13] for one in named]
    return sum(int(part) for both in times for part in both)

def ticks(call):
    before = others()
    call()
    time.sleep(0.05)  # they spin for a while after the product
    return others() - before

rng = np.random.default_rng(0)
items, variants, repeats = shape = (400, 6, 3)
item, variant, repeat = (part.ravel() for part in np.indices(shape))
codes = np.where(rng.random(item.size) < 0.6, item % 4, rng.integers(0, 4, item.size))
chances = rng.dirichlet(np.ones(4), item.size)
letters = np.array(list("abcd"))
frame = pl.DataFrame({
    "model": ["m"] * item.size, "item": item, "variant": variant, "repeat": repeat, "label": letters[codes],
    "gold": letters[item % 4], "confidence": chances.max(1), "probabilities": chances.tolist(),
    "original": variant == 0, "gold_drawn": item % 2 == 0, "gold_probability": 0.5,
})
ratings = codes.reshape(items, -1)
square = rng.random((600, 600))
found = {}
time.sleep(0.1)
for name_of in registry.names("measures"):
    options = {"partiality": {"toward": "gold"}, "position_bias": {"order": "variant"}}
    options |= {"verbosity_bias": {"padding": "variant"}}
    options = options.get(name_of, {})
    if name_of != "mixed_effects":  # gpboost's own arithmetic, and seconds of it
        found[name_of] = ticks(lambda: registry.load("measures", name_of)(frame, seed=1, **options))
for one in ("krippendorff_alpha", "cohen_kappa", "fleiss_kappa", "gwet_ac", "percent_agreement"):
    found[one] = ticks(lambda: getattr(quaver.agreement, one)(ratings))
found["consensus"] = ticks(lambda: quaver.measures.consensus(frame))
found["spearman"] = ticks(lambda: quaver.measures.spearman(list(range(200)), list(range(0, 400, 2))))
found["a product elsewhere"] = ticks(lambda: [square @ square for _ in range(20)])
print(json.dumps(found))
"""


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="needs Linux")
def test_no_measure_wakes_the_threads_of_blas(all_cores):
    if all_cores < 2:
        pytest.skip("needs two cores")
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    if not found.pop("a product elsewhere"):
        pytest.skip("this NumPy's products use one thread, or threads that are called differently")
    assert {name: ticks for name, ticks in found.items() if ticks} == {}
