"""``quaver agreement`` on files that Quaver did not make."""

import json

import pytest
from typer.testing import CliRunner

from quaver.cli.main import app
from quaver.errors import QuaverError

LABELS = "aaabbb"  # three items, two coders, who differ on one: alpha 4/9 by hand


def written(path):
    rows = [f"{n // 2},{'pq'[n % 2]},{label}" for n, label in enumerate(LABELS)]
    path.write_text("\n".join(["id,coder,code", *rows]) + "\n")
    return path


def run(*words):
    result = CliRunner().invoke(app(), ["agreement", *words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_a_table_and_the_same_as_json(tmp_path):
    words = [str(written(tmp_path / "x.csv")), "--item", "id", "--rater", "coder", "--label", "code"]
    assert "krippendorff_alpha  0.444" in run(*words)
    first = json.loads(run(*words, "--json").splitlines()[0])
    assert first["measure"] == "krippendorff_alpha"
    assert first["value"] == pytest.approx(4 / 9)


def test_weights_are_named_or_stand_in_a_file(tmp_path):
    path = written(tmp_path / "x.csv")
    path.write_text(path.read_text().replace("a", "1").replace("b", "2").replace("2,q,2", "2,q,4"))
    words = [str(path), "--item", "id", "--rater", "coder", "--label", "code"]

    def kappa(*more):
        rows = map(json.loads, run(*words, "--resamples", "0", *more, "--json").splitlines())
        return next(row["value"] for row in rows if row["measure"] == "cohen_kappa")

    # 1 1, 1 2, 2 4. Losses: linear 0, 1, 2; expected (2·(0 + 1 + 3) + 1·(1 + 0 + 2)) / 9 = 11/9.
    assert kappa("--level", "interval", "--weights", "linear") == pytest.approx(1 - 1 / (11 / 9))
    own = tmp_path / "own.csv"
    own.write_text("label,1,2,4\n1,1,1,0\n2,1,1,0\n4,0,0,1\n")
    assert kappa("--weights", str(own)) == pytest.approx((2 / 3 - 2 / 3) / (1 - 2 / 3), abs=1e-12)


@pytest.mark.parametrize(
    ("given", "table", "found"),
    [
        ("linar", "", "linar"),
        ("own.csv", "label,a,b\na,1,x\nb,0,1\n", "'x'"),
        ("linear", "", "nominal level"),
    ],
)
def test_weights_that_cannot_be_used(tmp_path, monkeypatch, given, table, found):
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "x.csv")
    (tmp_path / "own.csv").write_text(table)
    words = ["x.csv", "--item", "id", "--rater", "coder", "--label", "code", "--weights", given]
    with pytest.raises(QuaverError) as caught:
        run(*words)
    assert found in caught.value.found
