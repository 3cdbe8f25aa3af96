"""Published numbers beside recomputed ones: what is reproduced, what differs, and how both are written."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from tests.cli.commands import quaver
from tests.papers.planted import alphas

from quaver import measure_agreement
from quaver.errors import QuaverError, SpecError, UnknownName
from quaver.replication.replication import read_number, replicate
from quaver.replication.replication_table import write_replication

LABELS = [("a", "a"), ("a", "b"), ("b", "b"), ("b", "b"), ("a", "a"), ("b", "a"), ("a", "a"), ("b", "b")]

PUBLISHED = """\
source: Somebody (2024)
files:
  repeats:
    file: repeats.csv
    import: {item: id, label: annotation, repeat: iteration, gold: truth}
numbers:
  - {of: repeats, measure: accuracy, value: '0.88', low: 0.8, high: 0.9, where: Table 1}
  - {of: repeats, measure: accuracy, value: 80%, where: Table 2}
  - {of: repeats, measure: intra_pss, value: ALPHA, where: in the text}
"""


def alpha() -> float:
    """Krippendorff's alpha of two raters, by hand: 1 - (n - 1) Σ o_ck / Σ n_c n_k over unlike pairs."""
    flat = [label for pair in LABELS for label in pair]
    observed = sum(one != two for one, two in LABELS) * 2
    n, of_a = len(flat), flat.count("a")
    return 1 - (n - 1) * observed / (2 * of_a * (n - of_a))


def written(folder: Path, text: str = PUBLISHED) -> Path:
    rows = [
        f"i{at},{label},{repeat},{pair[0]}"
        for at, pair in enumerate(LABELS)
        for repeat, label in enumerate(pair)
    ]
    (folder / "repeats.csv").write_text("id,annotation,iteration,truth\n" + "\n".join(rows), encoding="utf-8")
    (folder / "published.yaml").write_text(text.replace("ALPHA", f"{alpha():.2f}"), encoding="utf-8")
    return folder


def test_each_number_is_judged_by_its_rounding(tmp_path: Path) -> None:
    found = replicate(written(tmp_path))
    assert [one.verdict for one in found.numbers] == ["reproduced", "differs", "reproduced"]
    assert not found.holds
    first, second, third = found.numbers
    assert (first.published, first.digits, first.estimate.value) == (0.88, 2, 14 / 16)
    assert (second.published, second.digits) == (0.8, 2)
    assert third.estimate.value == pytest.approx(alpha())
    assert first.covered is True
    low, high = first.estimate.low, first.estimate.high
    assert low is not None
    assert high is not None
    assert first.times_as_wide == pytest.approx((high - low) / 0.1)
    assert second.times_as_wide is None
    assert "2 of 3" in found.summary


def test_files_of_promptstability_are_read_as_they_are(tmp_path: Path) -> None:
    rows = [
        f"{at},text {at},{label},{repeat},0.9,0.8,1.0"
        for repeat in range(2)
        for at, pair in enumerate(LABELS)
        for label in [pair[repeat]]
    ]
    head = "id,text,annotation,iteration,ka_mean,ka_lower,ka_upper\n"
    (tmp_path / "within.csv").write_text(head + "\n".join(rows), encoding="utf-8")
    text = (
        "files: {within: {file: within.csv}}\nnumbers:\n  - {of: within, measure: intra_pss, value: ALPHA}\n"
    )
    (tmp_path / "published.yaml").write_text(text.replace("ALPHA", f"'{alpha():.3f}'"), encoding="utf-8")
    found = replicate(tmp_path / "published.yaml")
    assert found.holds
    beside = measure_agreement(tmp_path / "within.csv", item="id", rater="iteration", label="annotation")
    assert found.numbers[0].estimate.value == pytest.approx(beside[0].value)


def scored(folder: Path, name: str, column: str, scores: dict[int, tuple[float, float, float]]) -> None:
    """A file as promptstability writes it: three repeats of LABELS, the last two alike, and its scores."""
    rows = [
        f"{at},text {at},{pair[min(repeat, 1)]},{repeat},"
        + ",".join(map(str, scores.get(repeat, ("", "", ""))))
        for repeat in range(3)
        for at, pair in enumerate(LABELS)
    ]
    head = f"id,text,annotation,{column},ka_mean,ka_lower,ka_upper\n"
    (folder / name).write_text(head + "\n".join(rows), encoding="utf-8")


