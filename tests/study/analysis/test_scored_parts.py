"""Answers that are scored in parts are scored as each alone."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cli.commands import environment
from tests.studies import written

from quaver.bundles.packing import bundle
from quaver.bundles.verification import verify
from quaver.collect.store.response_store import Store
from quaver.errors import StoreError
from quaver.score.annotation import annotate
from quaver.score.evaluators.named_label import FirstLabel
from quaver.study.analysis import annotation_frame, scored_parts
from quaver.study.analysis.annotation_frame import annotator_of, scan
from quaver.study.analysis.study_measures import measurable
from quaver.study.session import Study
from quaver.study.sources.kept_annotations import parts_of
from quaver.view.index_builder import IndexBuilder

STUDY = """\
task:
  labels: [positive, negative]
items: {source: items.csv, id: id, text: "{{ text }}", gold: truth}
prompt: {instruction: Is this positive or negative?}
variants:
  - {use: instructions, factor: wording, texts: {other: "Positive, or negative?"}}
models:
  - {name: fake, use: function}
repeats: 3
decoding: {warm: {temperature: 1.0}}
evaluators: [first_label, exact]
"""
ITEMS = "id,text,truth\n" + "".join(f"i{n},Text {n}.,{'positive' if n % 2 else ''}\n" for n in range(20))
ANSWERS = 120


HOSTILE = (
    "",
    "\x00",
    "\x1b[31m",
    "<think>positive</think>",
    "not ",
    "“",
    "\u200b",
    "'" * 9,
    "{",
    "\ud800",
    "so " * 400,
)


def answer(text: str, prompt: str) -> str:
    odd = HOSTILE[sum(map(ord, text)) % len(HOSTILE)]
    return f"{odd}positive" if len(prompt) % 2 else f"I say {odd} negative to {text}"


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    opened = Study.open(written(tmp_path_factory.mktemp("parts"), STUDY, ITEMS), functions={"fake": answer})
    opened.run()
    return opened


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A part has 20 answers, so that the study has six."""
    monkeypatch.setattr(scored_parts, "PART", 20)


def design(study: Study, *names: str) -> dict[str, Any]:
    return annotation_frame._design(study.source.experiment, study.source.plugins.evaluators(names or None))


def scored(study: Study, kept: Path, asked: dict[str, Any]) -> pl.DataFrame:
    with study.source.answers() as store:
        scored_parts.score(store, asked, kept)
    return pl.read_parquet(parts_of(kept))


@pytest.mark.long
@settings(max_examples=8, deadline=None)
@given(part=st.integers(1, ANSWERS + 20), chunk=st.integers(1, ANSWERS + 20))
def test_whatever_the_parts_the_annotations_are_the_same(part: int, chunk: int) -> None:
    opened, kept = STATE["study"], STATE["folder"] / "annotations.parquet"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(scored_parts, "PART", part)
        patched.setattr(Store.read, "__defaults__", (0, None, chunk))
        found = scored(opened, kept, design(opened, "first_label"))
    assert kept.is_dir() == (2 * part < ANSWERS)
    assert found.equals(one_by_one(opened))


STATE: dict[str, Any] = {}


@pytest.fixture(autouse=True, scope="module")
def known(study: Study, tmp_path_factory: pytest.TempPathFactory) -> None:
    STATE.update(study=study, folder=tmp_path_factory.mktemp("kept"))


def one_by_one(study: Study) -> pl.DataFrame:
    """Each answer alone, by an annotator that remembers nothing."""
    evaluators = study.source.plugins.evaluators(["first_label"])
    with study.source.answers() as store:
        rows = [row for some in store.read() for row in some]
    return pl.concat([annotator_of(study.source, evaluators).frame([row]) for row in rows])


@pytest.mark.long
@pytest.mark.usefixtures("small")
def test_a_study_keeps_parts_and_everything_reads_them(study: Study) -> None:
    whole = study.annotations()
    with study.source.answers() as store:
        store.note("annotations", "")
    kept = study.source.files.annotations
    found = study.annotations()
    assert kept.is_dir()
    assert found.sort(pl.all()).equals(whole.sort(pl.all()))
    assert scan(study.source).collect().equals(found)
    assert study.annotations(lazy=True).select(pl.len()).collect().item() == 2 * ANSWERS
    assert measurable(study.source).height == 2 * ANSWERS
    assert pl.read_parquet(kept).equals(found)
    frame = pd.read_parquet(kept)
    assert pl.from_pandas(frame)["label"].cast(pl.String).equals(found["label"].cast(pl.String))
    calls = study.folder / "calls.parquet"
    assert study.export(calls) == ANSWERS
    index = IndexBuilder(study.source, study.folder / ".view")
    assert index.update()
    assert index.state.done == ANSWERS
    packed, _ = bundle(study, study.folder / "parts.quaver.zip")
    assert not verify(packed).differs
    assert pl.read_parquet(kept).equals(found)
    study.source.files.write_annotations(whole)  # and a file takes its place again
    assert kept.is_file()
    assert pl.read_parquet(kept).equals(whole)


@pytest.mark.usefixtures("small")
def test_a_changed_answer_is_an_error_and_the_old_annotations_stay(study: Study, tmp_path: Path) -> None:
    with study.source.answers() as store:
        whole = annotate(store.read(), annotator_of(study.source, {"first_label": FirstLabel()})).collect()
        whole.write_parquet(tmp_path / "annotations.parquet")
        store.db.execute("UPDATE responses SET text = text || '!' WHERE id = 90")
        try:
            with pytest.raises(StoreError, match="has changed"):
                scored_parts.score(store, design(study), tmp_path / "annotations.parquet")
        finally:
            store.db.execute("UPDATE responses SET text = rtrim(text, '!') WHERE id = 90")
    assert pl.read_parquet(tmp_path / "annotations.parquet").equals(whole)
    assert [one.name for one in tmp_path.iterdir()] == ["annotations.parquet"]


KILLED = """
import os, signal, sys
from quaver.study.analysis import scored_parts
from tests.study.analysis.test_scored_parts import Study, answer
scored_parts.PART = 20
write = scored_parts.write_part
def write_and_die(frame, file):
    write(frame, file)
    if file.name == f"part-{int(sys.argv[2]):06}.parquet":
        os.kill(os.getpid(), signal.SIGKILL)
scored_parts.write_part = write_and_die
Study.open(sys.argv[1], functions={"fake": answer}).rescore()
"""


@pytest.mark.long
@pytest.mark.parametrize("part", [0, 5])
def test_a_killed_process_leaves_no_part(study: Study, tmp_path: Path, part: int) -> None:
    before = study.annotations()
    folder = study.source.positions.path
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, str(folder), str(part)], env=environment(), cwd=Path.cwd(), check=False
    )
    assert killed.returncode == -signal.SIGKILL
    assert pl.read_parquet(study.source.files.annotations).equals(before)
    assert study.annotations().equals(before)
