"""The runner goes on where it was stopped."""

from pathlib import Path

import pytest

from quaver.certification import gate


def test_a_run_goes_on_where_one_stopped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--out", str(tmp_path), "--measure", "compliance", "--cells", "1", "--processes", "1"]
    asked += ["--replications", "4", "--resamples", "20"]
    assert gate.main([*asked, "--seconds", "0"]) == 0
    assert gate.read(tmp_path / gate.RESULTS) == {}
    assert gate.main(asked) == 0
    before = (tmp_path / gate.RESULTS).read_text()
    (tmp_path / gate.RESULTS).write_text(before + '{"work": "cut o')
    assert gate.main(asked) == 0
    assert len(gate.read(tmp_path / gate.RESULTS)) == 2
    capsys.readouterr()