def test_the_scores_in_promptstabilitys_files_are_published_numbers(tmp_path: Path) -> None:
    three = [[[pair[0], pair[1], pair[1]].count(label) for label in "ab"] for pair in LABELS]
    whole = float(alphas(np.array([three], float))[0])
    scored(tmp_path, "within.csv", "iteration", {1: (alpha() + 0.004, 0.3, 0.5), 2: (whole + 0.02, 0.2, 0.4)})
    found = replicate(tmp_path)
    assert [one.where for one in found.numbers] == ["within.csv, iteration 1", "within.csv, iteration 2"]
    first, second = found.numbers
    assert first.estimate.value == pytest.approx(alpha())
    assert second.estimate.value == pytest.approx(whole)
    assert [one.verdict for one in found.numbers] == ["reproduced", "differs"]
    assert (first.low, first.high) == (0.3, 0.5)
    assert first.times_as_wide is not None
    assert first.times_as_wide > 1
    text = "files: {within: {file: within.csv, scores: 1}}\n"
    (tmp_path / "published.yaml").write_text(text, encoding="utf-8")
    assert [one.digits for one in replicate(tmp_path).numbers] == [1, 1]
    (tmp_path / "published.yaml").write_text(text.replace(", scores: 1", ""), encoding="utf-8")
    with pytest.raises(SpecError, match="no number is published"):
        replicate(tmp_path)


def test_scores_by_temperature(tmp_path: Path) -> None:
    rows = [
        f"{at},text {at},{label},{prompt},{heat},{alpha() if heat == '0.5' else ''},0.1,0.6"
        for heat in ("0.5", "5.0")
        for prompt in range(2)
        for at, pair in enumerate(LABELS)
        for label in [pair[prompt]]
    ]
    head = "id,text,annotation,prompt_id,temperature,ka_mean,ka_lower,ka_upper\n"
    (tmp_path / "between.csv").write_text(head + "\n".join(rows), encoding="utf-8")
    (one,) = replicate(tmp_path).numbers
    assert (one.verdict, one.estimate.value) == ("reproduced", pytest.approx(alpha()))
    assert one.estimate.cell["factor_temperature"] == "0.5"


def test_the_tables_have_both_numbers(tmp_path: Path) -> None:
    paths = write_replication(replicate(written(tmp_path)), tmp_path / "out")
    assert [path.name for path in paths] == ["replication.md", "replication.tex", "replication.csv"]
    with paths[2].open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["verdict"] for row in rows] == ["reproduced", "differs", "reproduced"]
    assert float(rows[0]["recomputed"]) == 14 / 16
    assert "Table 1" in paths[0].read_text(encoding="utf-8")
    assert "0.80 to 0.90" in paths[0].read_text(encoding="utf-8")
    assert r"\toprule" in paths[1].read_text(encoding="utf-8")


@pytest.mark.long
def test_the_command_fails_where_a_number_differs(tmp_path: Path) -> None:
    done = quaver(tmp_path, "replicate", str(written(tmp_path)))
    assert done.returncode == 1
    assert (tmp_path / "replication.md").is_file()
    text = PUBLISHED.replace("value: 80%", "value: 87.5%")
    assert quaver(tmp_path, "replicate", str(written(tmp_path, text)), "--to", "out").returncode == 0
    assert (tmp_path / "out" / "replication.tex").is_file()


def test_a_folder_with_neither_kind_of_numbers_is_one_error(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(SpecError) as raised:
            replicate(folder)
        assert "published.yaml" in str(raised.value.expected)
        assert "promptstability" in str(raised.value.expected)


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (("of: repeats, measure: intra_pss", "of: elsewhere, measure: intra_pss"), UnknownName),
        (("measure: intra_pss", "measure: intra_ps"), UnknownName),
        (("import: {item: id,", "import: {items: id,"), UnknownName),
        (("value: ALPHA", "value: many"), SpecError),
        (("measure: intra_pss,", "measure: intra_pss, cell: {model: gpt},"), SpecError),
        (("measure: intra_pss,", "measure: intra_pss, estimate: other,"), SpecError),
        (("numbers:", "number:"), SpecError),
        (("repeats.csv", "nowhere.csv"), QuaverError),
    ],
)
def test_a_mistake_is_one_error(tmp_path: Path, change: tuple[str, str], kind: type[QuaverError]) -> None:
    with pytest.raises(kind):
        replicate(written(tmp_path, PUBLISHED.replace(*change)))
    with pytest.raises(SpecError):
        replicate(tmp_path / "nowhere")


def test_numbers_are_read_with_their_decimals() -> None:
    assert read_number("1e-3", "") == (0.001, 3)
    assert read_number("−0.50", "") == (-0.5, 2)
    assert read_number(3, "") == (3.0, 0)
    with pytest.raises(SpecError):
        read_number(".", "")
