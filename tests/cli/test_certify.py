"""``quaver certify`` prints a row for each measure, and JSON where it is asked for."""

import json
from pathlib import Path

import pytest
from tools.certifying.population import Population, study
from typer.testing import CliRunner

from quaver.cli.main import app

POPULATION = Population(items=30, variants=2, repeats=1)


def said(folder: Path, measures: str, *options: str) -> str:
    columns = ["item", "variant", "label", "gold"]
    study(POPULATION, POPULATION.prompts(1), 1).select(columns).write_csv(folder / "labels.csv")
    (folder / "study.yaml").write_text(
        "name: labels\ntask: {labels: [a, b, c]}\n"
        "annotations: {source: labels.csv, item: item, label: label, variant: [variant], gold: gold}\n"
        f"measures: [{measures}]\n",
        encoding="utf-8",
    )
    done = CliRunner().invoke(app(), ["certify", str(folder), "--replications", "3", *options])
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.long
def test_every_measure_has_a_row(tmp_path: Path) -> None:
    shown = said(tmp_path, "accuracy, inter_pss")
    assert "accuracy" in shown
    assert "inter_pss" in shown
    assert "±" in shown
    heads = next(line for line in shown.splitlines() if line.startswith("measure")).split()
    assert {"covers", "width"} & set(heads) == {"covers"}  # three studies are too few for an oracle's width
    assert (tmp_path / "certified.json").exists()


def test_the_certificate_is_printed_as_json(tmp_path: Path) -> None:
    document = json.loads(said(tmp_path, "accuracy", "--json"))
    assert document["replications"] == 3
    assert {one["name"] for one in document["lines"]} == {"accuracy"}


@pytest.mark.long
def test_groups_that_are_not_declared_are_named_and_simulated(tmp_path: Path) -> None:
    rows = ["item,author,variant,label,gold"]
    for author in range(12):  # each author's texts are labelled alike
        for n in range(6):
            label = "ab"[author % 3 == 0]
            rows += [f"{author}-{n},{author},{v},{label},a" for v in ("original", "other")]
    (tmp_path / "labels.csv").write_text("\n".join(rows))
    (tmp_path / "study.yaml").write_text(
        "name: labels\ntask: {labels: [a, b]}\n"
        "annotations: {source: labels.csv, item: item, label: label, variant: [variant], gold: gold}\n"
        "measures: [accuracy]\n"
    )
    asked = ["certify", str(tmp_path), "--replications", "3"]
    done = CliRunner().invoke(app(), asked)
    assert done.exit_code == 0, done.output
    assert "author" in done.output
    assert json.loads(CliRunner().invoke(app(), [*asked, "--json"]).output)["undeclared"] == "author"
