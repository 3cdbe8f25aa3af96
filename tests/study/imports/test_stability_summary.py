"""The numbers in which promptstability sums up a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from quaver.cli.main import app
from quaver.study.imports.label_import import import_annotations
from quaver.study.imports.stability_summary import (
    Curve,
    of_neighbours,
    of_repeats,
    of_temperatures,
    stability_summary,
)


def curve(places: list[float], values: list[float], half: list[float] | None = None) -> Curve:
    width = np.array(half or [0.0] * len(values))
    return Curve(np.array(places), np.array(values), np.array(values) - width, np.array(values) + width)


def test_repeats_by_hand() -> None:
    found = of_repeats(curve([2, 3, 4, 5], [0.7, 0.795, 0.805, 0.8], [0.1, 0.009, 0.02, 0.005]))
    assert list(found.values()) == pytest.approx([0.8, 0.01, 3, 5, 0.1])


def test_an_interval_that_stays_wide_is_no_number() -> None:
    assert (
        of_repeats(curve([2, 3], [0.8, 0.8], [0.1, 0.1]))[
            "repeats until the interval stays no wider than 0.02"
        ]
        is None
    )


def test_neighbours_by_hand() -> None:
    found = of_neighbours(curve([0, 0, 0], [0.7, 0.8, 0.9], [0.1, 0.1, 0.1]))
    assert list(found.values()) == pytest.approx([0.8, 0.1, 0.1, 0.7, 0.9, 1 / 3, 0.2])


def test_temperatures_by_hand() -> None:
    found = of_temperatures(curve([0.1, 2.0, 5.0], [0.9, 0.5, 0.7]))
    assert list(found.values()) == pytest.approx([0.7, 0.2, 0.5, 2.0, 0.9, 0.4, 2 / 3])


def test_a_file_of_repeats_beside_the_scores_in_it(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    scores = {0: ",,", 1: "0.6,0.5,0.7", 2: "0.795,0.7,0.8", 3: "0.8,0.79,0.81"}
    rows = [
        f"{item},{item % 2 if rng.random() < 0.9 else 1 - item % 2},{repeat},{scores[repeat]}"
        for repeat in range(4)
        for item in range(20)
    ]
    path = tmp_path / "intra.csv"
    path.write_text("\n".join(["id,annotation,iteration,ka_mean,ka_lower,ka_upper", *rows, ""]))
    study, _ = import_annotations(path)
    found = {one.name: one for one in stability_summary(study)}
    assert found["alpha of all repeats"].value == pytest.approx(study.measure("intra_pss")[0].value)
    assert found["alpha of all repeats"].published == 0.8
    assert found["repeats until alpha stays within 0.01 of its last value"].published == 3
    assert found["neighbouring repeats: mean alpha"].published is None


def test_a_file_without_repeats_has_none(tmp_path: Path) -> None:
    path = tmp_path / "once.csv"
    path.write_text("id,annotation,coder\n1,a,p\n1,b,q\n2,b,p\n2,b,q\n")
    study, _ = import_annotations(path)
    assert stability_summary(study) == []


def test_the_command_prints_it(tmp_path: Path) -> None:
    path = tmp_path / "inter.csv"
    rows = [f"{i},{(i + p * (t > 1)) % 2},{p},{t}" for t in (0.5, 2.0) for p in (0, 1) for i in range(6)]
    path.write_text("\n".join(["id,annotation,prompt_id,temperature", *rows, ""]))
    shown = CliRunner().invoke(app(), ["import", str(path)]).stdout
    assert "temperature of the lowest alpha" in shown
    assert "in the file" not in shown
