"""What a number does with each unit left out."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import special

from quaver.estimation.jackknife import Ratio, Resampling, Units
from quaver.estimation.statistic import Sampler, Statistic


def test_what_an_interval_leaves_out_is_shared_by_its_two_sides():
    assert Resampling(confidence_level=0.95).tail == pytest.approx(0.025)


def test_the_mean_has_its_standard_error():
    x = np.random.default_rng(0).normal(size=200)
    draws = Sampler(Units(200), Resampling()).jackknifed(lambda w: (w @ x / w.sum(1))[:, None])
    assert draws.point == pytest.approx(x.mean())
    assert draws.variance**0.5 == pytest.approx(x.std(ddof=1) / np.sqrt(200))
    assert draws.left.shape == (200,)
    assert draws.freedom == 199


@pytest.mark.parametrize("units", [Units(7), Units(401), Units(3000, np.arange(3000) % 900, "author")])
def test_every_unit_is_left_out_once_and_again_the_same_way(units):
    left = np.concatenate(list(units.without_one()))
    assert (left == np.concatenate(list(units.without_one()))).all()
    assert len(left) == min(units.count, -(-units.count // -(-units.count // 400)))
    assert ((left == 0).sum(0) == 1).all()
    assert units.clusters is not None or np.ptp((left == 0).sum(1)) <= 1
    assert set(np.unique(left)) == {0.0, 1.0}


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
    if name_of != "mixed_effects":  # seconds of arithmetic
        found[name_of] = ticks(lambda: registry.load("measures", name_of)(frame, seed=1))
for one in ("krippendorff_alpha", "cohen_kappa", "fleiss_kappa", "gwet_ac", "percent_agreement"):
    found[one] = ticks(lambda: getattr(quaver.agreement, one)(ratings))
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


UNEQUAL = {
    "1 to 60": np.geomspace(1, 60, 24),
    "one of 100": [100] + [5] * 20,
    "2 to 62": np.linspace(2, 62, 8),
}


def grouped_units(sizes):
    sizes = np.round(sizes).astype(int)
    return Units(int(sizes.sum()), np.repeat(np.arange(len(sizes)), sizes), "author")


def group_sums(rng, units, studies):
    """Sums of normal values that are correlated by 0.25 in a group."""
    sizes = np.bincount(units.clusters)
    shared = rng.normal(size=(studies, sizes.size)) * 0.25**0.5
    return sizes * shared + rng.normal(size=shared.shape) * (0.75 * sizes) ** 0.5, sizes


@pytest.mark.parametrize("sizes", [UNEQUAL["1 to 60"], UNEQUAL["2 to 62"], [2, 3, 4]], ids=str)
def test_the_freedom_of_unequal_groups_is_that_of_their_variance(sizes):
    units = grouped_units(sizes)
    sums, size = group_sums(np.random.default_rng(0), units, 40_000)
    left = (sums.sum(1, keepdims=True) - sums) / (units.items - size)
    variance = left.var(1) * (size.size - 1)
    assert max(2 * variance.mean() ** 2 / variance.var(), 2) == pytest.approx(units.freedom, rel=0.07)


def test_the_variance_of_a_mean_over_unequal_groups_is_cr2():
    """Σ_g (Σ residuals)² / (n² (1 − n_g / n)), after Bell & McCaffrey; unbiased where items vary alike."""
    units, rng = grouped_units([1, 2, 5, 20, 60]), np.random.default_rng(4)
    x, n = rng.normal(0, 1, (4000, 88)), 88
    sums = np.add.reduceat(x - x.mean(1, keepdims=True), np.r_[0, np.cumsum([1, 2, 5, 20])], axis=1)
    by_hand = (sums**2 / (1 - np.array([1, 2, 5, 20, 60]) / n)).sum(1) / n**2
    for one, variance in zip(x[:5], by_hand, strict=False):
        draws = Sampler(units, Resampling()).jackknifed(lambda w, x=one: (w @ x / w.sum(1))[:, None])
        assert draws.variance == pytest.approx(variance)
    assert by_hand.mean() == pytest.approx(1 / n, rel=0.04)


def test_groups_of_one_size_have_one_degree_less_than_there_are():
    assert grouped_units([10] * 20).freedom == 19
    assert Units(20).freedom == 19
    assert grouped_units([3, 40]).freedom == 1
    assert grouped_units([100] + [5] * 20).freedom == 2
    assert grouped_units([7] * 500 + [8] * 500).freedom < 999  # of more groups than are left out one by one


@pytest.mark.parametrize("sizes", UNEQUAL.values(), ids=str)
def test_a_mean_over_unequal_groups_is_in_its_interval_as_often_as_it_says(sizes):
    units = grouped_units(sizes)
    sums, size = group_sums(np.random.default_rng(1), units, 4000)
    left = (sums.sum(1, keepdims=True) - sums) / (units.items - size)
    error = np.sqrt(left.var(1) * (size.size - 1))
    mean = np.abs(sums.sum(1)) / units.items
    assert 0.94 < np.mean(mean <= special.stdtrit(units.freedom, 0.975) * error) < 0.996
    assert np.mean(mean <= special.stdtrit(size.size - 1, 0.975) * error) < 0.94


@pytest.mark.parametrize(
    ("sizes", "flagged"), [([10] * 20, 0), (UNEQUAL["1 to 60"], 0), ([100] + [5] * 20, 1)]
)
def test_groups_that_tell_as_much_as_few_are_flagged(sizes, flagged):
    units = grouped_units(sizes)
    x = np.random.default_rng(2).normal(size=units.items)
    said = Statistic(method="mean", under=lambda w: (w @ x / w.sum(1))[:, None])
    assert len(Sampler(units, Resampling()).estimated(said).warnings) == flagged


def test_what_most_units_do_to_a_number_makes_no_error():
    """Forty items with five to nine answers each; two of them have three wrong ones."""
    answers = np.arange(40.0) % 5 + 5
    right = answers - 3 * (np.arange(40) < 2)
    draws = Sampler(Units(40), Resampling()).jackknifed(Ratio(right[:, None], answers[:, None]))
    assert draws.moving == 2


def test_a_unit_without_which_a_number_is_undefined_makes_its_error():
    one = np.array([[1.0], [0.0]])
    assert Sampler(Units(2), Resampling()).jackknifed(Ratio(one, one)).moving == 1
