"""Two models told apart by few calls."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.commands import here
from tests.studies import STUDY

import quaver
from quaver.errors import QuaverError, UnknownName
from quaver.watch.telling_apart import Apart, tell_apart

ITEMS = "id,text,truth\n" + "".join(f"i{n:02},text {n},positive\n" for n in range(40))
TWO = STUDY.replace(
    "  - {name: fake, use: function}", "  - {name: a, use: function}\n  - {name: b, use: function}"
)

Annotate = Callable[[str, str], str]


def always(text: str, prompt: str) -> str:
    return "positive"


def sometimes(text: str, prompt: str) -> str:
    """Another label for every fifth text."""
    return "negative" if int(text.split()[1]) % 5 == 0 else "positive"


@pytest.fixture
def told(tmp_path: Path) -> Callable[..., Apart]:
    (tmp_path / "items.csv").write_text(ITEMS)
    (tmp_path / "study.yaml").write_text(TWO)

    def tell(a: Annotate, b: Annotate, *, run: bool = False, most: int = 60) -> Apart:
        study = quaver.Study.open(tmp_path, functions={"a": a, "b": b})
        if run:
            study.run()
        return tell_apart(study, "a", "b", most=most)

    return tell


def test_one_prompt_that_both_always_answer_differently_is_enough(told: Callable[..., Apart]) -> None:
    found = told(always, sometimes)
    assert found.apart
    assert found.prompts[1] == 1
    assert found.calls == 2 * found.prompts[0] + 6
    assert found.evidence >= 20


def test_a_study_that_was_run_shows_which_prompt_to_ask(told: Callable[..., Apart]) -> None:
    assert (found := told(always, sometimes, run=True)).apart
    assert found.calls == 8


def test_a_model_is_not_told_apart_from_itself(told: Callable[..., Apart]) -> None:
    found = told(always, always, most=21)
    assert not found.apart
    assert found.evidence == pytest.approx(1)
    assert found.calls == 20


def test_a_model_that_wavers_is_asked_no_more_than_it_may(told: Callable[..., Apart]) -> None:
    turns: list[int] = []

    def waver(text: str, prompt: str) -> str:
        turns.append(1)
        return "negative" if len(turns) * 7 % 5 < 2 else "positive"

    found = told(waver, waver, most=50)
    assert len(turns) == found.calls <= 50


def test_every_answer_is_kept(told: Callable[..., Apart], tmp_path: Path) -> None:
    first, second = told(always, sometimes), told(always, sometimes)
    assert first.folder != second.folder
    assert all((one.folder / "responses.db").exists() for one in (first, second))
    assert not (tmp_path / "responses.db").exists()


def test_names_that_cannot_be_compared(told: Callable[..., Apart], tmp_path: Path) -> None:
    told(always, always, most=2)
    study = quaver.Study.open(tmp_path, functions={"a": always, "b": always})
    with pytest.raises(UnknownName):
        tell_apart(study, "a", "c")
    with pytest.raises(QuaverError):
        tell_apart(study, "a", "a")


def test_the_option(
    told: Callable[..., Apart],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "two.py").write_text(
        "def a(text, prompt):\n    return 'positive'\n\n\ndef b(text, prompt):\n    return 'negative'\n"
    )
    words = ("watch", "study.yaml", "--apart", "a", "b", "--json", "--function", "a=two:a", "--function")
    done = here(tmp_path, *words, "b=two:b", monkeypatch=monkeypatch, capsys=capsys)
    assert done.returncode == 1, done.stderr
    said = json.loads(done.stdout)
    assert (said["apart"], said["calls"], said["event"]) == (True, 8, "quaver.watch.apart")
    done = here(tmp_path, *words, "b=two:a", monkeypatch=monkeypatch, capsys=capsys)
    assert done.returncode == 0, done.stderr
