"""Calls are exported some at a time, each with its own readings."""

import polars as pl
import pytest
from tests.studies import asked

from quaver.study.analysis import call_export


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_calls_written_a_few_at_a_time_are_those_written_at_once(tmp_path, ending, monkeypatch):
    items = [{"text": f"Text {at}", "truth": "yes" if at % 3 else "no"} for at in range(20)]
    study = asked(
        tmp_path / "study", items, lambda text, prompt: "Yes." if "1" in text else "no", ["yes", "no"],
        gold="truth", repeats=2, evaluators=["marked_label", "exact"],
    )  # fmt: skip
    assert study.export(tmp_path / f"whole.{ending}") == 40
    monkeypatch.setattr(call_export, "_CHUNK", 7)
    study.export(tmp_path / f"parts.{ending}")
    whole, parts = ((tmp_path / f"{name}.{ending}").read_bytes() for name in ("whole", "parts"))
    assert ending == "parquet" or whole == parts
    study.export(tmp_path / "calls.parquet")
    table = pl.read_parquet(tmp_path / "calls.parquet")
    first = study.annotations().filter(pl.col("evaluator") == "exact").sort("item", "repeat")
    assert table.sort("item", "repeat")["exact.label"].to_list() == first["label"].cast(pl.String).to_list()
    right = table.select(pl.col("exact.label").eq_missing(pl.col("gold"))).to_series()
    assert table["exact.correct"].to_list() == right.to_list()
